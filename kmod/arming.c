// SPDX-License-Identifier: GPL-2.0

/*
 * A profile is armed as a whole or not at all.  Order, each step relying on the
 * one before:
 *
 *   1. what was loaded is checked, and the tables are made
 *   2. the target is found, or made: its processes are watched
 *   3. the probes of all guards go on; what their threads hit is of a profile
 *      that they do not have yet, and passed over
 *   4. the target points to the profile, then the generations of its images
 *      are raised: threads look anew at their next hooked call
 *   5. the probes of the profile before go, then that profile
 *
 * Up to step 4 everything can be taken back.
 */

#include "arming.h"

#include "code.h"
#include "compat.h"
#include "draft.h"
#include "governor.h"
#include "image.h"
#include "probes.h"
#include "profile.h"
#include "tables.h"
#include "target.h"
#include "watch.h"

#include <linux/file.h>
#include <linux/fs.h>
#include <linux/netlink.h>
#include <linux/workqueue.h>

static void orphan_work(struct work_struct *work);
static DECLARE_WORK(orphans, orphan_work);

/* The target that is guarded already; NULL if there is none. */
static int target_find(const struct file *exe, struct pguard_target **ret,
		       struct netlink_ext_ack *extack)
{
	spin_lock(&pguard_images_lock);
	/* It stays: pguard_control is held. */
	*ret = pguard_target_match(exe);
	spin_unlock(&pguard_images_lock);
	/* One of a socket's is guarded by what that socket armed for it, if at all. */
	if (!*ret || (pguard_target_profile(*ret) && !(*ret)->portid))
		return 0;
	NL_SET_ERR_MSG(extack, "this executable is watched already");
	return -EEXIST;
}

/* The target that the order names. */
static int target_named(const struct pguard_arming_wish *wish, struct pguard_target **ret,
			struct netlink_ext_ack *extack)
{
	*ret = pguard_target_find(wish->target_id);
	if (!*ret) {
		NL_SET_ERR_MSG(extack, "no such target");
		return -ENOENT;
	}
	if ((*ret)->portid != wish->portid) {
		NL_SET_ERR_MSG(extack, "another socket made this target");
		return -EPERM;
	}
	if (pguard_target_profile(*ret)) {
		NL_SET_ERR_MSG(extack, "this target is guarded already");
		return -EEXIST;
	}
	return 0;
}

static int target_make(struct file *exe, struct pguard_target **ret,
		       struct netlink_ext_ack *extack)
{
	struct pguard_target_wish wish = {
		.exe = exe,
		.flags = PERFGUARD_TARGET_FLAGS_ACCOUNT,
	};
	u32 id, processes;
	int error = pguard_target_new(&wish, &id, &processes, extack);

	*ret = error ? NULL : pguard_target_find(id);
	return error;
}

/* From here on threads come by the profile. */
static void publish(struct pguard_target *target, struct pguard_profile *profile)
{
	pguard_draft_free(profile->draft);
	profile->draft = NULL;
	profile->portid = 0;
	profile->refused_error = 0;
	profile->armed_ns = ktime_get_real_ns();
	profile->looked = jiffies;
	profile->target = target;
	rcu_assign_pointer(target->profile, profile);
	pguard_target_unsettle(target);
}

/* All that can fail comes before the target changes. */
static int guard_target(struct pguard_profile *profile, struct pguard_target *target,
			struct netlink_ext_ack *extack)
{
	struct pguard_profile *old = pguard_target_profile(target);
	int ret = pguard_probes_guard(target, profile, extack);

	if (ret)
		return ret;
	publish(target, profile);
	if (old) {
		pguard_probes_del(target, old);
		pguard_profile_drop(old);
	}
	return 0;
}

/* Guard all that execute this file. */
static int guard_executable(struct pguard_profile *profile, struct file *exe,
			    struct netlink_ext_ack *extack)
{
	struct pguard_target *target;
	bool is_new;
	int ret;

