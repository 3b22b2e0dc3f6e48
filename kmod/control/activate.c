// SPDX-License-Identifier: GPL-2.0

/*
 * A profile is armed as a whole or not at all.  Order, each step relying on the
 * one before:
 *
 *   1. what was loaded is checked, and the tables are made
 *   2. the target is found, or made: its processes are watched; from here on in
 *      the lock of it, so that no other order arms, disarms or removes it
 *   3. the wait calls of its boundaries are hooked; the probes of all guards go on; what
 *      their threads hit is of a profile that they do not have yet, and passed over
 *   4. the target points to the profile, then the generations of its images
 *      are raised: threads look again at their next hooked call
 *      In the same moment the profile before is out of the list.
 *   5. the probes of the profile before go, then that profile
 *
 * Up to step 4 everything can be taken back.  Steps 3 and 5 may take seconds;
 * pguard_control is only held to find the target, and in step 4.
 */

#include "control/control.h"

#include "budget/budget.h"
#include "hook/hook.h"
#include "lib/refuse.h"
#include "probe/code.h"
#include "probe/probe-set.h"
#include "profile/profile.h"
#include "profile/staging.h"
#include "request/late-report.h"
#include "target/image.h"
#include "target/target-lock.h"
#include "unit/unit.h"

#include <linux/file.h>
#include <linux/fs.h>
#include <linux/netlink.h>

/* The target that the order names, locked. */
static int target_named(const struct pguard_activate_spec *spec, struct pguard_target **ret,
			struct netlink_ext_ack *extack)
{
	int error = -ENOENT;

	*ret = pguard_target_find(spec->target_id);
	if (*ret && (*ret)->owner != spec->owner)
		return pguard_refuse(extack, -EPERM, "another socket made this target");
	if (*ret)
		error = pguard_target_lock(*ret);
	if (error == -ENOENT)
		NL_SET_ERR_MSG(extack, "no such target");
	if (error)
		return error;
	if (!pguard_target_profile(*ret))
		return 0;
	pguard_target_unlock(*ret);
	return pguard_refuse(extack, -EEXIST, "this target is guarded already");
}

/*
 * The target of an executable, in a scope, locked by the order, made if there is none.
 * Another order may be about to arm it, or fail to: this waits for the lock.
 */
static int target_of(const struct pguard_target_spec *spec, struct pguard_target **ret,
		     bool *ret_is_new, struct netlink_ext_ack *extack)
{
	int error;

	do {
		error = pguard_target_make_room(spec);
		if (error)
			return error;
		/* It stays: pguard_control is held. */
		*ret = pguard_target_find_exe(spec->exe, &spec->scope);
		*ret_is_new = !*ret;
		if (*ret_is_new)
			return pguard_target_new(spec, ret, extack);
		if (!pguard_scope_is_same(&(*ret)->scope, &spec->scope))
			return pguard_refuse(extack, -EEXIST,
					     "this executable is watched already, in another scope: disarm that first");
		error = pguard_target_lock(*ret);
	} while (error == -ENOENT);
	/* One of a socket's is guarded by what that socket armed for it, if at all. */
	if (error || (pguard_target_profile(*ret) && !(*ret)->owner))
		return error;
	pguard_target_unlock(*ret);
	return pguard_refuse(extack, -EEXIST, "this executable is watched already");
}

/* From here on threads come by the profile.  Returns the one before. */
static struct pguard_profile *publish(struct pguard_target *target,
				      struct pguard_profile *profile)
{
	struct pguard_profile *old = pguard_target_profile(target);

	lockdep_assert_held(&pguard_control);
	pguard_staging_free(profile->staging);
	profile->staging = NULL;
	profile->owner = 0;
	profile->is_arming = false;
	profile->refused_error = 0;
	profile->armed_ns = ktime_get_real_ns();
	pguard_budget_begin(target, profile);
	/* Pairs with pguard_profile_get_armed(). */
	smp_store_release(&profile->target, target);
	rcu_assign_pointer(target->profile, profile);
	pguard_target_unsettle(target);
	if (target->connections)
		pguard_late_report_update(target->connections);
	/* Its probes, which are still on, keep it. */
	if (old)
		pguard_profile_drop(old);
	pguard_watchdog_start();
	pguard_governor_start();
	return old;
}

