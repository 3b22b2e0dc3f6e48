/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Stacks of a unit that stays late, kept with its thread until the next record
 * about it takes them along.
 *
 * The watch adds them, and the thread takes them at the unit's end, both under
 * the state's lock.  They are bounded: when a thread has too many, every second
 * one goes and the time between two doubles, so that they stay spread over the
 * time since the last record; and there is a bound over all threads.
 */
#ifndef _KMOD_REPORT_STACK_HISTORY_H
#define _KMOD_REPORT_STACK_HISTORY_H

#include <linux/types.h>

struct pguard_alert_record;
struct pguard_stack;
struct pguard_thread;

struct pguard_lateness *pguard_stack_history_lateness(struct pguard_thread *thread);
void pguard_stack_history_add(struct pguard_thread *thread, u64 word, struct pguard_stack *stack);
void pguard_stack_history_take(struct pguard_thread *thread, u64 unit,
			       struct pguard_alert_record *record);
void pguard_stack_history_drop(struct pguard_thread *thread);
u64 pguard_stack_history_refused(void);

#endif /* _KMOD_REPORT_STACK_HISTORY_H */
