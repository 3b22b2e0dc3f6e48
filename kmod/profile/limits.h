/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Limits: how long each part of a unit's time may be.  A unit that exceeds one of them is
 * late.  What it waits in the run queue counts only in all of its time, and what it was stopped
 * in none.
 */
#ifndef _KMOD_PROFILE_LIMITS_H
#define _KMOD_PROFILE_LIMITS_H

#include <linux/types.h>

#include <linux/perfguard.h>

enum { PGUARD_NR_PARTS = PERFGUARD_PART_BLOCK_IO };

/**
 * struct pguard_limits - of a type, or of several
 * @ns: by enum perfguard_part, less 1; 0: none
 */
struct pguard_limits {
	u64 ns[PGUARD_NR_PARTS];
};

/* The larger of two limits; none (0) is above all. */
static inline u64 pguard_limit_later(u64 a, u64 b)
{
	return a - 1 > b - 1 ? a : b;
}

/* The smaller one. */
static inline u64 pguard_limit_sooner(u64 a, u64 b)
{
	return a - 1 < b - 1 ? a : b;
}

/* Whoever may still be of another type may take as long as that, in each part. */
static inline void pguard_limits_widen(struct pguard_limits *limits,
				       const struct pguard_limits *other)
{
	u32 i;

	for (i = 0; i < PGUARD_NR_PARTS; i++)
		limits->ns[i] = pguard_limit_later(limits->ns[i], other->ns[i]);
}

/* A unit that takes no longer by the clock is in time, wherever its time goes; 0: any is. */
static inline u64 pguard_limits_least(const struct pguard_limits *limits)
{
	u64 least = 0;
	u32 i;

	for (i = 0; i < PGUARD_NR_PARTS; i++)
		least = pguard_limit_sooner(least, limits->ns[i]);
	return least;
}

/* The same of one that never left its CPU. */
static inline u64 pguard_limits_least_calm(const struct pguard_limits *limits)
{
	u64 least = pguard_limit_sooner(limits->ns[PERFGUARD_PART_ALL - 1],
					limits->ns[PERFGUARD_PART_OWN - 1]);

	return pguard_limit_sooner(least, limits->ns[PERFGUARD_PART_CPU - 1]);
}

#endif /* _KMOD_PROFILE_LIMITS_H */
