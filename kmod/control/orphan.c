// SPDX-License-Identifier: GPL-2.0

/* What a netlink socket owns goes with it: targets, and profiles that it was loading. */

#include "control/control.h"

#include "target/image.h"
#include "target/target-lock.h"

#include <linux/printk.h>
#include <linux/workqueue.h>

enum { ORPHANS_AGAIN = HZ / 10 };

static void orphan_work(struct work_struct *work);
static DECLARE_DELAYED_WORK(orphans, orphan_work);

static bool target_is_orphan(const struct pguard_target *target)
{
	return READ_ONCE(target->orphan);
}

static void profiles_drop(bool is_all)
{
	struct pguard_profile *profile, *next;

	mutex_lock(&pguard_control);
	list_for_each_entry_safe(profile, next, &pguard_profiles, list)
		/* One that is being armed goes when that has failed, if it does. */
		if (is_all ||
		    (READ_ONCE(profile->orphan) && !profile->target && !profile->is_arming))
			pguard_profile_drop(profile);
	mutex_unlock(&pguard_control);
}

static void orphan_remove(struct pguard_target *target)
{
	pr_info_ratelimited("target %u removed: the process that made it has ended\n", target->id);
	pguard_target_remove(target);
	/* That can take minutes: what was loaded does not wait for the others. */
	profiles_drop(false);
}

static void orphan_work(struct work_struct *work)
{
	profiles_drop(false);
	if (pguard_target_lock_each(target_is_orphan, orphan_remove))
		queue_delayed_work(system_dfl_wq, &orphans, ORPHANS_AGAIN);
}

/**
 * pguard_orphan_add() - a netlink socket was closed
 * @owner: its number
 *
 * The targets it owned are removed, and what it was loading is dropped, by a work.
 * Again after a request of it that was under way.
 *
 * Context: any.
 */
void pguard_orphan_add(u64 owner)
{
	struct pguard_profile *profile;
	struct pguard_target *target;
	bool any = false;

	spin_lock(&pguard_images_lock);
	list_for_each_entry(target, &pguard_targets, list) {
		if (target->owner != owner ||
		    !(READ_ONCE(target->flags) & PERFGUARD_TARGET_FLAGS_OWNED))
			continue;
		WRITE_ONCE(target->orphan, true);
		any = true;
	}
	spin_unlock(&pguard_images_lock);
	spin_lock(&pguard_profiles_lock);
	list_for_each_entry(profile, &pguard_profiles, list) {
		if (READ_ONCE(profile->owner) != owner)
			continue;
		WRITE_ONCE(profile->orphan, true);
		any = true;
	}
	spin_unlock(&pguard_profiles_lock);
	if (any)
		mod_delayed_work(system_dfl_wq, &orphans, 0);
}

/* The module goes: no order comes any more, no profile is armed, and there is no target. */
void pguard_orphan_deinit(void)
{
	cancel_delayed_work_sync(&orphans);
	profiles_drop(true);
}
