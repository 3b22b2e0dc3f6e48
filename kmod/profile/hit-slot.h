/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which of a thread's counters a context has.
 *
 * A thread counts the hits of each context that its unit met.  Few of a loop's
 * contexts are met in one unit, and many never, so there is a fixed number of
 * counters, and contexts are given seats in the order in which they occur for
 * the first time, round and round.  Two contexts that share one seldom come in
 * one unit; whoever tells the counts leaves those out.
 *
 * Seats are given without a lock, and not taken back.
 */
#ifndef _KMOD_PROFILE_HIT_SLOT_H
#define _KMOD_PROFILE_HIT_SLOT_H

#include <linux/atomic.h>
#include <linux/types.h>

enum { PGUARD_NR_SEATS = 48, PGUARD_NO_SEAT = 0xff };	/* the seats are bits of a word */

/**
 * struct pguard_seats - of an event loop
 * @of: by context; PGUARD_NO_SEAT for those that never occurred
 * @nr_given: so far
 */
struct pguard_seats {
	u8 *of;
	atomic_t nr_given;
};

/* The seat of a context that occurs.  Context: any. */
static inline u32 pguard_seat_get(struct pguard_seats *seats, u32 context)
{
	u8 seat = READ_ONCE(seats->of[context]), found;

	if (seat != PGUARD_NO_SEAT)
		return seat;
	seat = (u32)atomic_fetch_inc(&seats->nr_given) % PGUARD_NR_SEATS;
	found = cmpxchg(&seats->of[context], PGUARD_NO_SEAT, seat);
	return found == PGUARD_NO_SEAT ? seat : found;
}

#endif /* _KMOD_PROFILE_HIT_SLOT_H */
