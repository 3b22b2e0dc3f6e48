// SPDX-License-Identifier: GPL-2.0

/*
 * The rule, whose arithmetic is in perfguard/budget.h: what the target's CPU
 * time earns, guarding may spend.
 *
 * A CPU counts down its hits, and tells each part of them at once, by one atomic
 * subtraction from the allowance; the one that uses it up calls the governor
 * (guard.c).  So a guard that is dear all at once is found when it has taken
 * some ms, and else nobody looks more often than each second.
 *
 * At each look all that was spent is summed exactly and settled.  If it is too
 * much, the guard that is being tried goes first, then the dearest, until the
 * rest fits.  A shed guard comes back after a while if what it took then fits
 * in the room there is now.  One that does not is tried, one at a time, when its
 * pause is over and something has been saved for it: it stays if it has
 * become cheaper, and else is found at once and waits twice as long.
 */

#include "budget/budget.h"

#include "budget/cost.h"
#include "budget/shed.h"
#include "compat.h"
#include "profile/profile.h"
#include "target/image.h"
#include "target/target-lock.h"

#include <linux/jiffies.h>
#include <linux/sched.h>

enum {
	WHOLE = HZ / 2,		/* a window as long as that tells what is near the limit */
	REST = 5 * HZ,		/* a shed guard stays off at least */
	TELLING = 4,		/* that part of the budget may go into telling late units */
};

/* What is looked at: a target's profile, since the window began. */
struct look {
	struct pguard_target *target;
	struct pguard_profile *profile;
	struct pguard_spending *spending;
	struct pguard_cost now;		/* in all */
	struct pguard_cost window;	/* in the window */
	u64 spent;			/* the same, of the CPU time */
	bool is_whole;
};

/* All but telling. */
static u64 total(const struct pguard_cost *cost)
{
	return cost->guards + cost->boundaries;
}

/* Telling's part of what @cpu earns. */
static u64 telling_part(const struct pguard_spending *spending, u64 cpu)
{
	return budget_part(cpu, spending->budget.ppm) / TELLING;
}

/*
 * What guards have to make room for of what telling took: no more than its part,
 * and what was left of that before.  Some is told in any case, and a target that is
 * nearly idle does not earn as much; for that no guard goes.
 */
static u64 charge_telling(struct pguard_spending *spending, s64 cpu, s64 took)
{
	s64 room = spending->telling_room, ret;

	if (cpu > 0)
		room += telling_part(spending, cpu);
	ret = clamp_t(s64, took, 0, room);
	spending->telling_room = min(room - ret, spending->budget.capacity_ns / TELLING);
	return ret;
}

/* What a guard took in the window, its handler at the mean. */
static u64 guard_took(const struct look *look, u32 i)
{
	const struct pguard_guard *guard = &look->profile->guards[i];
	struct pguard_guard_sums sums;

	pguard_profile_sum_guard(look->profile, i, &sums);
	sums.hits -= guard->hits;
	sums.stepped -= guard->stepped;
	return pguard_cost_hits(look->profile, guard, &sums) +
	       (look->window.hits ? look->window.check * sums.hits / look->window.hits : 0);
}

static bool can_be_shed(const struct pguard_guard *guard)
{
	return !guard->events && guard->state == PERFGUARD_GUARD_STATE_ACTIVE;
}

/* The guard that took most of those that can be shed, nr_guards for none. */
static u32 dearest(const struct look *look, u64 *ret_took)
{
	const struct pguard_profile *profile = look->profile;
	u32 i, ret = profile->nr_guards;
	u64 took;

	*ret_took = 0;
	for (i = 0; i < profile->nr_guards; i++) {
		if (!can_be_shed(&profile->guards[i]))
			continue;
		took = guard_took(look, i);
		if (took > *ret_took) {
			*ret_took = took;
			ret = i;
		}
		cond_resched();
	}
	return ret;
}

