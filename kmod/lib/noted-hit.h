/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A hit that a landing has noted (inline/site-landing.h), as it stands in memory that the program
 * can write to: all of it is checked, or goes to userland as what the program says.
 */
#ifndef _KMOD_LIB_NOTED_HIT_H
#define _KMOD_LIB_NOTED_HIT_H

#include <linux/bits.h>
#include <linux/build_bug.h>
#include <linux/types.h>

enum {
	PGUARD_NOTED_MAX_ID = (1 << 20) - 1,
	PGUARD_NOTED_MAX_DELTA = 8192,	/* bytes; a multiple of 8 */
	PGUARD_NOTED_GUARD_BITS = 14,
	/* How far below that of the site a landing's stack pointer is when it notes it, bytes. */
	PGUARD_NOTED_BELOW = 136,
};

#define PGUARD_NOTED_IS_GUARD	BIT(31)

/**
 * struct pguard_noted_hit - a hit
 * @sp: the landing's stack pointer
 * @what: of a site to record its id in the low 20 bits, and above, in 11 bits, an 8th of the
 *	distance from the stack pointer at the site to that at the function's entry; of a guard its
 *	index in the low 14 bits, and what distinguishes its profile from others above
 */
struct pguard_noted_hit {
	u64 sp;
	u32 what;
	u32 unused;
};

static_assert(sizeof(struct pguard_noted_hit) == 16);

static inline u32 pguard_noted_site(u32 id, u32 sp_delta)
{
	return id | sp_delta / 8 << 20;
}

static inline u32 pguard_noted_id(u32 what)
{
	return what & PGUARD_NOTED_MAX_ID;
}

/* The stack pointer at the function's entry, by a site to record. */
static inline u64 pguard_noted_sp(u64 sp, u32 what)
{
	return sp + PGUARD_NOTED_BELOW + (what >> 20 & 0x7ff) * 8;
}

/* Guard 0 of a profile, by a hash of its guards. */
static inline u32 pguard_noted_guards(u32 hash)
{
	return hash << PGUARD_NOTED_GUARD_BITS | PGUARD_NOTED_IS_GUARD;
}

#endif /* _KMOD_LIB_NOTED_HIT_H */
