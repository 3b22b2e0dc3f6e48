// SPDX-License-Identifier: GPL-2.0

#include "unit.h"

#include "compat.h"
#include "record.h"

/* May this late unit be told?  What the rate limit refuses is counted. */
static bool report_allowed(struct pguard_task *state)
{
	if (__ratelimit(&state->target->alert_limit))
		return true;
	atomic64_inc(&state->target->suppressed);
	return false;
}

/**
 * pguard_unit_record() - a record about a unit, without its times
 * @state: the thread
 * @unit: number of the unit
 * @kind: enum perfguard_record_kind
 * @found_by: enum perfguard_found_by, 0 if none
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
	record->target_id = state->target->id;
	record->image_id = state->image->id;
	record->loop_id = loop ? loop->id : 0;
	record->pid = state->task->tgid;
	record->tid = state->task->pid;
	get_task_comm(record->comm, state->task);
	record->unit = unit;
	record->threshold_ns = pguard_target_threshold(state->target);
	return record;
}

/* Tell the end of a late unit, unless the rate limit kept it from being told. */
static void end_tell(struct pguard_task *state, u64 word, u64 elapsed)
{
	bool told = word & PGUARD_PHASE_LATE;
	struct pguard_record *record;

	if (!told && !report_allowed(state))
		return;
	record = pguard_unit_record(state, word >> PGUARD_PHASE_SHIFT,
				    PERFGUARD_RECORD_KIND_ENDED,
				    told ? PERFGUARD_FOUND_BY_OVERDUE :
					   PERFGUARD_FOUND_BY_END,
				    GFP_NOWAIT);
	if (!record)
		return;
	if (word & PGUARD_PHASE_MARKED)
		pguard_account_current(&state->mark, elapsed, &record->account);
	else
		record->account.elapsed = elapsed;
	/* Behind the watch's record about the same unit. */
	spin_lock(&state->lock);
	pguard_ring_add(&pguard_alerts, record);
	spin_unlock(&state->lock);
}

/**
 * pguard_unit_end() - the loop's wait call is entered
 * @state: of current
 *
 * Context: current, preemptible or not.
 * Return: @state
 */
struct pguard_task *pguard_unit_end(struct pguard_task *state)
{
	if (!(state->unit & PGUARD_PHASE_RUNNING))
		return state;
	return pguard_unit_close(state, pguard_clock_ns(pguard_clock() - state->start));
}

/**
 * pguard_unit_end_late() - a late unit has ended
 * @state: of current
 * @word: what state->unit was
 * @elapsed: its time, ns
 *
 * Context: current, preemptible or not.
 * Return: @state
 */
struct pguard_task *pguard_unit_end_late(struct pguard_task *state, u64 word, u64 elapsed)
{
	atomic64_inc(&state->target->late);
	this_cpu_inc(state->loop->sums->late);
	end_tell(state, word, elapsed);
	return state;
}

/**
 * pguard_unit_end_switched() - a unit has ended that left its CPU
 *
 * As pguard_unit_end_late(), but the unit may be in time.
 */
struct pguard_task *pguard_unit_end_switched(struct pguard_task *state, u64 word,
					     u64 elapsed)
{
	struct pguard_loop *loop = state->loop;
	struct pguard_account account;

	pguard_account_current(&state->mark, elapsed, &account);
	this_cpu_add(loop->sums->cpu, account.cpu);
	this_cpu_add(loop->sums->runqueue, account.runqueue);
	this_cpu_add(loop->sums->block_io, account.block_io);
	this_cpu_add(loop->sums->min_faults, account.min_faults);
	this_cpu_add(loop->sums->maj_faults, account.maj_faults);
	if (account.has_block_io && !READ_ONCE(loop->has_block_io))
		WRITE_ONCE(loop->has_block_io, true);
	if (pguard_unit_is_late(state, word, elapsed))
		pguard_unit_end_late(state, word, elapsed);
	return state;
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
	u64 word = xchg(&state->unit, state->unit & ~(u64)PGUARD_PHASE_MASK);

	if (word & PGUARD_PHASE_LATE)
		end_tell(state, word, pguard_clock_ns(pguard_clock() - state->start));
}