/* No more than all: in a short window the CPU time may not have been told yet. */
static void note_share(const struct look *look, u32 i, u64 took)
{
	u32 share = min_t(u32, budget_share(took, look->window.cpu), BUDGET_ALL);

	WRITE_ONCE(look->profile->guards[i].share, share);
}

/* Whether guards were shed. */
static bool shed(struct look *look, u64 excess)
{
	struct pguard_spending *spending = look->spending;
	bool any = false;
	u64 took;
	u32 i;

	while (excess) {
		if (spending->is_trying) {
			i = spending->tried;
			took = guard_took(look, i);
			spending->is_trying = false;
		} else {
			i = dearest(look, &took);
		}
		if (i == look->profile->nr_guards)
			break;
		note_share(look, i, took);
		pguard_shed_guard(look->target, look->profile, i);
		any = true;
		excess -= min(excess, took);
	}
	return any;
}

/* Put back what fits, and try one of the others. */
static void restore(struct look *look)
{
	struct pguard_profile *profile = look->profile;
	struct pguard_spending *spending = look->spending;
	u32 room = budget_room(&spending->budget, look->window.cpu, look->spent);
	struct pguard_guard *guard;
	u32 i;

	if (!room || !READ_ONCE(profile->nr_shed))
		return;
	for (i = 0; i < profile->nr_guards; i++) {
		guard = &profile->guards[i];
		if (guard->state != PERFGUARD_GUARD_STATE_SHED ||
		    time_before(jiffies, guard->shed_at + REST))
			continue;
		if (guard->share <= room) {
			if (pguard_shed_restore(look->target, profile, i))
				room -= guard->share;
		} else if (!spending->is_trying && pguard_shed_is_over(guard) &&
			   pguard_shed_restore(look->target, profile, i)) {
			spending->is_trying = true;
			spending->tried = i;
		}
		cond_resched();
	}
}

/* What was tried has been on for a whole window, and all fitted. */
static void accept(struct look *look)
{
	struct pguard_spending *spending = look->spending;

	if (!spending->is_trying)
		return;
	look->profile->guards[spending->tried].pause /= 2;
	spending->is_trying = false;
}

static void window_begin(struct look *look)
{
	struct pguard_profile *profile = look->profile;
	struct pguard_spending *spending = look->spending;
	struct pguard_guard_sums sums;
	struct pguard_guard *guard;
	u32 i;

	spending->begun = look->now;
	spending->since = jiffies;
	for (i = 0; i < profile->nr_guards; i++) {
		guard = &profile->guards[i];
		if (look->is_whole && guard->state == PERFGUARD_GUARD_STATE_ACTIVE)
			note_share(look, i, guard_took(look, i));
		pguard_profile_sum_guard(profile, i, &sums);
		guard->hits = sums.hits;
		guard->stepped = sums.stepped;
		cond_resched();
	}
}

static void tell_last(struct pguard_spending *spending, const struct pguard_cost *window)
{
	WRITE_ONCE(spending->last.cpu, window->cpu);
	WRITE_ONCE(spending->last.guards, window->guards);
	WRITE_ONCE(spending->last.boundaries, window->boundaries);
	WRITE_ONCE(spending->last.telling, window->telling);
}

/* Hits that make a part, if all are of the dearest way there is. */
static void set_part(struct pguard_profile *profile)
{
	const struct pguard_prices *prices = &profile->spending.prices;
	u32 i, price = 1;

	for (i = 0; i < profile->nr_guards; i++)
		price = max(price, prices->hit[profile->guards[i].way]);
	WRITE_ONCE(profile->spending.part, max(BUDGET_PART_NS / price, 1U));
}

static void allow(struct look *look)
{
	struct pguard_spending *spending = look->spending;
	struct budget *budget = &spending->budget;
	u64 earned = budget_part(look->window.cpu, budget->ppm);

	atomic64_set(&spending->allowance,
		     budget_allowance(budget, max(spending->earned, earned),
				      spending->is_trying));
}

