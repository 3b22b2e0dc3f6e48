/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Whether the times of two groups of units differ: Welch's test of their logarithms, with
 * Holm's correction for all that is tested (Scandinavian Journal of Statistics 6, 1979).
 */
#ifndef _USER_TRAIN_MODEL_PART_TEST_H
#define _USER_TRAIN_MODEL_PART_TEST_H

#include "data/difference.h"

/*
 * Times below @least_ns, and 1 us, count as that.  Sets the times and the chance of @ret; that is
 * 1, and the time 0, where a group has fewer than two units.
 */
void part_test(const struct samples_times *before, const struct samples_times *after,
	       uint64_t least_ns, struct part_difference *ret);

/* Correct the chances of all @nr tests; sorts @parts. */
void part_test_correct(struct part_difference **parts, uint32_t nr);

#endif /* _USER_TRAIN_MODEL_PART_TEST_H */
