/* SPDX-License-Identifier: GPL-2.0 */
/* Powers of two; of no number that is 0. */
#ifndef _PGUARD_TEST_LOG2_H
#define _PGUARD_TEST_LOG2_H

#include <linux/compiler.h>

static inline int ilog2(u64 number)
{
	return 63 - __builtin_clzll(number);
}

static inline u64 roundup_pow_of_two(u64 number)
{
	return number == 1 ? 1 : 2ull << ilog2(number - 1);
}

#endif /* _PGUARD_TEST_LOG2_H */
