/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Units: their begin, their end, and the records about late ones.
 *
 * A unit runs from one boundary to the next: from the return of the loop's
 * wait call to the entry of the next one.  Begin and end are done by the
 * thread itself, in the hook on the wait call, without a lock; see enum
 * pguard_phase in task.h for how the overdue watch gets in between.  They are
 * inline because the hook is all they are called from, a million times a
 * second.
 */
#ifndef _PGUARD_UNIT_H
#define _PGUARD_UNIT_H

#include "clock.h"
#include "image.h"
#include "task.h"

#include <linux/bitops.h>

struct pguard_record;

struct pguard_record *pguard_unit_record(struct pguard_task *state, u64 unit,
					 u32 kind, u32 found_by, gfp_t gfp);
bool pguard_unit_report_allowed(struct pguard_task *state);
void pguard_unit_drop(struct pguard_task *state);

/* For pguard_unit_end() alone. */
void pguard_unit_end_late(struct pguard_task *state, u64 word, u64 elapsed);
void pguard_unit_sum_switched(struct pguard_task *state, u64 elapsed);

/* The bucket of a time in the histogram that the spec's hist-buckets tells. */
static __always_inline u32 pguard_unit_bucket(u64 ns)
{
	u32 shift = __fls(ns | 16) - 4;

	return min_t(u32, (shift << 4) + (ns >> shift), PERFGUARD_HIST_BUCKETS - 1);
}

/**
 * pguard_unit_start() - the loop's wait call has returned
 * @state: of current; no unit runs
 *
 * Context: current, preemptible or not.
 */
static __always_inline void pguard_unit_start(struct pguard_task *state)
{
	u64 word = (state->unit | PGUARD_PHASE_MASK) + 1 + PGUARD_PHASE_RUNNING;

	if (READ_ONCE(state->target->flags) & PERFGUARD_TARGET_FLAGS_ACCOUNT) {
		pguard_account_mark(&state->mark);
		word |= PGUARD_PHASE_MARKED;
	}
	WRITE_ONCE(state->start, pguard_clock());
	/* Whoever sees the unit running sees its start and mark. */
	smp_store_release(&state->unit, word);
}

/* Add the account to the loop's sums: all CPU if the task stayed on its. */
static __always_inline void pguard_unit_sum(struct pguard_task *state, u64 elapsed)
{
	struct pguard_loop_sums __percpu *sums = state->loop->sums;

	if (unlikely(!pguard_account_unswitched(&state->mark))) {
		pguard_unit_sum_switched(state, elapsed);
		return;
	}
	this_cpu_add(sums->cpu, elapsed);
	if (current->min_flt != state->mark.min_faults)
		this_cpu_add(sums->min_faults, current->min_flt - state->mark.min_faults);
	if (current->maj_flt != state->mark.maj_faults)
		this_cpu_add(sums->maj_faults, current->maj_flt - state->mark.maj_faults);
}

/**
 * pguard_unit_end() - the loop's wait call is entered
 * @state: of current
 *
 * Context: current, preemptible or not.
 */
static __always_inline void pguard_unit_end(struct pguard_task *state)
{
	struct pguard_loop_sums __percpu *sums;
	u64 word = state->unit;
	u64 elapsed;

	if (unlikely(!(word & PGUARD_PHASE_RUNNING)))
		return;
	elapsed = pguard_clock_ns(pguard_clock() - state->start);
	word = xchg(&state->unit, word & ~(u64)PGUARD_PHASE_MASK);
	sums = state->loop->sums;
	this_cpu_inc(sums->hist[pguard_unit_bucket(elapsed)]);
	this_cpu_add(sums->elapsed, elapsed);
	/* Seldom true, and then it does not matter if we move in between. */
	if (unlikely(elapsed > this_cpu_read(sums->max)))
		this_cpu_write(sums->max, elapsed);
	if (word & PGUARD_PHASE_MARKED)
		pguard_unit_sum(state, elapsed);
	if (unlikely(word & PGUARD_PHASE_LATE ||
		     elapsed > READ_ONCE(state->target->limit_ns)))
		pguard_unit_end_late(state, word, elapsed);
}

#endif /* _PGUARD_UNIT_H */