/* All that can fail comes before the target changes. */
static int guard_target(struct pguard_profile *profile, struct pguard_target *target,
			const bool *is_cancelled, struct netlink_ext_ack *extack)
{
	struct pguard_profile *old = NULL;
	u64 before = target->calls;
	int ret;

	mutex_lock(&pguard_control);
	ret = pguard_hold_set(target, before | pguard_hold_calls(profile));
	mutex_unlock(&pguard_control);
	if (ret)
		return pguard_refuse(extack, ret, "the wait calls of the profile cannot be hooked");
	ret = pguard_probe_set_guard(target, profile, is_cancelled, extack);
	mutex_lock(&pguard_control);
	if (ret)
		pguard_hold_set(target, before);
	else
		old = publish(target, profile);
	/* It may have more calls than the target had hooked. */
	if (!ret)
		pguard_arrivals_expect(target);
	mutex_unlock(&pguard_control);
	if (old) {
		pguard_probe_set_del(target, old);
		/* The places are its own now. */
		pguard_probe_set_look(profile);
	}
	return ret;
}

/* The target to be guarded, locked by the order. */
static int target_take(const struct pguard_profile *profile,
		       const struct pguard_activate_spec *spec, struct pguard_target **ret,
		       bool *ret_is_new, struct netlink_ext_ack *extack)
{
	struct pguard_target_spec wanted = {
		.scope = spec->scope,
		.calls = pguard_hold_calls(profile),
		.flags = PERFGUARD_TARGET_FLAGS_ACCOUNT,
	};
	int error;

	if (!spec->target_id) {
		wanted.exe = pguard_code_open(&profile->objects[0].path);
		if (IS_ERR(wanted.exe))
			return pguard_refuse(extack, PTR_ERR(wanted.exe),
					     "the executable cannot be read");
	}
	*ret_is_new = false;
	mutex_lock(&pguard_control);
	if (wanted.exe)
		error = target_of(&wanted, ret, ret_is_new, extack);
	else
		error = target_named(spec, ret, extack);
	mutex_unlock(&pguard_control);
	if (wanted.exe)
		__fput_sync(wanted.exe);
	return error;
}

/* It did not come to it: the profile is what it was. */
static void give_up(struct pguard_profile *profile)
{
	pguard_profile_free_tables(profile);
	mutex_lock(&pguard_control);
	profile->is_arming = false;
	mutex_unlock(&pguard_control);
}

/**
 * pguard_activate_arm() - guard a target by a loaded profile
 * @profile: what was loaded; is_arming, so that it is nobody else's
 * @spec: which target; if it names none, that of the profile's executable, which
 *	is made if it is new
 * @ret_target_id: the target
 * @ret_processes: how many processes it has now
 * @extack: takes the reason of a refusal
 *
 * A profile the executable is guarded by already is replaced.
 *
 * Context: a worker; may sleep, long; pguard_control not held.
 * Return: 0; or an error with nothing changed but what the profile says of the
 * guard that was refused.
 */
int pguard_activate_arm(struct pguard_profile *profile, const struct pguard_activate_spec *spec,
			u32 *ret_target_id, u32 *ret_processes, struct netlink_ext_ack *extack)
{
	struct pguard_target *target;
	bool is_new;
	int ret = pguard_tables_make(profile, extack) ?:
		  target_take(profile, spec, &target, &is_new, extack);

	if (ret) {
		give_up(profile);
		return ret;
	}
	pguard_budget_init(profile, spec->budget_ppm, &spec->model);
	ret = guard_target(profile, target, spec->is_cancelled, extack);
	*ret_target_id = target->id;
	*ret_processes = atomic_read(&target->nr_processes);
	if (ret && is_new)
		pguard_target_remove(target);
	pguard_target_unlock(target);
	if (ret)
		give_up(profile);
	return ret;
}
