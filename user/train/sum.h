/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Sums of counts that stay at their largest value instead of beginning again:
 * in whatever order such a sum is made, the result is the same.
 */
#ifndef _PGUARD_SUM_H
#define _PGUARD_SUM_H

#include <stdint.h>

static inline uint64_t sum_saturating(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

#endif /* _PGUARD_SUM_H */
