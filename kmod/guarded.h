/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Units of threads that a profile guards: cut per event, of an inferred type,
 * and late by that type's threshold.
 *
 * The rules by which they are cut are those of training (user/train/cutter.h):
 * a wait ends a unit and its return begins one; the second event without a wait
 * in between ends a unit and begins the next; and if the loop has empty spans,
 * what comes to a wait without an event was none.
 *
 * All functions are for the thread itself.
 */
#ifndef _PGUARD_GUARDED_H
#define _PGUARD_GUARDED_H

#include <linux/types.h>

struct pguard_task;
struct pt_regs;

/* What becomes of a call at a boundary: what its return means. */
enum pguard_guarded_call {
	PGUARD_GUARDED_NONE,
	PGUARD_GUARDED_WAIT,	/* it may begin a unit */
	PGUARD_GUARDED_EVENT,	/* an event began with the call, if it does not fail */
};

enum pguard_guarded_call pguard_guarded_enter(struct pguard_task *state, bool may_sleep);
void pguard_guarded_forget(struct pguard_task *state);
void pguard_guarded_wake(struct pguard_task *state);
void pguard_guarded_event_call(struct pguard_task *state);
void pguard_guarded_event_site(struct pguard_task *state, u64 now);
void pguard_guarded_late(struct pguard_task *state, const struct pt_regs *regs, u64 elapsed);

#endif /* _PGUARD_GUARDED_H */
