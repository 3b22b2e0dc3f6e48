/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A threshold from the distribution so far: so that of the units that run now the
 * slowest few a second become late, and a stack is taken while they run.
 */
#ifndef _USER_APP_AUDIT_AUTO_THRESHOLD_H
#define _USER_APP_AUDIT_AUTO_THRESHOLD_H

#include <stdint.h>

#include <linux/perfguard.h>

#include "base/duration.h"

#define AUTO_THRESHOLD_FIRST_NS (50 * NSEC_PER_MSEC)
#define AUTO_THRESHOLD_FLOOR_NS (2 * NSEC_PER_MSEC)

struct auto_threshold {
	uint64_t units; /* up to the last time */
	uint64_t late;
	double factor; /* above the distribution, when that gives too many */
};

void auto_threshold_init(struct auto_threshold *auto_threshold);

/*
 * The threshold for the next while, in ns.  @hist and @late are the sums over
 * all units so far, of which the longest took @max_ns; @since_ns is the time
 * since the last call.
 */
uint64_t auto_threshold_next(struct auto_threshold *auto_threshold,
			const uint64_t hist[PERFGUARD_HIST_BUCKETS],
			uint64_t max_ns, uint64_t late, uint64_t since_ns);

#endif /* _USER_APP_AUDIT_AUTO_THRESHOLD_H */
