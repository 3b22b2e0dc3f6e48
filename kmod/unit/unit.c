// SPDX-License-Identifier: GPL-2.0

#include "unit/unit.h"

#include "compat.h"
#include "profile/inference.h"
#include "report/late-unit.h"

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

/* Report the end of a late unit that ends now. */
static void end_tell(struct pguard_task *state, u64 word, u64 elapsed)
{
	struct pguard_account account = { .elapsed = elapsed };

	if (word & PGUARD_PHASE_MARKED)
		pguard_account_current(&state->mark, elapsed, &account);
	pguard_late_unit_report_end(state, word, &account);
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
