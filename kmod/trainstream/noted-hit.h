/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A hit that a landing has noted (inline/site-landing.h), as it stands in memory that the program
 * can write to.
 */
#ifndef _KMOD_TRAINSTREAM_NOTED_HIT_H
#define _KMOD_TRAINSTREAM_NOTED_HIT_H

#include <linux/build_bug.h>
#include <linux/compiler.h>
#include <linux/types.h>

enum {
	PGUARD_NOTED_MAX_ID = (1 << 20) - 1,
	PGUARD_NOTED_MAX_DELTA = 8192,	/* bytes; a multiple of 8 */
	/* How far below that of the site a landing's stack pointer is when it notes it, bytes. */
	PGUARD_NOTED_BELOW = 136,
};

/**
 * struct pguard_noted_hit - a hit
 * @sp: the landing's stack pointer
 * @what: id of the site in the low 20 bits; above, in 11 bits, an 8th of the distance from
 *	the stack pointer at the site to that at the function's entry
 */
struct pguard_noted_hit {
	u64 sp;
	u32 what;
	u32 unused;
};

static_assert(sizeof(struct pguard_noted_hit) == 16);

static inline u32 pguard_noted_hit_what(u32 id, u32 sp_delta)
{
	return id | sp_delta / 8 << 20;
}

static inline u32 pguard_noted_hit_id(u32 what)
{
	return what & PGUARD_NOTED_MAX_ID;
}

/* The stack pointer at the function's entry. */
static inline u64 pguard_noted_hit_sp(u64 sp, u32 what)
{
	return sp + PGUARD_NOTED_BELOW + (what >> 20 & 0x7ff) * 8;
}

#endif /* _KMOD_TRAINSTREAM_NOTED_HIT_H */
