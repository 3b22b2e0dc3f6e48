// SPDX-License-Identifier: GPL-2.0

/*
 * Most of what a hit takes is the processor's and the kernel's, before and after
 * our handler, where we cannot look at a clock.  So the user measures what it
 * takes on this machine, the cost model; the handler measures itself.
 * The same holds for hooked calls, of which we measure only what the fast paths
 * do not have: places that are looked up in full, units that end otherwise.
 *
 * All sums only grow, except for what threads have not added yet: that may come a
 * moment later, or twice for a moment; and except for handlers' ticks, where reports
 * are taken off them.  So differences are signed, and a sum that was too low makes
 * the next difference larger.
 */

#include "budget/budget.h"

#include "lib/clock.h"
#include "profile/inference.h"
#include "profile/profile.h"
#include "target/image.h"
#include "target/process.h"
#include "target/thread.h"

/* Of a landing's dozen of instructions, whatever the machine; who takes the hit measures itself. */
enum { NOTED_HIT_NS = 4 };

/*
 * What the units that run have not added yet; and the hooked calls and units of all
 * threads, those in loops that the profile does not know among them.
 */
static void sum_threads(const struct pguard_target *target, const struct pguard_profile *profile,
			u64 *checks, u64 *calls, u64 *units)
{
	const struct pguard_inference *inference;
	const struct pguard_thread *state;

	*calls = atomic64_read(&target->waits);
	*units = atomic64_read(&target->units);
	rcu_read_lock();
	list_for_each_entry_rcu(state, &pguard_all_threads, all) {
		if (state->image->target != target)
			continue;
		pguard_thread_count(state, units, calls);
		inference = rcu_dereference(state->inference);
		if (inference && inference->profile == profile &&
		    READ_ONCE(state->unit) & PGUARD_PHASE_RUNNING)
			*checks += READ_ONCE(inference->checks);
	}
	rcu_read_unlock();
}

/**
 * pguard_cost_hits() - what hits of a guard took without the handler
 *
 * Return: ns
 */
u64 pguard_cost_hits(const struct pguard_profile *profile, const struct pguard_guard *guard,
		     const struct pguard_guard_sums *sums)
{
	const u32 *cost = profile->budget.model.hit;

	return (sums->hits - sums->stepped - sums->noted) * cost[guard->way] +
	       sums->noted * NOTED_HIT_NS +
	       sums->stepped * cost[PERFGUARD_STEP_MODE_STEPPED];
}

/**
 * pguard_cost_sum() - what guarding a target took so far
 * @target: the target
 * @profile: that it is guarded by
 * @ret: hits and what they took since the profile is there, the rest since the target is
 *
 * A guard that is a boundary cannot be shed, so it counts as one; its handler
 * counts with the others'.
 *
 * Context: may sleep; pguard_control or the target lock is held.
 */
void pguard_cost_sum(const struct pguard_target *target, const struct pguard_profile *profile,
		     struct pguard_cost *ret)
{
	const struct pguard_cost_model *model = &profile->budget.model;
	struct pguard_guard_sums guard;
	struct pguard_profile_sums sums;
	u64 checks, calls, units, ns;
	u32 i;

	*ret = (struct pguard_cost){
		.cpu = pguard_process_cpu(target),
		.reports = atomic64_read(&target->report_ns),
	};
	pguard_profile_sum(profile, &sums);
	ret->units = sums.units;
	checks = sums.checks;
	sum_threads(target, profile, &checks, &calls, &units);
	/* Less than none is none, as for a moment what is taken off it comes first. */
	ret->check = pguard_clock_ns(checks);
	ret->guards = ret->check;
	ret->boundaries = calls * model->call + (units + sums.unit_equivalents) * model->unit +
			  pguard_clock_ns(sums.longer);
	for (i = 0; i < profile->nr_guards; i++) {
		pguard_profile_sum_guard(profile, i, &guard);
		ret->hits += guard.hits;
		ns = pguard_cost_hits(profile, &profile->guards[i], &guard);
		if (profile->guards[i].events)
			ret->boundaries += ns;
		else
			ret->guards += ns;
		cond_resched();
	}
}

static u64 between(u64 from, u64 to)
{
	return (s64)(to - from) > 0 ? to - from : 0;
}

/* What came in between; no less than nothing. */
void pguard_cost_between(const struct pguard_cost *from, const struct pguard_cost *to,
			 struct pguard_cost *ret)
{
	*ret = (struct pguard_cost){
		.cpu = between(from->cpu, to->cpu),
		.units = between(from->units, to->units),
		.hits = between(from->hits, to->hits),
		.check = between(from->check, to->check),
		.guards = between(from->guards, to->guards),
		.boundaries = between(from->boundaries, to->boundaries),
		.reports = between(from->reports, to->reports),
	};
}
