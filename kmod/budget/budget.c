// SPDX-License-Identifier: GPL-2.0

/*
 * The rule, whose arithmetic is in perfguard/budget.h: what the target's CPU
 * time earns, guarding may spend.
 *
 * A CPU counts down its hits, and takes each batch of them off the allowance at
 * once, by one atomic subtraction; the one that uses it up calls the governor
 * (guard.c).  So a guard that suddenly costs much is found when it has taken some
 * ms, and else the governor looks no more often than each second.
 *
 * Each time all that was spent is summed exactly and settled.  If it is too
 * much, the guard that is being tried goes first, then the costliest, until the
 * rest fits.  A shed guard comes back after a while if what it took then fits
 * in the headroom there is now.  One that does not is tried, one at a time, when
 * its pause is over and something has been saved for it: it stays if it has
 * become cheaper, and else is found at once and waits twice as long.
 *
 * Guards that are to jump are breakpoints until threads have changed their processes, and of what hits
 * mean little is known at first.  What that takes is not held against them, for a while
 * after arming: else most of them would be shed before they jump, by prices that do not last.
 *
 * Reports of late units have a share of the budget, report_left of the target.
 * No guard goes for what is more than that.
 *
 * Without a budget each guard has a plan, the hits in a unit by which training
 * chose it.  A program may come to do other work than it was trained with, and a
 * guard of a rare function be hit in each round of a loop.  One that is far beyond
 * its plan is shed, and tried again later.
 */

#include "budget/budget.h"

#include "profile/profile.h"
#include "target/target-lock.h"
#include "target/target.h"

#include <linux/jiffies.h>
#include <linux/math64.h>
#include <linux/sched.h>

enum {
	WHOLE = HZ / 2,		/* a sample window as long as that shows what is near the limit */
	WHOLE_PLAN = HZ / 8 * 7,	/* the same where there is no budget */
	REST = 5 * HZ,		/* a shed guard stays off at least */
	GRACE = 2 * HZ,		/* guards that are to jump cost more at first */
	REPORTS = 4,		/* that part of the budget may go into reports of late units */
	SPARE = 4,		/* times its plan a guard may be hit */
	MIN_HITS = 2000,	/* in a second; fewer do no harm */
	PATIENCE = 2,		/* windows beyond its plan in a row */
};

/* A sample window of a target's profile. */
struct window {
	struct pguard_target *target;
	struct pguard_profile *profile;
	struct pguard_budget_state *state;
	struct pguard_cost now;		/* in all */
	struct pguard_cost cost;	/* in the window, and */
	u64 spent;			/* as far as guards have to make room for it */
	unsigned long length;		/* jiffies */
	bool is_whole;
};

/* Reports' share of what @cpu earns. */
static u64 reports_share(const struct window *window, u64 cpu)
{
	return budget_scale(cpu, window->state->budget.ppm) / REPORTS;
}

/*
 * What reports took since the last time, as far as it is in the budget: no more than
 * their share earns in @cpu, or had left with that.
 */
static u64 settle_reports(const struct window *window, s64 cpu, s64 took)
{
	s64 earned = cpu > 0 ? reports_share(window, cpu) : 0;
	s64 left = atomic64_add_return(earned, &window->target->report_left);

	return clamp_t(s64, took, 0, max(left + took, earned));
}

/* Sum what was spent, and settle it. */
static void settle(struct window *window)
{
	struct pguard_cost *settled = &window->state->settled;
	struct pguard_cost *now = &window->now;
	s64 cpu, spent;

	pguard_cost_sum(window->target, window->profile, now);
	cpu = now->cpu - settled->cpu;
	spent = now->guards + now->boundaries - settled->guards - settled->boundaries;
	if (window->state->budget.ppm)
		budget_settle(&window->state->budget, cpu, spent +
			      settle_reports(window, cpu, now->reports - settled->reports));
	*settled = *now;
}

static void window_sum(struct window *window)
{
	struct pguard_cost *cost = &window->cost;

	settle(window);
	pguard_cost_between(&window->state->begun, &window->now, cost);
	window->spent = cost->guards + cost->boundaries +
			min(cost->reports, reports_share(window, cost->cpu));
}

/* A guard's hits in the window. */
static void guard_hits(const struct window *window, u32 i, struct pguard_guard_sums *ret)
{
	const struct pguard_guard *guard = &window->profile->guards[i];

	pguard_profile_sum_guard(window->profile, i, ret);
	ret->hits -= guard->hits;
	ret->stepped -= guard->stepped;
	ret->noted -= guard->noted;
}

/* What a guard took in the window, its handler at the mean. */
static u64 guard_took(const struct window *window, u32 i)
{
	const struct pguard_cost *cost = &window->cost;
	struct pguard_guard_sums sums;

	guard_hits(window, i, &sums);
	return pguard_cost_hits(window->profile, &window->profile->guards[i], &sums) +
	       (cost->hits ? cost->check * sums.hits / cost->hits : 0);
}

