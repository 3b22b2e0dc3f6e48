// SPDX-License-Identifier: GPL-2.0

/*
 * A unit runs from one boundary to the next: from the return of the loop's
 * wait call to the entry of the next one.  All of this is done by the thread
 * itself, in the hook on the wait call, without a lock; see enum pguard_phase
 * in task.h for how the overdue watch gets in between.
 */

#include "unit.h"

#include "clock.h"
#include "compat.h"
#include "image.h"
#include "record.h"

#include <linux/log2.h>

/* The bucket of a time in the histogram that the spec's hist-buckets tells. */
static u32 hist_bucket(u64 ns)
{
	u32 bucket, shift;

	if (ns < 16)
		return ns;
	shift = ilog2(ns) - 4;
	bucket = (shift << 4) + (ns >> shift);
	return min_t(u32, bucket, PERFGUARD_HIST_BUCKETS - 1);
}

/**
 * pguard_unit_start() - the loop's wait call has returned
 * @state: of current; no unit runs
 *
 * Context: current, preemptible or not.
 */
void pguard_unit_start(struct pguard_task *state)
{
	u64 unit = (state->unit >> PGUARD_PHASE_SHIFT) + 1;

	if (READ_ONCE(state->image->target->flags) & PERFGUARD_TARGET_FLAGS_ACCOUNT) {
		pguard_account_mark(&state->mark);
		state->marked = true;
	} else {
		state->marked = false;
	}
	WRITE_ONCE(state->start, pguard_clock());
	/* Whoever sees the unit running sees its start and mark. */
	smp_store_release(&state->unit,
			  unit << PGUARD_PHASE_SHIFT | PGUARD_PHASE_RUNNING);
}

static void sums_add(struct pguard_loop *loop, const struct pguard_account *account)
{
	struct pguard_loop_sums *sums;

	sums = get_cpu_ptr(loop->sums);
	sums->hist[hist_bucket(account->elapsed)]++;
	sums->elapsed += account->elapsed;
	if (account->elapsed > sums->max)
		sums->max = account->elapsed;
	if (account->has_times) {
		sums->cpu += account->cpu;
		sums->runqueue += account->runqueue;
		sums->block_io += account->block_io;
		sums->min_faults += account->min_faults;
		sums->maj_faults += account->maj_faults;
		if (unlikely(account->has_block_io && !loop->has_block_io))
			WRITE_ONCE(loop->has_block_io, true);
	}
	put_cpu_ptr(loop->sums);
}

/**
 * pguard_unit_report_allowed() - may this late unit be reported
 *
 * What the rate limit refuses is counted as suppressed.
 *
 * Context: any.
 */
bool pguard_unit_report_allowed(struct pguard_task *state)
{
	struct pguard_target *target = state->image->target;

	if (__ratelimit(&target->alert_limit))
		return true;
	atomic64_inc(&target->suppressed);
	return false;
}

/**
 * pguard_unit_record() - a record about a unit, without its times
 * @state: the thread
 * @unit: number of the unit
 * @kind: enum perfguard_record_kind
 * @found_by: enum perfguard_found_by
 * @gfp: as the caller's context allows
 *
 * Return: the record, or NULL (counted as lost).
 */
struct pguard_record *pguard_unit_record(struct pguard_task *state, u64 unit,
					 u32 kind, u32 found_by, gfp_t gfp)
{
	struct pguard_record *record = pguard_record_alloc(kind, gfp);
	struct pguard_loop *loop = READ_ONCE(state->loop);

	if (!record)
		return NULL;
	record->found_by = found_by;
	record->target_id = state->image->target->id;
	record->image_id = state->image->id;
	record->loop_id = loop ? loop->id : 0;
	record->pid = state->task->tgid;
	record->tid = state->task->pid;
	get_task_comm(record->comm, state->task);
	record->unit = unit;
	record->threshold_ns = READ_ONCE(state->image->target->threshold_ns);
	return record;
}

/* A late unit has ended.  Rare, so it may cost. */
static noinline void unit_end_late(struct pguard_task *state, u64 unit, bool told,
				   const struct pguard_account *account)
{
	struct pguard_target *target = state->image->target;
	struct pguard_record *record;

	atomic64_inc(&target->late);
	if (state->loop)
		this_cpu_inc(state->loop->sums->late);
	if (!told && !pguard_unit_report_allowed(state))
		return;
	record = pguard_unit_record(state, unit, PERFGUARD_RECORD_KIND_ENDED,
				    told ? PERFGUARD_FOUND_BY_OVERDUE :
					   PERFGUARD_FOUND_BY_END,
				    GFP_NOWAIT);
	if (!record)
		return;
	record->account = *account;
	/* Behind the watch's record about the same unit. */
	spin_lock(&state->lock);
	pguard_ring_add(&pguard_alerts, record);
	spin_unlock(&state->lock);
}

static void unit_close(struct pguard_task *state, u64 elapsed, bool counts)
{
	u64 threshold = READ_ONCE(state->image->target->threshold_ns);
	struct pguard_account account;
	u64 word;

	if (state->marked)
		pguard_account_current(&state->mark, elapsed, &account);
	else
		account = (struct pguard_account) { .elapsed = elapsed };
	word = xchg(&state->unit, state->unit & ~(u64)PGUARD_PHASE_MASK);
	if (counts && state->loop)
		sums_add(state->loop, &account);
	if (unlikely((word & PGUARD_PHASE_MASK) == PGUARD_PHASE_LATE ||
		     (counts && threshold && elapsed > threshold)))
		unit_end_late(state, word >> PGUARD_PHASE_SHIFT,
			      (word & PGUARD_PHASE_MASK) == PGUARD_PHASE_LATE, &account);
}

/**
 * pguard_unit_end() - the loop's wait call is entered
 * @state: of current
 *
 * Context: current, preemptible or not.
 */
void pguard_unit_end(struct pguard_task *state)
{
	if (!(state->unit & PGUARD_PHASE_MASK))
		return;
	unit_close(state, pguard_clock_ns(pguard_clock() - state->start), true);
}

/**
 * pguard_unit_drop() - the thread leaves in mid-unit
 * @state: of current
 *
 * The unit does not count; but if it was reported, its end is too.
 *
 * Context: current, preemptible or not.
 */
void pguard_unit_drop(struct pguard_task *state)
{
	if (!(state->unit & PGUARD_PHASE_MASK))
		return;
	unit_close(state, pguard_clock_ns(pguard_clock() - state->start), false);
}
