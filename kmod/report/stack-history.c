// SPDX-License-Identifier: GPL-2.0

/*
 * Stacks of a unit that stays late, kept with its thread until the next record
 * about it takes them along.
 *
 * The watch adds them, and the thread takes them at the unit's end, both under
 * the state's lock.  They are bounded: when a thread has too many, every second
 * one goes and the time between two doubles, so that they stay spread over the
 * time since the last record; and there is a bound over all threads.
 */

#include "report/stack.h"

#include "lib/charge.h"
#include "report/alert-record.h"
#include "target/image.h"
#include "target/thread.h"

#include <linux/slab.h>

enum {
	/* Room for one more and its lock's holder, where the watch makes the record. */
	MAX_KEPT = PGUARD_MAX_STACKS - 2,
	MAX_KEPT_BYTES = 128 * 1024,	/* of one unit */
	MAX_KEPT_ALL = 256,		/* of all units */
};

static atomic_t nr_kept = ATOMIC_INIT(0);
atomic64_t pguard_stack_history_refused = ATOMIC64_INIT(0);

static u32 list_count(const struct pguard_stack *stack)
{
	u32 nr = 0;

	for (; stack; stack = stack->next)
		nr++;
	return nr;
}

/* Take all out of the state, to be freed or given on. */
static struct pguard_stack *history_detach(struct pguard_stack_history *history)
{
	struct pguard_stack *list = history->first;

	history->first = NULL;
	history->doublings = 0;
	atomic_sub(list_count(list), &nr_kept);
	return list;
}

/* The last stack of the sample that begins here: a holder's belongs to it. */
static struct pguard_stack *sample_last(struct pguard_stack *stack)
{
	while (stack->next && stack->next->tid)
		stack = stack->next;
	return stack;
}

static u32 history_count(struct pguard_stack *stack)
{
	u32 nr = 0;

	for (; stack; stack = sample_last(stack)->next)
		nr++;
	return nr;
}

/* Returns true if some stack of a list needs one of the sample that begins at @stack. */
static bool is_needed(const struct pguard_stack *list, struct pguard_stack *stack)
{
	const struct pguard_stack *end = sample_last(stack)->next, *part;

	for (; list; list = list->next)
		for (part = stack; part != end; part = part->next)
			if (list->outer == part)
				return true;
	return false;
}

/*
 * Take out the newest sample, the third newest, ...: then the one that comes
 * now is as far from the next older one as they are from each other.  Those
 * that others build on stay.
 */
static struct pguard_stack *history_thin(struct pguard_stack_history *history,
					 const struct pguard_stack *comes)
{
	struct pguard_stack **link = &history->first, *dropped = NULL, *stack, *last;
	u32 newer = history_count(history->first);

	while ((stack = *link)) {
		last = sample_last(stack);
		if (--newer % 2 || is_needed(history->first, stack) ||
		    is_needed(comes, stack)) {
			link = &last->next;
			continue;
		}
		*link = last->next;
		last->next = NULL;
		pguard_stack_append(&dropped, stack);
	}
	atomic_sub(list_count(dropped), &nr_kept);
	history->doublings++;
	return dropped;
}

static bool has_room(const struct pguard_stack_history *history, const struct pguard_stack *comes)
{
	if (!history->first)
		return true;
	return list_count(history->first) + list_count(comes) <= MAX_KEPT &&
	       pguard_stack_footprint(history->first) + pguard_stack_footprint(comes) <=
	       MAX_KEPT_BYTES;
}

/* Room for a sample in its thread, and in all; what had to go for it is @dropped. */
static bool history_reserve(struct pguard_stack_history *history, const struct pguard_stack *comes,
			    struct pguard_stack **dropped)
{
	u32 nr = list_count(comes);

	if (!has_room(history, comes))
		pguard_stack_append(dropped, history_thin(history, comes));
	if (has_room(history, comes)) {
		if (atomic_add_return(nr, &nr_kept) <= MAX_KEPT_ALL)
			return true;
		atomic_sub(nr, &nr_kept);
	}
	atomic64_add(nr, &pguard_stack_history_refused);
	return false;
}

/**
 * pguard_stack_history_lateness() - what is kept of a thread that was late
 * @thread: the thread; referenced by the caller, or in an RCU section
 *
 * Made if it is not there yet.
 *
 * Context: the watch's work; does not sleep.
 * Return: it, or NULL for lack of memory.
 */
struct pguard_lateness *pguard_stack_history_lateness(struct pguard_thread *thread)
{
	struct pguard_lateness *late = thread->lateness;

	if (late)
		return late;
	late = pguard_zalloc_charged(thread->image->memcg, sizeof(*late));
	/* Pairs with the dependency of who looks for it, under a lock that is not held here. */
	smp_store_release(&thread->lateness, late);
	return late;
}

/**
 * pguard_stack_history_add() - keep a stack of a late unit
 * @thread: its thread, referenced by the caller, with its lateness
 * @word: pguard_thread.unit with LATE: the unit was reported, so its end takes the stack
 * @stack: with its lock's holder's behind it; taken over
 *
 * Context: may sleep.
 */
void pguard_stack_history_add(struct pguard_thread *thread, u64 word, struct pguard_stack *stack)
{
	struct pguard_stack_history *history = &thread->lateness->history;
	struct pguard_stack *dropped = NULL;
	u64 unit = pguard_unit_number(word);

	spin_lock(&thread->lock);
	if (history->unit != unit) {
		/* Left by a unit whose end found no memory for a record. */
		dropped = history_detach(history);
		history->unit = unit;
	}
	/* If it still runs, its thread will come for them with the lock. */
	if (!thread->gone && pguard_unit_runs(thread, word)) {
		pguard_stack_append(&dropped, pguard_stack_pack(history->first, &stack, GFP_NOWAIT));
		if (history_reserve(history, stack, &dropped)) {
			pguard_stack_append(&history->first, stack);
			stack = NULL;
		}
	}
	spin_unlock(&thread->lock);
	pguard_stack_free(dropped);
	pguard_stack_free(stack);
}

/**
 * pguard_stack_history_take() - give the stacks of a unit to a record about it
 * @thread: its thread
 * @unit: its number
 * @record: not in a ring yet; they come before the stacks it has.  Without a
 *	record they are freed
 *
 * Context: any but interrupts, preemption off; @thread->lock held.
 */
void pguard_stack_history_take(struct pguard_thread *thread, u64 unit,
			       struct pguard_alert_record *record)
{
	struct pguard_lateness *late = READ_ONCE(thread->lateness);
	struct pguard_stack *list;

	lockdep_assert_held(&thread->lock);
	if (!late)
		return;
	list = history_detach(&late->history);
	if (!record || late->history.unit != unit) {
		pguard_stack_free_later(list);
		return;
	}
	pguard_stack_append(&list, record->stack);
	record->stack = list;
}

/**
 * pguard_stack_history_drop() - free what a thread keeps
 * @thread: out of the hash, or its unit ends without a record
 *
 * Context: any but interrupts, preemption off.
 */
void pguard_stack_history_drop(struct pguard_thread *thread)
{
	spin_lock(&thread->lock);
	pguard_stack_history_take(thread, 0, NULL);
	spin_unlock(&thread->lock);
}
