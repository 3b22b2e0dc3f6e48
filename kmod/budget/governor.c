// SPDX-License-Identifier: GPL-2.0

/*
 * The worker that applies the rule of budgets to each target that is guarded, and
 * gives event loops larger verdict caches where theirs are crowded.
 *
 * All is done under the target lock: a probe must not be taken off by its own
 * handler.  Where an order holds it, the work comes again later.
 */

#include "budget/budget.h"

#include "probe/guard.h"
#include "probe/probe.h"
#include "probe/probe-set.h"
#include "profile/profile.h"
#include "target/image.h"
#include "target/target-lock.h"

#include <linux/jiffies.h>
#include <linux/workqueue.h>

enum {
	ROUND = HZ,
	RETRY = HZ / 50,
};

static void govern(struct work_struct *work);
struct delayed_work pguard_governor = __DELAYED_WORK_INITIALIZER(pguard_governor, govern, 0);

/* So that units are known of by a verdict cache, as far as may be. */
static void caches_govern(struct pguard_profile *profile)
{
	struct pguard_verdict_cache *cache;
	u32 i;

	for (i = 0; i < profile->nr_loops; i++) {
		cache = profile->loops[i].cache;
		if (pguard_verdict_cache_wants_more(cache))
			WRITE_ONCE(profile->bytes,
				   profile->bytes + pguard_verdict_grow(&profile->loops[i]));
	}
}

static bool target_is_guarded(const struct pguard_target *target)
{
	return rcu_access_pointer(target->profile);
}

/* It is locked: nobody else changes the profile it has, which stays. */
static void target_govern(struct pguard_target *target)
{
	struct pguard_profile *profile = pguard_target_profile(target);

	/* The guards of a process that has ended are taken off while it is armed. */
	if (!profile || !profile->probes)
		return;
	caches_govern(profile);
	pguard_probe_set_look(profile);
	/* One wait for all; then they can be put on again. */
	if (pguard_budget_apply(target, profile))
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
	if (pguard_target_lock_each(target_is_guarded, target_govern))
		queue_delayed_work(system_dfl_wq, &pguard_governor, RETRY);
	else if (anything_is_guarded())
		queue_delayed_work(system_dfl_wq, &pguard_governor, ROUND);
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
	queue_delayed_work(system_dfl_wq, &pguard_governor, ROUND);
}

/* The module goes: there is no target.  pguard_control is not held. */
void pguard_governor_deinit(void)
{
	cancel_delayed_work_sync(&pguard_governor);
}
