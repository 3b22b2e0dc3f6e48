// SPDX-License-Identifier: GPL-2.0

/*
 * To tell a late unit takes as much as some twenty hits: a record, a copy of
 * the stack, and further ones while it stays late.  Where many units are late,
 * that is what guarding takes most for, and none of it is a guard's that could
 * be shed.  So under a budget, telling has a part of it, which it earns and
 * spends as guards do theirs; it is settled with theirs, too (spending.c).
 *
 * A few units are told whatever it takes: a target that is nearly idle earns
 * nearly nothing, and its late units are the very ones that are waited for.  Of
 * those that are told all stacks are taken.  No guard goes for what is more than
 * the part.
 */

#include "report/rate-limit.h"

#include "compat.h"
#include "lib/clock.h"
#include "profile/profile.h"

enum { CLOSED = HZ / 16 };

static bool has_budget(const struct pguard_target *target)
{
	const struct pguard_profile *profile;
	bool ret;

	rcu_read_lock();
	profile = rcu_dereference(target->profile);
	ret = profile && profile->spending.prices.ppm;
	rcu_read_unlock();
	return ret;
}

/* By one at a time: a limit that somebody else is just asking refuses. */
static bool ask_limits(struct pguard_target *target, bool is_known)
{
	bool ret;

	spin_lock(&target->limit_lock);
	ret = is_known || !has_budget(target) || atomic64_read(&target->telling_left) > 0 ||
	      __ratelimit(&target->least_limit);
	ret = ret && __ratelimit(&target->alert_limit);
	spin_unlock(&target->limit_lock);
	return ret;
}

/**
 * pguard_telling_may_again() - may a unit that was told be told again?
 *
 * Context: any.
 */
bool pguard_telling_may_again(struct pguard_target *target)
{
	return ask_limits(target, true);
}

/**
 * pguard_telling_may() - may one more late unit be told?
 *
 * If not, then no other for a while: where most units are late, to ask for each
 * would take more than to tell those that may be told.
 *
 * Context: any.
 */
bool pguard_telling_may(struct pguard_target *target)
{
	if (!pguard_telling_is_open(target))
		return false;
	if (ask_limits(target, false))
		return true;
	WRITE_ONCE(target->telling_opens, jiffies + CLOSED);
	return false;
}

/**
 * pguard_telling_begin() - something about a late unit is going to be told
 *
 * Context: any task; the thread itself, or the watch for it.
 */
void pguard_telling_begin(struct pguard_telling *telling)
{
	telling->begun = pguard_clock();
	pguard_account_mark(&telling->mark);
}

/**
 * pguard_telling_end() - it was told; the target is charged for it
 *
 * For the CPU time that it took, not for what current slept meanwhile.
 *
 * Context: as pguard_telling_begin(), of the same task; @target is referenced.
 */
void pguard_telling_end(const struct pguard_telling *telling, struct pguard_target *target)
{
	struct pguard_account account;

	pguard_account_current(&telling->mark, pguard_clock_ns(pguard_clock() - telling->begun),
			       &account);
	pguard_telling_add(target, account.cpu);
}

/* It took so many ns more.  Context: any. */
void pguard_telling_add(struct pguard_target *target, u64 ns)
{
	atomic64_add(ns, &target->telling);
	atomic64_sub(ns, &target->telling_left);
}

/* A profile is armed: nothing was earned yet.  Context: any. */
void pguard_telling_reset(struct pguard_target *target)
{
	atomic64_set(&target->telling_left, 0);
}

/**
 * pguard_telling_earn() - some time of the target has passed
 * @target: in current's turn
 * @earned: what telling may take for it, ns
 *
 * As much is kept for later, and no larger debt is: or after a storm, of which
 * some is told in any case, no other would be for long.
 *
 * Context: a work.
 */
void pguard_telling_earn(struct pguard_target *target, u64 earned)
{
	s64 left = atomic64_add_return(earned, &target->telling_left);

	atomic64_sub(left - clamp_t(s64, left, -(s64)earned, earned), &target->telling_left);
}
