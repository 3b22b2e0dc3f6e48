/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The clock of units.  Reading ktime costs 43 instructions, twice a unit; the
 * TSC costs 3.  As long as the kernel trusts the TSC as a clock, so do we; else
 * ktime serves, in ticks of the same length, so that what was computed before still holds.
 * Values only mean something as differences.
 */
#ifndef _KMOD_LIB_CLOCK_H
#define _KMOD_LIB_CLOCK_H

#include <linux/jump_label.h>
#include <linux/math64.h>
#include <linux/types.h>
#include <asm/msr.h>

#include <linux/perfguard.h>

enum { PGUARD_CLOCK_SHIFT = 30, PGUARD_CLOCK_TICKS_SHIFT = 28 };

DECLARE_STATIC_KEY_FALSE(pguard_clock_tsc);
extern u32 pguard_clock_mult;	/* ns per tick, times 2^PGUARD_CLOCK_SHIFT */
extern u32 pguard_clock_ticks_mult;	/* ticks per ns, times 2^PGUARD_CLOCK_TICKS_SHIFT */

/* Returns true if pguard_clock() is one instruction. */
static __always_inline bool pguard_clock_is_tsc(void)
{
	return static_branch_likely(&pguard_clock_tsc);
}

u64 pguard_clock_ktime(void);

/* Ticks; any context. */
static __always_inline u64 pguard_clock(void)
{
	if (pguard_clock_is_tsc())
		return rdtsc();
	return pguard_clock_ktime();
}

/* Nanoseconds from a difference of up to 2^32 ticks, some seconds. */
static __always_inline u64 pguard_clock_ns_short(u32 ticks)
{
	return ((u64)ticks * pguard_clock_mult) >> PGUARD_CLOCK_SHIFT;
}

/* So many ticks, or a few less, are no more than @ns; U64_MAX for some centuries. */
static __always_inline u64 pguard_clock_ticks(u64 ns)
{
	if (unlikely(ns >> 59))
		return U64_MAX;
	return mul_u64_u32_shr(ns, pguard_clock_ticks_mult, PGUARD_CLOCK_TICKS_SHIFT);
}

/* Nanoseconds from a difference of ticks; a negative one counts as 0. */
u64 pguard_clock_ns(u64 ticks);

bool pguard_clock_check(void);
void pguard_clock_init(void);

/*
 * The bucket of a time in the histogram that the spec's hist-buckets gives; of
 * one that pguard_clock_ns_short() returned, which is not beyond the last bucket:
 * two factors of 32 bits each, 30 of which are shifted out.
 */
static_assert(16 * (34 - 5) + 32 <= PERFGUARD_HIST_BUCKETS && PGUARD_CLOCK_SHIFT >= 30);

static __always_inline unsigned long pguard_bucket_short(u64 ns)
{
	unsigned long shift = __fls(ns | 16) - 4;

	return (shift << 4) + (ns >> shift);
}

/* The same of any time. */
static __always_inline u32 pguard_bucket(u64 ns)
{
	return min_t(u64, pguard_bucket_short(ns), PERFGUARD_HIST_BUCKETS - 1);
}

/* The same of a difference of ticks. */
static __always_inline u32 pguard_bucket_ticks(u64 ticks)
{
	if (likely(ticks <= U32_MAX))
		return pguard_bucket_short(pguard_clock_ns_short(ticks));
	return pguard_bucket(pguard_clock_ns(ticks));
}

#endif /* _KMOD_LIB_CLOCK_H */
