// SPDX-License-Identifier: GPL-2.0

#include "unit/unit.h"

#include "compat.h"
#include "profile/inference.h"
#include "report/alert-record.h"
#include "report/rate-limit.h"
#include "report/stack-history.h"

#include <linux/slab.h>

/**
 * pguard_unit_count_checks() - what handlers of guards took counts for a profile
 * @profile: referenced, or current's
 * @ticks: of the clock; negative for what was counted elsewhere
 *
 * Context: any but interrupts.
 */
void pguard_unit_count_checks(struct pguard_profile *profile, s64 ticks)
{
	preempt_disable();
	pguard_profile_this_cpu(profile)->sums.checks += ticks;
	preempt_enable();
}

/**
 * pguard_unit_elapsed() - the time of the unit that runs, but for guards' checks
 * @state: of any thread, referenced or in an RCU section
 *
 * Context: any.
 * Return: ns; means nothing if the unit ended meanwhile.
 */
u64 pguard_unit_elapsed(const struct pguard_task *state)
{
	const struct pguard_inference *inference;
	u64 checks = 0;

	rcu_read_lock();
	inference = rcu_dereference(state->inference);
	if (inference)
		checks = READ_ONCE(inference->checks);
	rcu_read_unlock();
	return pguard_clock_ns(pguard_clock() - READ_ONCE(state->start) - checks);
}

/**
 * pguard_unit_threshold() - from when on the unit that runs is late
 * @state: of any thread, as above
 *
 * Where a profile guards the thread, what its guards have told so far counts.
 *
 * Context: any.
 * Return: ns; 0 if it is never late.
 */
u64 pguard_unit_threshold(const struct pguard_task *state)
{
	const struct pguard_inference *inference;
	u64 ret;

	rcu_read_lock();
	inference = rcu_dereference(state->inference);
	if (inference)
		ret = pguard_inference_limit(inference, pguard_unit_elapsed(state));
	else
		ret = pguard_target_threshold(state->image->target);
	rcu_read_unlock();
	return ret;
}

/*
 * Did the unit meet all guards that it came by?  The probes of a profile that
 * is replaced go, one after the other, while units run by it.
 */
static bool is_whole(const struct pguard_task *state, const struct pguard_inference *inference)
{
	return rcu_access_pointer(state->image->target->profile) == inference->profile;
}

/**
 * pguard_unit_verdict() - what the unit that ended has to be judged by
 * @state: of current
 * @inference: its
 * @threshold: set to the time from which on it was late, ns; 0 if it never is
 *
 * Context: current, preemptible or not.
 * Return: whether it fits no type.
 */
bool pguard_unit_verdict(const struct pguard_task *state,
			 const struct pguard_inference *inference, u64 *threshold)
{
	if (unlikely(!is_whole(state, inference))) {
		*threshold = pguard_inference_largest(inference);
		return false;
	}
	*threshold = pguard_inference_threshold(inference);
	return !pguard_inference_fits(inference, state->start);
}

enum { MAX_MET = 64 };

/* What is told of a unit that a profile guards. */
static void describe(const struct pguard_task *state, const struct pguard_inference *inference,
		     struct pguard_record *record)
{
	const struct pguard_profile *profile = inference->profile;
	/* As in pguard_inference_limit(). */
	const struct pguard_verdict *verdict = smp_load_acquire(&inference->verdict);
	bool is_final = record->kind != PERFGUARD_RECORD_KIND_LATE;
	u16 type = is_final ? verdict->final : READ_ONCE(verdict->early);

	record->profile_id = profile->id;
	record->type_id = pguard_inference_type_id(inference, type);
	if (!(profile->flags & PERFGUARD_PROFILE_FLAGS_PAPER))
		record->margin = pguard_inference_margin(inference, verdict, is_final);
	record->check_ns = pguard_clock_ns(READ_ONCE(inference->checks));
	/* A guard may have been put on since it was asked first. */
	if (is_final)
		record->is_novel = pguard_unit_verdict(state, inference, &record->threshold_ns) ||
				   record->kind == PERFGUARD_RECORD_KIND_NOVEL;
	record->is_degraded = READ_ONCE(inference->course->nr_shed);
	if (record->met)
		record->nr_met = pguard_inference_met(inference, verdict, record->met, MAX_MET);
}

/**
 * pguard_unit_describe() - tell in a record what its unit is by the profile
 * @state: of any thread, as above
 * @record: about its unit
 * @gfp: as the caller's context allows
 *
 * Context: any that @gfp allows.
 */
