// SPDX-License-Identifier: GPL-2.0

/*
 * The trainer chose the guards by how often they are hit in a unit.  A program
 * may come to do other work than it was trained with, and a guard of a seldom
 * function be hit in each round of a loop.  Where guarding has a budget, it keeps
 * to that (spending.c).  Else each guard has a plan, and one that is far beyond it
 * is shed: taken off, and tried again later.
 *
 * It also gives event loops larger memos, where theirs are crowded.
 *
 * All is done by a work, in a turn at each target: a probe must not be taken off
 * by its own handler.  Where an order has the turn, the work comes again later.
 */

#include "budget/governor.h"

#include "budget/budget.h"
#include "budget/shed.h"
#include "compat.h"
#include "probe/guard.h"
#include "probe/probe.h"
#include "profile/profile.h"
#include "profile/verdict.h"
#include "target/image.h"
#include "target/target-lock.h"

#include <linux/jiffies.h>
#include <linux/math64.h>
#include <linux/sched.h>
#include <linux/workqueue.h>

enum {
	ROUND = HZ,
	RETRY = HZ / 50,
	SPARE = 4,		/* times its plan a guard may be hit */
	MIN_HITS = 2000,	/* in a second; fewer do no harm */
	PATIENCE = 2,		/* rounds beyond its plan in a row */
};

static void govern(struct work_struct *work);
struct delayed_work pguard_governor = __DELAYED_WORK_INITIALIZER(pguard_governor, govern, 0);

/* What has happened since the last round. */
struct round {
	struct pguard_target *target;
	struct pguard_profile *profile;
	u64 units;
	unsigned long elapsed;	/* jiffies, at least 1 */
};

static bool guard_is_hot(const struct round *round, const struct pguard_guard *guard, u64 hits)
{
	u64 planned = mul_u64_u32_shr(round->units, guard->site.plan, 10);

	return guard->site.plan && hits * HZ > (u64)MIN_HITS * round->elapsed &&
	       hits > SPARE * planned;
}

/* Whether it was shed. */
static bool guard_govern(const struct round *round, u32 i)
{
	struct pguard_guard *guard = &round->profile->guards[i];
	struct pguard_guard_sums sums;
	u64 hits;

	if (guard->state == PERFGUARD_GUARD_STATE_SHED) {
		if (pguard_shed_is_over(guard))
			pguard_shed_restore(round->target, round->profile, i);
		return false;
	}
	pguard_profile_sum_guard(round->profile, i, &sums);
	hits = sums.hits - guard->hits;
	guard->hits = sums.hits;
	guard->rounds = guard_is_hot(round, guard, hits) ? guard->rounds + 1 : 0;
	if (guard->rounds < PATIENCE)
		return false;
	guard->rounds = 0;
	pguard_shed_guard(round->target, round->profile, i);
	return true;
}

/* By the plan.  Whether guards were shed. */
static bool profile_govern(struct pguard_target *target, struct pguard_profile *profile)
{
	struct round round = { .target = target, .profile = profile };
	struct pguard_profile_sums sums;
	bool any = false;
	u32 i;

	round.elapsed = jiffies - profile->looked;
	if (round.elapsed < ROUND / 8 * 7)
		return false;
	pguard_profile_sum(profile, &sums);
	/* Each thread may be in a unit that has not ended. */
	round.units = sums.units - profile->units + atomic_read(&target->nr_threads);
	profile->units = sums.units;
	profile->looked = jiffies;
	for (i = 0; i < profile->nr_guards; i++) {
		any |= guard_govern(&round, i);
		cond_resched();
	}
	return any;
}

/* So that units are known of by a memo, as far as may be. */
static void memos_govern(struct pguard_profile *profile)
{
	struct pguard_memo *memo;
	u32 i;

	for (i = 0; i < profile->nr_courses; i++) {
		memo = profile->courses[i].memo;
		if (pguard_memo_wants_more(memo))
			WRITE_ONCE(profile->bytes, profile->bytes +
						   pguard_verdict_grow(&profile->courses[i]));
	}
}

static bool target_is_guarded(const struct pguard_target *target)
{
	return rcu_access_pointer(target->profile);
}

/* In its turn: nobody else changes the profile it has, which stays. */
static void target_govern(struct pguard_target *target)
{
	struct pguard_profile *profile = pguard_target_profile(target);
	bool any;

	if (!profile)
		return;
	if (profile->spending.prices.ppm)
		any = pguard_spending_look(target, profile);
	else
		any = profile_govern(target, profile);
	memos_govern(profile);
	/* One wait for all; then they can be put on again. */
	if (any)
		pguard_probe_sync();
}

static bool anything_is_guarded(void)
{
	struct pguard_target *target;
	bool ret = false;

	mutex_lock(&pguard_control);
	list_for_each_entry(target, &pguard_targets, list)
		ret |= target_is_guarded(target);
	mutex_unlock(&pguard_control);
	return ret;
}

static void govern(struct work_struct *work)
{
	if (pguard_turn_each(target_is_guarded, target_govern))
		queue_delayed_work(system_unbound_wq, &pguard_governor, RETRY);
	else if (anything_is_guarded())
		queue_delayed_work(system_unbound_wq, &pguard_governor, ROUND);
}

/**
 * pguard_governor_start() - a profile was armed
 *
 * The work goes on as long as one is.
 *
 * Context: pguard_control held.
 */
void pguard_governor_start(void)
{
	queue_delayed_work(system_unbound_wq, &pguard_governor, ROUND);
}

/* The module goes: there is no target.  pguard_control is not held. */
void pguard_governor_deinit(void)
{
	cancel_delayed_work_sync(&pguard_governor);
}
