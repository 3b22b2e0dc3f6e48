// SPDX-License-Identifier: GPL-2.0

#include "probe/guard.h"

#include "compat.h"
#include "report/late-unit.h"
#include "target/image.h"
#include "unit/unit.h"

#include <linux/atomic.h>
#include <linux/workqueue.h>

/*
 * A batch of hits has come to this CPU, and is taken off the allowance.  The CPU that
 * uses that up calls the governor, which sets it again; no other does, so that many
 * threads do not crowd there.
 */
static void take_batch(struct pguard_profile *profile)
{
	struct pguard_budget_state *budget = &profile->budget;
	s64 left;

	this_cpu_write(*profile->left, READ_ONCE(budget->batch));
	if (!budget->budget.ppm)
		return;
	left = atomic64_sub_return(BUDGET_BATCH_NS, &budget->allowance);
	if (left < 0 && left >= -(s64)BUDGET_BATCH_NS)
		mod_delayed_work(system_unbound_wq, &pguard_governor, 0);
}

static void count_hit(const struct pguard_site *site)
{
	this_cpu_inc(site->sums->hits);
	if (this_cpu_dec_return(*site->left) < 0)
		take_batch(site->profile);
}

/* A hit outside of units; it began at @now. */
static void count_stray(struct pguard_profile *profile, u64 now)
{
	struct pguard_profile_sums *sums;

	preempt_disable();
	sums = &pguard_profile_this_cpu(profile)->sums;
	sums->stray_hits++;
	sums->checks += pguard_clock() - now;
	preempt_enable();
}

static noinline void stream_hit(struct pguard_task *state,
				const struct pguard_inference *inference, u32 guard, u32 depth)
{
	pguard_stream_put(state, PERFGUARD_EVENT_KIND_GUARD, guard, depth,
			  pguard_inference_type_id(inference, inference->verdict->early));
}

/* The unit is late.  Apart, so that hits save no registers for it. */
static noinline void report(struct pguard_task *state, const struct pt_regs *regs, u64 elapsed)
{
	struct pguard_inference *inference = pguard_task_inference(state);
	u64 word = READ_ONCE(state->unit), begun = pguard_clock();
	int ret;

	if (word & PGUARD_PHASE_LATE)
		return;
	ret = pguard_late_unit_report(state, word, regs, elapsed);
	if (!ret)
		/* It is in the handler's time, too, which is not the unit's. */
		pguard_unit_count_checks(inference->profile, begun - pguard_clock());
	else if (ret == -EBUSY)
		inference->is_quiet = true;
}

/* Report the unit if it is late, and was not reported before. */
static void check(struct pguard_task *state, struct pguard_inference *inference,
		  const struct pt_regs *regs, u64 now)
{
	u64 ticks = pguard_guard_ticks(state, inference, now);
	u64 elapsed, limit;

	if (ticks <= inference->verdict->soon || state->unit & PGUARD_PHASE_LATE ||
	    inference->is_quiet)
		return;
	elapsed = pguard_clock_ns(ticks);
	limit = pguard_inference_limit(inference, elapsed);
	if (unlikely(limit && elapsed > limit))
		report(state, regs, elapsed);
}

static void see_to(struct pguard_task *state, enum pguard_meeting meeting)
{
	if (meeting == PGUARD_MEETING_CROWDED)
		mod_delayed_work(system_unbound_wq, &pguard_governor, 0);
	else if (meeting == PGUARD_MEETING_LOST)
		atomic64_inc(&state->image->target->untracked);
}

/* That an event site was met tells nothing where training had no guard there. */
static void meet(const struct pguard_site *site, struct pguard_task *state,
		 struct pguard_inference *inference, u32 depth)
{
	const struct infer_table *table = &inference->course->table;
	u64 key = infer_key(site->id, depth);
	const struct infer_slot *slot = infer_find(table, key);

	if (slot->key == key)
		see_to(state, pguard_inference_meet(inference, slot));
	else if (!site->events)
		pguard_inference_meet_unknown(inference, site->id, depth);
}

/*
 * A thread without an inference waits in no loop of the profile; one with that
 * of another profile changes at its next boundary.
 */
static void hit(const struct pguard_site *site, struct pguard_task *state,
		const struct pt_regs *regs, u64 now)
{
	struct pguard_inference *inference = pguard_task_inference(state);
	u64 depth;

	if (!inference || inference->profile != site->profile || !inference->frame)
		return count_stray(site->profile, now);
	depth = pguard_guard_depth(site, inference, regs);
	if (!depth || depth > INFER_MAX_DEPTH)
		return count_stray(site->profile, now);
	if (pguard_guard_is_event(site, inference))
		pguard_unit_event_site(state, now);
	if (!(state->unit & PGUARD_PHASE_RUNNING))
		return count_stray(site->profile, now);
	meet(site, state, inference, depth);
	if (pguard_stream_wants_units(state->image->target))
		stream_hit(state, inference, site->id, depth);
	check(state, inference, regs, now);
	inference->checks += pguard_clock() - now;
}

/* The state of current, see pguard_guard_state(); NULL if it is of another target. */
static struct pguard_task *state_of_current(const struct pguard_site *site)
{
	struct pguard_task *state;

	preempt_disable_notrace();
	state = pguard_task_find(current);
	if (state && state->image->target != site->target)
		state = NULL;
	preempt_enable_notrace();
	return state;
}

/**
 * pguard_guard_hit_unusual() - current came by a guard, in whatever way
 * @site: the guard's
 * @regs: its user registers
 * @now: pguard_clock()
 *
 * Context: current, may sleep and fault; the probe is not taken off meanwhile.
 * Return: whether current's memory needs the breakpoint no more.
 */
bool pguard_guard_hit_unusual(const struct pguard_site *site, const struct pt_regs *regs, u64 now)
{
	struct pguard_task *state = state_of_current(site);

	/* A child that is no target's has the breakpoints its parent had. */
	if (!state && !pguard_site_wants(site, current->mm))
		return true;
	count_hit(site);
	/* A thread that has been in no hooked call is in no unit. */
	if (!state)
		count_stray(site->profile, now);
	else
		hit(site, state, regs, now);
	return false;
}

/**
 * pguard_guard_check() - current came by a guard, and its unit may be late
 * @state: of current
 * @now: pguard_clock() when it came
 *
 * The rest of a hit, after PGUARD_GUARD_BEYOND.
 *
 * Context: as pguard_guard_hit().
 */
noinline void pguard_guard_check(struct pguard_task *state, u64 now)
{
	struct pguard_inference *inference = pguard_task_inference(state);

	check(state, inference, current_pt_regs(), now);
	inference->checks += pguard_clock() - now;
}
