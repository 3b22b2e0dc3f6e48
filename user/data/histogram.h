/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The module's histogram of unit times: hist-buckets in the netlink spec says
 * how it is cut.  A value read from it is at most 1/16 too large.
 */
#ifndef _USER_DATA_HISTOGRAM_H
#define _USER_DATA_HISTOGRAM_H

#include <stdint.h>

#include <linux/perfguard.h>

/* The bucket a value falls in. */
uint32_t histogram_bucket(uint64_t ns);

/* The largest value of a bucket; UINT64_MAX for the last. */
uint64_t histogram_bucket_max(uint32_t bucket);

/* Add @from to @to. */
void histogram_add(uint64_t to[PERFGUARD_HIST_BUCKETS],
		   const uint64_t from[PERFGUARD_HIST_BUCKETS]);

/*
 * The time that @permille (0 to 1000, with a fraction) of the units do not
 * exceed: the nearest rank's bucket, at its upper end but not above @max_ns,
 * the longest unit.  0 if there are no units.
 */
uint64_t histogram_percentile(const uint64_t hist[PERFGUARD_HIST_BUCKETS],
			      double permille, uint64_t max_ns);

#endif /* _USER_DATA_HISTOGRAM_H */