void pguard_unit_describe(struct pguard_task *state, struct pguard_record *record, gfp_t gfp)
{
	const struct pguard_inference *inference;

	if (!rcu_access_pointer(state->inference))
		return;
	/* Without memory it goes without them. */
	record->met = kcalloc(MAX_MET, sizeof(*record->met), gfp | __GFP_NOWARN);
	rcu_read_lock();
	inference = rcu_dereference(state->inference);
	if (inference)
		describe(state, inference, record);
	rcu_read_unlock();
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
	record->target_id = state->image->target->id;
	record->image_id = state->image->id;
	record->loop_id = loop ? loop->id : 0;
	record->pid = state->task->tgid;
	record->tid = state->task->pid;
	get_task_comm(record->comm, state->task);
	record->unit = unit;
	record->threshold_ns = pguard_unit_threshold(state);
	pguard_unit_describe(state, record, gfp);
	return record;
}

/* May a late unit of the thread be told?  What is held back is counted. */
static bool may_tell(struct pguard_task *state)
{
	if (pguard_telling_may(state->image->target))
		return true;
	atomic64_inc(&state->image->target->suppressed);
	return false;
}

static u32 found_by(u64 word)
{
	if (!(word & PGUARD_PHASE_LATE))
		return PERFGUARD_FOUND_BY_END;
	return word & PGUARD_PHASE_GUARD ? PERFGUARD_FOUND_BY_GUARD : PERFGUARD_FOUND_BY_OVERDUE;
}

/**
 * pguard_unit_tell_end() - tell the end of a late unit
 * @state: of current
 * @word: what state->unit was
 * @account: its times
 *
 * Not if it was not told before, and must not be.
 *
 * Context: current, preemptible or not.
 */
void pguard_unit_tell_end(struct pguard_task *state, u64 word,
			  const struct pguard_account *account)
{
	struct pguard_record *record;

	if (!(word & PGUARD_PHASE_LATE) && !may_tell(state))
		return;
	record = pguard_unit_record(state, word >> PGUARD_PHASE_SHIFT,
				    PERFGUARD_RECORD_KIND_ENDED, found_by(word), GFP_NOWAIT);
	if (!record) {
		pguard_samples_drop(state);
		return;
	}
	record->account = *account;
	/* Behind the watch's record about the same unit. */
	spin_lock(&state->lock);
	pguard_samples_take(state, word >> PGUARD_PHASE_SHIFT, record);
	pguard_ring_add(&pguard_alerts, record);
	spin_unlock(&state->lock);
}

/* The same of a unit that ends now. */
static void end_tell(struct pguard_task *state, u64 word, u64 elapsed)
{
	struct pguard_account account = { .elapsed = elapsed };

	if (word & PGUARD_PHASE_MARKED)
		pguard_account_current(&state->mark, elapsed, &account);
	pguard_unit_tell_end(state, word, &account);
}

/* Is a unit that no profile guards late by the time that it took? */
static bool is_late(const struct pguard_task *state, u64 elapsed)
{
	return elapsed > READ_ONCE(state->image->target->limit_ns);
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
	u64 elapsed;

	if (!(state->unit & PGUARD_PHASE_RUNNING))
		return state;
	elapsed = pguard_clock_ns(pguard_clock() - state->start);
	return pguard_unit_close(state, elapsed, pguard_unit_bucket(elapsed),
				 is_late(state, elapsed));
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
	atomic64_inc(&state->image->target->late);
	this_cpu_inc(state->loop->sums->late);
	end_tell(state, word, elapsed);
	return state;
}

/**
 * pguard_unit_end_eventful() - a unit has ended that left its CPU, or met page faults
 *
 * As pguard_unit_end_late(), but the unit may be in time.
 */
struct pguard_task *pguard_unit_end_eventful(struct pguard_task *state, u64 word,
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
	if (word & PGUARD_PHASE_LATE || is_late(state, elapsed))
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
	const struct pguard_inference *inference = pguard_task_inference(state);
	u64 word = xchg(&state->unit, state->unit & ~(u64)PGUARD_PHASE_ENDS);

	state->counts = NULL;
	if (word & PGUARD_PHASE_RUNNING && inference)
		pguard_unit_count_checks(inference->profile, inference->checks);
	if (word & PGUARD_PHASE_LATE)
		end_tell(state, word, pguard_clock_ns(pguard_clock() - state->start));
}
