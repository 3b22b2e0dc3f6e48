/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which of a thread's counters a context has.
 *
 * A thread counts the hits of each context that its unit met.  Few of a loop's
 * contexts are met in one unit, and many never, so there is a fixed number of
 * counters, and contexts are given hit slots in the order in which they occur for
 * the first time, round and round.  Two contexts that share one seldom come in
 * one unit; whoever reports the counts leaves those out.
 *
 * Seats are given without a lock, and not taken back.
 */
#ifndef _KMOD_PROFILE_HIT_SLOT_H
#define _KMOD_PROFILE_HIT_SLOT_H

#include <linux/atomic.h>
#include <linux/types.h>

enum { PGUARD_NR_HIT_SLOTS = 48, PGUARD_NO_HIT_SLOT = 0xff }; /* they are bits of a word */

/**
 * struct pguard_hit_slots - of an event loop
 * @of: by context; PGUARD_NO_HIT_SLOT for those that never occurred
 * @nr_given: so far
 */
struct pguard_hit_slots {
	u8 *of;
	atomic_t nr_given;
};

/* The hit slot of a context that occurs.  Context: any. */
static inline u32 pguard_hit_slot_get(struct pguard_hit_slots *hit_slots, u32 context)
{
	u8 hit_slot = READ_ONCE(hit_slots->of[context]), found;

	if (hit_slot != PGUARD_NO_HIT_SLOT)
		return hit_slot;
	hit_slot = (u32)atomic_fetch_inc(&hit_slots->nr_given) % PGUARD_NR_HIT_SLOTS;
	found = cmpxchg(&hit_slots->of[context], PGUARD_NO_HIT_SLOT, hit_slot);
	return found == PGUARD_NO_HIT_SLOT ? hit_slot : found;
}

#endif /* _KMOD_PROFILE_HIT_SLOT_H */