/* Sum what was spent, and settle it. */
static void settle(struct look *look)
{
	struct pguard_spending *spending = look->spending;
	struct pguard_cost *settled = &spending->settled;
	s64 cpu, spent;

	pguard_cost_sum(look->target, look->profile, &look->now);
	cpu = look->now.cpu - settled->cpu;
	spent = total(&look->now) - total(settled) +
		charge_telling(spending, cpu, look->now.telling - settled->telling);
	budget_settle(&spending->budget, cpu, spent);
	*settled = look->now;
}

static void look_around(struct look *look)
{
	settle(look);
	pguard_cost_between(&look->spending->begun, &look->now, &look->window);
	look->spent = total(&look->window) +
		      min(look->window.telling, telling_part(look->spending, look->window.cpu));
}

/*
 * What reports may take.  As much is kept for later, and no larger debt is: or after a
 * storm, of which some is reported in any case, no other would be for long.
 */
static void earn_reports(struct pguard_target *target, u64 earned)
{
	s64 left = atomic64_add_return(earned, &target->report_left);

	atomic64_sub(left - clamp_t(s64, left, -(s64)earned, earned), &target->report_left);
}

static void resize(struct look *look)
{
	struct pguard_spending *spending = look->spending;
	u64 wall = (u64)jiffies_to_nsecs(jiffies - spending->since);

	budget_resize(&spending->budget, look->window.cpu, wall);
	spending->earned = spending->budget.capacity_ns;
	earn_reports(look->target, telling_part(spending, look->window.cpu));
	tell_last(spending, &look->window);
}

/**
 * pguard_spending_look() - is guarding within its budget?
 * @target: in current's turn
 * @profile: its, with a budget
 *
 * If not, guards are shed; if there is room, some come back.
 *
 * Context: a work.
 * Return: whether guards were shed, for which pguard_probe_sync() is due.
 */
bool pguard_spending_look(struct pguard_target *target, struct pguard_profile *profile)
{
	struct pguard_spending *spending = &profile->spending;
	struct look look = { .target = target, .profile = profile, .spending = spending };
	bool any = false;
	u64 excess;

	pguard_turn_assert(target);
	look.is_whole = time_after_eq(jiffies, spending->since + WHOLE);
	/* It was about another target. */
	if (!look.is_whole && atomic64_read(&spending->allowance) >= 0)
		return false;
	look_around(&look);
	excess = budget_excess(&spending->budget, look.window.cpu, look.spent, look.is_whole);
	if (look.is_whole)
		resize(&look);
	if (excess) {
		any = shed(&look, excess);
		/* While they went they were still hit: no other guard is to go for that. */
		settle(&look);
	} else if (look.is_whole) {
		accept(&look);
		restore(&look);
	}
	if (look.is_whole || any)
		window_begin(&look);
	set_part(profile);
	allow(&look);
	return any;
}

/**
 * pguard_spending_init() - set the budget of a profile
 * @prices: with the budget, if there is one
 *
 * Context: its tables are made, and no guard is on.
 */
void pguard_spending_init(struct pguard_profile *profile, const struct pguard_prices *prices)
{
	struct pguard_spending *spending = &profile->spending;
	int cpu;

	spending->prices = *prices;
	spending->budget.ppm = prices->ppm;
	spending->part = S32_MAX;
	if (prices->ppm)
		set_part(profile);
	for_each_possible_cpu(cpu)
		*per_cpu_ptr(profile->left, cpu) = spending->part;
	atomic64_set(&spending->allowance, 2 * BUDGET_PART_NS);
}

/**
 * pguard_spending_begin() - a profile is armed
 *
 * Context: it is current's turn at the target, and pguard_control is held.
 */
void pguard_spending_begin(struct pguard_target *target, struct pguard_profile *profile)
{
	struct pguard_spending *spending = &profile->spending;

	atomic64_set(&target->report_left,
		     spending->prices.ppm ? 0 : PGUARD_REPORT_UNLIMITED);
	pguard_cost_sum(target, profile, &spending->base);
	spending->settled = spending->base;
	spending->begun = spending->base;
	spending->since = jiffies;
}
