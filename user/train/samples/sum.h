/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Sums of counts that stay at their largest value instead of beginning again:
 * in whatever order such a sum is made, the result is the same.
 */
#ifndef _USER_TRAIN_SAMPLES_SUM_H
#define _USER_TRAIN_SAMPLES_SUM_H

#include <stdint.h>

static inline uint64_t sum_saturating(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

#endif /* _USER_TRAIN_SAMPLES_SUM_H */