	ret = target_find(exe, &target, extack);
	if (ret)
		return ret;
	is_new = !target;
	if (is_new)
		ret = target_make(exe, &target, extack);
	if (ret)
		return ret;
	ret = guard_target(profile, target, extack);
	if (ret && is_new)
		pguard_target_del(target->id, NULL);
	return ret;
}

static int arm(struct pguard_profile *profile, const struct pguard_arming_wish *wish,
	       struct netlink_ext_ack *extack)
{
	struct pguard_target *target;
	struct file *exe;
	int ret;

	if (wish->target_id)
		return target_named(wish, &target, extack) ?: guard_target(profile, target, extack);
	exe = pguard_code_open(&profile->objects[0].path);
	if (IS_ERR(exe)) {
		NL_SET_ERR_MSG(extack, "the executable cannot be read");
		return PTR_ERR(exe);
	}
	ret = guard_executable(profile, exe, extack);
	fput(exe);
	return ret;
}

/**
 * pguard_arming_arm() - guard a target by a loaded profile
 * @profile: what was loaded
 * @wish: which target; if it names none, that of the profile's executable, which
 *	is made if it is new
 * @ret_target_id: the target
 * @ret_processes: how many processes it has now
 * @extack: takes the reason of a refusal
 *
 * A profile the executable is guarded by already is replaced.
 *
 * Context: may sleep; pguard_control held.
 * Return: 0; or an error with nothing changed but what the profile tells of the
 * guard that was refused.
 */
int pguard_arming_arm(struct pguard_profile *profile, const struct pguard_arming_wish *wish,
		      u32 *ret_target_id, u32 *ret_processes, struct netlink_ext_ack *extack)
{
	int ret;

	lockdep_assert_held(&pguard_control);
	profile->refused_error = 0;
	ret = pguard_tables_make(profile, extack);
	if (ret)
		return ret;
	ret = arm(profile, wish, extack);
	if (ret) {
		pguard_profile_free_tables(profile);
		return ret;
	}
	*ret_target_id = profile->target->id;
	*ret_processes = atomic_read(&profile->target->nr_processes);
	pguard_watch_start();
	pguard_governor_start();
	return 0;
}

/**
 * pguard_arming_disarm() - guard a target by its profile no longer
 * @profile: an armed one
 *
 * Its threads notice at their next boundary; the target stays.
 *
 * Context: may sleep; pguard_control held.
 */
void pguard_arming_disarm(struct pguard_profile *profile)
{
	struct pguard_target *target = profile->target;

	lockdep_assert_held(&pguard_control);
	rcu_assign_pointer(target->profile, NULL);
	pguard_target_unsettle(target);
	pguard_probes_del(target, profile);
	pguard_profile_drop(profile);
}

static void orphan_work(struct work_struct *work)
{
	struct pguard_profile *profile, *next;

	mutex_lock(&pguard_control);
	list_for_each_entry_safe(profile, next, &pguard_profiles, list)
		if (READ_ONCE(profile->orphan) && !profile->target)
			pguard_profile_drop(profile);
	mutex_unlock(&pguard_control);
}

/**
 * pguard_arming_orphan() - a netlink socket was closed
 * @portid: its address
 *
 * What it was loading is dropped by a work.
 *
 * Context: any.
 */
void pguard_arming_orphan(u32 portid)
{
	struct pguard_profile *profile;
	bool any = false;

	spin_lock(&pguard_profiles_lock);
	list_for_each_entry(profile, &pguard_profiles, list) {
		if (!portid || READ_ONCE(profile->portid) != portid)
			continue;
		WRITE_ONCE(profile->orphan, true);
		any = true;
	}
	spin_unlock(&pguard_profiles_lock);
	if (any)
		queue_work(system_unbound_wq, &orphans);
}

/* The module goes: no order comes any more, no profile is armed. */
void pguard_arming_deinit(void)
{
	struct pguard_profile *profile, *next;

	flush_work(&orphans);
	mutex_lock(&pguard_control);
	list_for_each_entry_safe(profile, next, &pguard_profiles, list)
		pguard_profile_drop(profile);
	mutex_unlock(&pguard_control);
}