/* No more than all: in a short window the CPU time may not have been counted yet. */
static void note_share(const struct window *window, u32 i, u64 took)
{
	u32 share = min_t(u32, budget_ppm(took, window->cost.cpu), BUDGET_ALL);

	WRITE_ONCE(window->profile->guards[i].share, share);
}

/* The guard that took most of those that can be shed, nr_guards for none. */
static u32 costliest(const struct window *window, u64 *ret_took)
{
	const struct pguard_profile *profile = window->profile;
	u32 i, ret = profile->nr_guards;
	u64 took;

	*ret_took = 0;
	for (i = 0; i < profile->nr_guards; i++) {
		if (profile->guards[i].events ||
		    profile->guards[i].state != PERFGUARD_GUARD_STATE_ACTIVE)
			continue;
		took = guard_took(window, i);
		if (took > *ret_took) {
			*ret_took = took;
			ret = i;
		}
		cond_resched();
	}
	return ret;
}

/* Return: true if guards were shed. */
static bool shed(struct window *window, u64 excess)
{
	struct pguard_budget_state *state = window->state;
	bool any = false;
	u64 took;
	u32 i;

	while (excess) {
		if (state->is_trying) {
			i = state->tried;
			took = guard_took(window, i);
			state->is_trying = false;
		} else {
			i = costliest(window, &took);
		}
		if (i == window->profile->nr_guards)
			break;
		note_share(window, i, took);
		pguard_shed_guard(window->profile, i);
		any = true;
		excess -= min(excess, took);
	}
	return any;
}

/* Put back what fits, and try one of the others. */
static void restore(struct window *window)
{
	struct pguard_profile *profile = window->profile;
	struct pguard_budget_state *state = window->state;
	u32 headroom = budget_headroom(&state->budget, window->cost.cpu, window->spent);
	struct pguard_guard *guard;
	u32 i;

	if (!headroom || !READ_ONCE(profile->nr_shed))
		return;
	for (i = 0; i < profile->nr_guards; i++) {
		guard = &profile->guards[i];
		if (guard->state != PERFGUARD_GUARD_STATE_SHED ||
		    time_before(jiffies, guard->shed_at + REST))
			continue;
		if (guard->share <= headroom) {
			if (pguard_shed_restore(profile, i))
				headroom -= guard->share;
		} else if (!state->is_trying && pguard_shed_is_over(guard) &&
			   pguard_shed_restore(profile, i)) {
			state->is_trying = true;
			state->tried = i;
		}
		cond_resched();
	}
}

/* What was tried has been on for a whole window, and all fitted. */
static void accept(struct window *window)
{
	struct pguard_budget_state *state = window->state;

	if (!state->is_trying)
		return;
	window->profile->guards[state->tried].pause /= 2;
	state->is_trying = false;
}

/*
 * A whole window is over.  Of what reports may take as much as a second earns is kept
 * for later, and no larger debt is: or after a storm, of which some is reported in any
 * case, no other would be for long.
 */
static void resize(struct window *window)
{
	struct pguard_budget_state *state = window->state;
	s64 left = atomic64_read(&window->target->report_left), most;

	budget_resize(&state->budget, window->cost.cpu, (u64)jiffies_to_nsecs(window->length));
	most = state->budget.capacity_ns / REPORTS;
	atomic64_sub(left - clamp(left, -most, most), &window->target->report_left);
	WRITE_ONCE(state->last.cpu, window->cost.cpu);
	WRITE_ONCE(state->last.guards, window->cost.guards);
	WRITE_ONCE(state->last.boundaries, window->cost.boundaries);
	WRITE_ONCE(state->last.reports, window->cost.reports);
}

/* By the budget. */
static bool keep_budget(struct window *window)
{
	struct pguard_budget_state *state = window->state;
	u64 excess = budget_excess(&state->budget, window->cost.cpu, window->spent,
				   window->is_whole);
	bool any = false;

	if (window->is_whole)
		resize(window);
	if (excess) {
		any = shed(window, excess);
		/* While they went they were still hit: no other guard is to go for that. */
		settle(window);
	} else if (window->is_whole) {
		accept(window);
		restore(window);
	}
	return any;
}

static bool guard_is_hot(const struct window *window, u32 i)
{
	/* Each thread may be in a unit that has not ended. */
	u64 units = window->cost.units + atomic_read(&window->target->nr_threads);
	u32 plan = window->profile->guards[i].site.plan;
	struct pguard_guard_sums sums;

	guard_hits(window, i, &sums);
	return plan && sums.hits * HZ > (u64)MIN_HITS * window->length &&
	       sums.hits > SPARE * mul_u64_u32_shr(units, plan, 10);
}

/* By the plan, in a whole window. */
static bool keep_plan(struct window *window)
{
	struct pguard_profile *profile = window->profile;
	struct pguard_guard *guard;
	bool any = false;
	u32 i;

	for (i = 0; i < profile->nr_guards; i++) {
		guard = &profile->guards[i];
		if (guard->state == PERFGUARD_GUARD_STATE_SHED) {
			if (pguard_shed_is_over(guard))
				pguard_shed_restore(profile, i);
			continue;
		}
		guard->rounds = guard_is_hot(window, i) ? guard->rounds + 1 : 0;
		if (guard->rounds == PATIENCE) {
			guard->rounds = 0;
			pguard_shed_guard(profile, i);
			any = true;
		}
		cond_resched();
	}
	return any;
}

static void window_begin(struct window *window)
{
	bool has_shares = window->is_whole && window->state->budget.ppm;
	struct pguard_profile *profile = window->profile;
	struct pguard_guard_sums sums;
	struct pguard_guard *guard;
	u32 i;

	window->state->begun = window->now;
	window->state->since = jiffies;
	for (i = 0; i < profile->nr_guards; i++) {
		guard = &profile->guards[i];
		if (has_shares && guard->state == PERFGUARD_GUARD_STATE_ACTIVE)
			note_share(window, i, guard_took(window, i));
		pguard_profile_sum_guard(profile, i, &sums);
		guard->hits = sums.hits;
		guard->stepped = sums.stepped;
		guard->noted = sums.noted;
		cond_resched();
	}
}

/* Hits that make a batch, if all go the costliest way there is. */
static void set_batch(struct pguard_profile *profile)
{
	struct pguard_budget_state *state = &profile->budget;
	u32 i, cost = 1;

	for (i = 0; i < profile->nr_guards; i++)
		cost = max(cost, state->model.hit[pguard_guard_step_mode(&profile->guards[i])]);
	WRITE_ONCE(state->batch, state->budget.ppm ? max(BUDGET_BATCH_NS / cost, 1U) : S32_MAX);
}

static void set_allowance(const struct window *window)
{
	struct pguard_budget_state *state = window->state;
	const struct budget *budget = &state->budget;

	atomic64_set(&state->allowance,
		     budget_allowance(budget, max_t(u64, budget->capacity_ns,
						    budget_scale(window->cost.cpu, budget->ppm)),
				      state->is_trying));
}

/* Guards have just begun to jump. */
static bool is_graced(const struct window *window)
{
	return window->profile->noted && window->state->budget.ppm &&
	       time_before(jiffies, window->state->armed + GRACE);
}

/* What was spent until now was for nothing that lasts. */
static void start_over(struct window *window)
{
	pguard_cost_sum(window->target, window->profile, &window->now);
	window->state->settled = window->now;
	window->is_whole = false;
	window_begin(window);
	set_allowance(window);
}

/**
 * pguard_budget_apply() - shed guards, or put some back, by the rule
 * @target: locked by current
 * @profile: its
 *
 * Context: a work.
 * Return: true if guards were shed, for which pguard_probe_sync() is due.
 */
bool pguard_budget_apply(struct pguard_target *target, struct pguard_profile *profile)
{
	struct pguard_budget_state *state = &profile->budget;
	struct budget *budget = &state->budget;
	struct window window = { .target = target, .profile = profile, .state = state,
				 .length = jiffies - state->since };
	bool any;

	pguard_target_assert_locked(target);
	window.is_whole = window.length >= (budget->ppm ? WHOLE : WHOLE_PLAN);
	/* It was called for another target. */
	if (!window.is_whole && (!budget->ppm || atomic64_read(&state->allowance) >= 0))
		return false;
	if (is_graced(&window)) {
		start_over(&window);
		return false;
	}
	window_sum(&window);
	any = budget->ppm ? keep_budget(&window) : keep_plan(&window);
	if (window.is_whole || any)
		window_begin(&window);
	set_batch(profile);
	set_allowance(&window);
	return any;
}

/**
 * pguard_budget_init() - set the budget of a profile
 * @ppm: the budget, in millionths of the target's CPU time; 0 for none
 * @model: by which it is kept
 *
 * Context: its tables are made, and no guard is on.
 */
void pguard_budget_init(struct pguard_profile *profile, u32 ppm,
			const struct pguard_cost_model *model)
{
	struct pguard_budget_state *state = &profile->budget;
	int cpu;

	state->model = *model;
	state->budget.ppm = ppm;
	set_batch(profile);
	for_each_possible_cpu(cpu)
		*per_cpu_ptr(profile->left, cpu) = state->batch;
}

/**
 * pguard_budget_begin() - a profile is armed: the hits from here on are charged
 *
 * Context: current holds the target lock, and pguard_control is held.
 */
void pguard_budget_begin(struct pguard_target *target, struct pguard_profile *profile)
{
	struct pguard_budget_state *state = &profile->budget;

	atomic64_set(&target->report_left, state->budget.ppm ? 0 : PGUARD_REPORT_UNLIMITED);
	pguard_cost_sum(target, profile, &state->base);
	state->settled = state->base;
	state->begun = state->base;
	state->since = jiffies;
	state->armed = jiffies;
	atomic64_set(&state->allowance, 2 * BUDGET_BATCH_NS);
}
