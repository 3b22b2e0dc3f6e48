// SPDX-License-Identifier: GPL-2.0

/* Requests about profiles; see family.c for the context. */

#include "netlink/family.h"

#include "budget/budget.h"
#include "control/control.h"
#include "lib/clock.h"
#include "netlink/policy.h"
#include "netlink/request.h"
#include "probe/probe-set.h"
#include "profile/profile.h"
#include "profile/staging.h"
#include "target/image.h"
#include "target/target-lock.h"

#include <linux/slab.h>
#include <linux/string.h>

#include <linux/perfguard.h>

static const u32 attributes[PGUARD_STAGING_KINDS] = {
	[PGUARD_STAGING_LOOPS] = PERFGUARD_A_PROFILE_LOOPS,
	[PGUARD_STAGING_BOUNDARIES] = PERFGUARD_A_PROFILE_BOUNDARIES,
	[PGUARD_STAGING_GUARDS] = PERFGUARD_A_PROFILE_GUARDS,
	[PGUARD_STAGING_TYPES] = PERFGUARD_A_PROFILE_TYPES,
	[PGUARD_STAGING_CONTEXTS] = PERFGUARD_A_PROFILE_CONTEXTS,
	[PGUARD_STAGING_WEIGHTS] = PERFGUARD_A_PROFILE_WEIGHTS,
};

static int profile_new(struct pguard_request *request)
{
	struct nlattr **attrs = request->info.attrs;
	struct pguard_profile *profile;
	u32 flags = pguard_nl_u32(attrs[PERFGUARD_A_PROFILE_FLAGS]);
	int ret;

	if (flags & PERFGUARD_PROFILE_FLAGS_PAPER && flags & PERFGUARD_PROFILE_FLAGS_INLINE)
		return pguard_refuse_attr(request->info.extack, attrs[PERFGUARD_A_PROFILE_FLAGS],
					  -EINVAL, "by the paper's rule no guard may jump");
	ret = pguard_nl_reply_new(request, NLMSG_GOODSIZE) ?: pguard_nl_control_lock();
	if (ret)
		return ret;
	profile = pguard_profile_new(nla_data(attrs[PERFGUARD_A_PROFILE_NAME]), request->owner);
	if (IS_ERR(profile)) {
		ret = PTR_ERR(profile);
		if (ret == -ENOSPC)
			NL_SET_ERR_MSG(request->info.extack, "too many profiles");
	} else {
		profile->hash = pguard_nl_u64(attrs[PERFGUARD_A_PROFILE_HASH]);
		profile->flags = flags;
		ret = nla_put_u32(request->reply, PERFGUARD_A_PROFILE_ID, profile->id);
	}
	mutex_unlock(&pguard_control);
	return ret;
}

int pguard_nl_profile_new_doit(struct sk_buff *skb, struct genl_info *info)
{
	return PGUARD_NL_REQUIRE(info, PERFGUARD_A_PROFILE_NAME, "a profile needs a name") ?:
	       pguard_request_queue(skb, info, NULL, profile_new);
}

/* The profile of a request: one that the sender loads. */
static int profile_get(const struct pguard_request *request, struct pguard_profile **ret)
{
	struct netlink_ext_ack *extack = request->info.extack;
	struct nlattr *id = request->info.attrs[PERFGUARD_A_PROFILE_ID];

	lockdep_assert_held(&pguard_control);
	*ret = pguard_profile_find(nla_get_u32(id));
	if (!*ret)
		return pguard_refuse_attr(extack, id, -ENOENT, "no such profile");
	if ((*ret)->target)
		return pguard_refuse_attr(extack, id, -EBUSY, "this profile is armed already");
	if ((*ret)->owner != request->owner)
		return pguard_refuse_attr(extack, id, -EPERM, "another socket loads this profile");
	if ((*ret)->is_arming)
		return pguard_refuse_attr(extack, id, -EBUSY, "this profile is being armed");
	return 0;
}

static int add_object(struct pguard_profile *profile, const struct file *file,
		      struct netlink_ext_ack *extack)
{
	int ret = pguard_probe_set_file_check(file, extack);

	if (ret)
		return ret;
	ret = pguard_profile_add_object(profile, file);
	if (ret == -ENOSPC)
		NL_SET_ERR_MSG(extack, "too many objects");
	else if (ret == -EEXIST)
		NL_SET_ERR_MSG(extack, "this file is an object of the profile already");
	return ret;
}

/* All arrays and the object of a request, or nothing. */
static int arrays_add(struct pguard_request *request, struct pguard_profile *profile)
{
	struct genl_info *info = &request->info;
	u32 nr[PGUARD_STAGING_KINDS];
	struct nlattr *attr;
	int ret = 0;
	u32 i;

	for (i = 0; i < PGUARD_STAGING_KINDS; i++)
		nr[i] = profile->staging->arrays[i].nr;
	for (i = 0; i < PGUARD_STAGING_KINDS && !ret; i++) {
		attr = info->attrs[attributes[i]];
		if (!attr)
			continue;
		ret = pguard_staging_append(profile->staging, i, nla_data(attr), nla_len(attr),
					    info->extack);
		if (ret)
			NL_SET_BAD_ATTR(info->extack, attr);
	}
	if (!ret && request->file)
		ret = add_object(profile, request->file, info->extack);
	for (i = 0; ret && i < PGUARD_STAGING_KINDS; i++)
		profile->staging->arrays[i].nr = nr[i];
	return ret;
}

static int profile_add(struct pguard_request *request)
{
	struct pguard_profile *profile;
	int ret = pguard_nl_control_lock();

	if (ret)
		return ret;
	ret = profile_get(request, &profile) ?: arrays_add(request, profile);
	mutex_unlock(&pguard_control);
	return ret;
}

int pguard_nl_profile_add_doit(struct sk_buff *skb, struct genl_info *info)
{
	int ret = PGUARD_NL_REQUIRE(info, PERFGUARD_A_PROFILE_ID, "which profile?");
	struct file *file;

	if (ret)
		return ret;
	file = pguard_nl_file(info, info->attrs[PERFGUARD_A_PROFILE_OBJECT_FD]);
	if (IS_ERR(file))
		return PTR_ERR(file);
	return pguard_request_queue(skb, info, file, profile_add);
}

/* A hit is an exception, which takes longer on any processor: a lower cost was not measured. */
enum { LEAST_HIT_NS = 50 };

/* Read budget and cost model of a request; the policy has seen to their ranges. */
static int get_budget(struct genl_info *info, u32 *ret_ppm, struct pguard_cost_model *ret)
{
	struct nlattr **attrs = info->attrs;
	struct nlattr *budget = attrs[PERFGUARD_A_PROFILE_BUDGET_PPM];
	u32 *hit = ret->hit, least;

	*ret_ppm = pguard_nl_u32(budget);
	hit[PERFGUARD_STEP_MODE_KERNEL] = pguard_nl_u32(attrs[PERFGUARD_A_PROFILE_KERNEL_HIT_NS]);
	hit[PERFGUARD_STEP_MODE_MODULE] = pguard_nl_u32(attrs[PERFGUARD_A_PROFILE_MODULE_HIT_NS]);
	hit[PERFGUARD_STEP_MODE_STEPPED] = pguard_nl_u32(attrs[PERFGUARD_A_PROFILE_STEPPED_HIT_NS]);
	ret->call = pguard_nl_u32(attrs[PERFGUARD_A_PROFILE_CALL_NS]);
	ret->unit = pguard_nl_u32(attrs[PERFGUARD_A_PROFILE_UNIT_NS]);
	ret->assumed = pguard_nl_u32(attrs[PERFGUARD_A_PROFILE_ASSUMED_COSTS]);
	if (!budget)
		return 0;
	least = min3(hit[PERFGUARD_STEP_MODE_KERNEL], hit[PERFGUARD_STEP_MODE_MODULE],
		     hit[PERFGUARD_STEP_MODE_STEPPED]);
	if (!least || !ret->call || !ret->unit)
		return pguard_refuse_attr(info->extack, budget, -EINVAL,
					  "a budget needs the costs of hits, calls and units");
	if (least < LEAST_HIT_NS)
		return pguard_refuse_attr(info->extack, budget, -EINVAL,
					  "no hit takes less than 50 ns: measure the costs again");
	return 0;
}

static int profile_arm(struct pguard_request *request)
{
	struct genl_info *info = &request->info;
	struct pguard_activate_spec spec = {
		.target_id = pguard_nl_u32(info->attrs[PERFGUARD_A_PROFILE_TARGET_ID]),
		.owner = request->owner,
		.is_cancelled = request->is_cancelled,
	};
	const struct pguard_nl_scope_attrs scope = PGUARD_NL_SCOPE_ATTRS(info->attrs, PROFILE);
	struct pguard_profile *profile;
	const char *name = NULL;
	u32 target_id, processes;
	int ret = get_budget(info, &spec.budget_ppm, &spec.model) ?:
		  pguard_nl_scope(info, &scope, &spec.scope) ?:
		  pguard_nl_reply_new(request, NLMSG_GOODSIZE) ?: pguard_nl_control_lock();

	if (ret)
		goto out;
	ret = profile_get(request, &profile);
	if (!ret) {
		/* Until it is armed, or that has failed, it stays what it is. */
		profile->is_arming = true;
		profile->refused_error = 0;
		/* Armed, it may go at any time. */
		name = kstrdup(profile->name, GFP_KERNEL);
	}
	mutex_unlock(&pguard_control);
	if (!ret)
		ret = pguard_activate_arm(profile, &spec, &target_id, &processes, info->extack) ?:
		      nla_put_u32(request->reply, PERFGUARD_A_PROFILE_TARGET_ID, target_id) ?:
		      nla_put_u32(request->reply, PERFGUARD_A_PROFILE_PROCESSES, processes);
	/* A target of the sender's own is no guarding: a trial, or a training. */
	if (!ret && !spec.target_id)
		pguard_request_log(request, "armed", target_id, name);
	kfree(name);
out:
	pguard_scope_put(&spec.scope);
	return ret;
}

int pguard_nl_profile_arm_doit(struct sk_buff *skb, struct genl_info *info)
{
	const struct pguard_nl_scope_attrs scope = PGUARD_NL_SCOPE_ATTRS(info->attrs, PROFILE);
	struct nlattr *target = info->attrs[PERFGUARD_A_PROFILE_TARGET_ID];
	int ret = PGUARD_NL_REQUIRE(info, PERFGUARD_A_PROFILE_ID, "which profile?");

	if (ret)
		return ret;
	if (target && !nla_get_u32(target))
		return pguard_refuse_attr(info->extack, target, -EINVAL, "no target has id 0");
	if (target && (scope.cgroup_id || scope.uid || scope.pids || scope.text))
		return pguard_refuse_attr(info->extack, target, -EINVAL,
					  "a target has its scope already");
	return pguard_request_queue(skb, info, NULL, profile_arm);
}

/*
 * Drop a profile that is not armed, and set *@ret to NULL.  For an armed one
 * set it to its target, locked.
 */
static int profile_drop(const struct pguard_request *request, struct pguard_target **ret)
{
	struct netlink_ext_ack *extack = request->info.extack;
	struct nlattr *id = request->info.attrs[PERFGUARD_A_PROFILE_ID];
	struct pguard_profile *profile = pguard_profile_find(nla_get_u32(id));
	struct pguard_target *target;
	int error;

	*ret = NULL;
	if (!profile || !profile->target) {
		error = profile_get(request, &profile);
		if (!error)
			pguard_profile_drop(profile);
		return error;
	}
	target = profile->target;
	if (target->owner != request->owner)
		return pguard_refuse_attr(extack, id, -EPERM,
					  "this profile goes with its target, which is not the sender's");
	error = pguard_target_lock(target);
	/* It may have been dropped before the target was locked. */
	if (!error && !pguard_profile_find(nla_get_u32(id))) {
		pguard_target_unlock(target);
		error = -ENOENT;
	}
	if (error == -ENOENT)
		return pguard_refuse_attr(extack, id, -ENOENT, "no such profile");
	if (!error)
		*ret = target;
	return error;
}

static int profile_del(struct pguard_request *request)
{
	struct pguard_profile *disarmed;
	struct pguard_target *target;
	int ret = pguard_nl_control_lock();

	if (ret)
		return ret;
	ret = profile_drop(request, &target);
	mutex_unlock(&pguard_control);
	if (ret || !target)
		return ret;
	/* The target stays. */
	disarmed = pguard_target_unguard(target);
	if (disarmed)
		pguard_probe_set_del(target, disarmed);
	pguard_target_unlock(target);
	return 0;
}

int pguard_nl_profile_del_doit(struct sk_buff *skb, struct genl_info *info)
{
	return PGUARD_NL_REQUIRE(info, PERFGUARD_A_PROFILE_ID, "which profile?") ?:
	       pguard_request_queue(skb, info, NULL, profile_del);
}

static int fill_loaded(struct sk_buff *skb, const struct pguard_profile *profile)
{
	const struct pguard_staging_array *arrays = profile->staging->arrays;

	if (profile->refused_error &&
	    (nla_put_u32(skb, PERFGUARD_A_PROFILE_REFUSED_GUARD, profile->refused_guard) ||
	     nla_put_u32(skb, PERFGUARD_A_PROFILE_REFUSED_ERROR, profile->refused_error)))
		return -EMSGSIZE;
	return nla_put_u32(skb, PERFGUARD_A_PROFILE_NR_GUARDS, arrays[PGUARD_STAGING_GUARDS].nr) ||
	       nla_put_u32(skb, PERFGUARD_A_PROFILE_NR_TYPES, arrays[PGUARD_STAGING_TYPES].nr) ||
	       nla_put_u32(skb, PERFGUARD_A_PROFILE_NR_CONTEXTS,
			   arrays[PGUARD_STAGING_CONTEXTS].nr) ||
	       pguard_nl_put64(skb, PERFGUARD_A_PROFILE_BYTES,
			       pguard_staging_bytes(profile->staging));
}

/* What guarding took, and the cost model, of an armed profile. */
static int fill_budget(struct sk_buff *skb, const struct pguard_profile *profile)
{
	const struct pguard_budget_state *state = &profile->budget;
	const struct pguard_cost_model *model = &state->model;
	struct pguard_cost now, since;

	if (state->budget.ppm &&
	    nla_put_u32(skb, PERFGUARD_A_PROFILE_BUDGET_PPM, state->budget.ppm))
		return -EMSGSIZE;
	pguard_cost_sum(profile->target, profile, &now);
	pguard_cost_between(&state->base, &now, &since);
	return nla_put_u32(skb, PERFGUARD_A_PROFILE_KERNEL_HIT_NS,
			   model->hit[PERFGUARD_STEP_MODE_KERNEL]) ||
	       nla_put_u32(skb, PERFGUARD_A_PROFILE_MODULE_HIT_NS,
			   model->hit[PERFGUARD_STEP_MODE_MODULE]) ||
	       nla_put_u32(skb, PERFGUARD_A_PROFILE_STEPPED_HIT_NS,
			   model->hit[PERFGUARD_STEP_MODE_STEPPED]) ||
	       nla_put_u32(skb, PERFGUARD_A_PROFILE_CALL_NS, model->call) ||
	       nla_put_u32(skb, PERFGUARD_A_PROFILE_UNIT_NS, model->unit) ||
	       nla_put_u32(skb, PERFGUARD_A_PROFILE_ASSUMED_COSTS, model->assumed) ||
	       pguard_nl_put64(skb, PERFGUARD_A_PROFILE_CPU_NS, since.cpu) ||
	       pguard_nl_put64(skb, PERFGUARD_A_PROFILE_CHECK_NS, since.check) ||
	       pguard_nl_put64(skb, PERFGUARD_A_PROFILE_GUARDS_NS, since.guards) ||
	       pguard_nl_put64(skb, PERFGUARD_A_PROFILE_BOUNDARIES_NS, since.boundaries) ||
	       pguard_nl_put64(skb, PERFGUARD_A_PROFILE_LAST_CPU_NS,
			       READ_ONCE(state->last.cpu)) ||
	       pguard_nl_put64(skb, PERFGUARD_A_PROFILE_LAST_GUARDS_NS,
			       READ_ONCE(state->last.guards)) ||
	       pguard_nl_put64(skb, PERFGUARD_A_PROFILE_LAST_BOUNDARIES_NS,
			       READ_ONCE(state->last.boundaries)) ||
	       pguard_nl_put64(skb, PERFGUARD_A_PROFILE_REPORT_NS, since.reports) ||
	       pguard_nl_put64(skb, PERFGUARD_A_PROFILE_LAST_REPORT_NS,
			       READ_ONCE(state->last.reports));
}

static int fill_armed_profile(struct sk_buff *skb, const struct pguard_profile *profile)
{
	struct pguard_profile_sums sums;

	pguard_profile_sum(profile, &sums);
	return nla_put_u32(skb, PERFGUARD_A_PROFILE_TARGET_ID, profile->target->id) ||
	       nla_put_u32(skb, PERFGUARD_A_PROFILE_PROCESSES,
			   atomic_read(&profile->target->nr_processes)) ||
	       nla_put_u32(skb, PERFGUARD_A_PROFILE_NR_GUARDS, profile->nr_guards) ||
	       nla_put_u32(skb, PERFGUARD_A_PROFILE_NR_TYPES, profile->nr_types) ||
	       nla_put_u32(skb, PERFGUARD_A_PROFILE_NR_CONTEXTS, profile->nr_contexts) ||
	       nla_put_u32(skb, PERFGUARD_A_PROFILE_NR_SHED, READ_ONCE(profile->nr_shed)) ||
	       pguard_nl_put64(skb, PERFGUARD_A_PROFILE_UNITS, sums.units) ||
	       pguard_nl_put64(skb, PERFGUARD_A_PROFILE_NOVEL, sums.novel) ||
	       pguard_nl_put64(skb, PERFGUARD_A_PROFILE_UNKNOWN_HITS, sums.unknown_hits) ||
	       pguard_nl_put64(skb, PERFGUARD_A_PROFILE_STRAY_HITS, sums.stray_hits) ||
	       pguard_nl_put64(skb, PERFGUARD_A_PROFILE_BYTES, READ_ONCE(profile->bytes)) ||
	       pguard_nl_put64(skb, PERFGUARD_A_PROFILE_ARMED_NS, profile->armed_ns) ||
	       fill_budget(skb, profile);
}

static int fill_profile(struct sk_buff *skb, const struct pguard_profile *profile)
{
	if (nla_put_u32(skb, PERFGUARD_A_PROFILE_ID, profile->id) ||
	    nla_put_string(skb, PERFGUARD_A_PROFILE_NAME, profile->name) ||
	    pguard_nl_put64(skb, PERFGUARD_A_PROFILE_HASH, profile->hash) ||
	    nla_put_u32(skb, PERFGUARD_A_PROFILE_FLAGS, profile->flags))
		return -EMSGSIZE;
	return profile->target ? fill_armed_profile(skb, profile) : fill_loaded(skb, profile);
}

/* args[0]: id of the last profile in the dump so far. */
int pguard_nl_profile_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	const struct pguard_profile *profile;
	int ret = pguard_nl_dump_lock(skb, cb);

	if (ret)
		return ret;
	list_for_each_entry(profile, &pguard_profiles, list) {
		if (profile->id <= cb->args[0])
			continue;
		if (PGUARD_NL_DUMP(skb, cb, PERFGUARD_CMD_PROFILE_GET, fill_profile(skb, profile)))
			break;
		cb->args[0] = profile->id;
	}
	mutex_unlock(&pguard_control);
	return skb->len;
}

/* Of dumps of an armed profile's parts: cb->args. */
enum {
	ARG_PROFILE,	/* referenced, so that it remains valid */
	ARG_INDEX,	/* of the next part */
};

int pguard_nl_part_dump_start(struct netlink_callback *cb)
{
	struct nlattr *id = pguard_dump_attrs(cb)[PERFGUARD_A_GUARD_PROFILE_ID];
	struct pguard_profile *profile;
	int ret = pguard_nl_dump_start(cb);

	BUILD_BUG_ON((int)PERFGUARD_A_GUARD_PROFILE_ID != (int)PERFGUARD_A_TYPE_PROFILE_ID ||
		     (int)PERFGUARD_A_GUARD_PROFILE_ID != (int)PERFGUARD_A_TIMES_PROFILE_ID);
	if (ret)
		return ret;
	if (!id)
		return pguard_refuse(cb->extack, -EINVAL, "which profile?");
	profile = pguard_profile_get_armed(nla_get_u32(id));
	if (!profile)
		return pguard_refuse_attr(cb->extack, id, -ENOENT, "no such profile is armed");
	cb->args[ARG_PROFILE] = (long)profile;
	return 0;
}

int pguard_nl_part_dump_done(struct netlink_callback *cb)
{
	if (cb->args[ARG_PROFILE])
		pguard_profile_put((struct pguard_profile *)cb->args[ARG_PROFILE]);
	return 0;
}

/* Who carries out its instruction now: enum perfguard_step_mode. */
static u32 step_mode(const struct pguard_profile *profile, u32 i)
{
	const struct pguard_guard *guard = &profile->guards[i];

	if (profile->noted && profile->noted->jumps[i] != PGUARD_NO_JUMP)
		return PERFGUARD_STEP_MODE_INLINE;
	return pguard_guard_step_mode(guard);
}

static int fill_guard(struct sk_buff *skb, const struct pguard_profile *profile, u32 i)
{
	const struct pguard_guard *guard = &profile->guards[i];
	struct pguard_guard_sums sums;

	pguard_profile_sum_guard(profile, i, &sums);
	return nla_put_u32(skb, PERFGUARD_A_GUARD_PROFILE_ID, profile->id) ||
	       nla_put_u32(skb, PERFGUARD_A_GUARD_INDEX, i) ||
	       nla_put_u32(skb, PERFGUARD_A_GUARD_OBJECT, guard->site.object) ||
	       pguard_nl_put64(skb, PERFGUARD_A_GUARD_OFFSET, guard->site.offset) ||
	       nla_put_u32(skb, PERFGUARD_A_GUARD_STATE, READ_ONCE(guard->state)) ||
	       nla_put_u32(skb, PERFGUARD_A_GUARD_STEP_MODE, step_mode(profile, i)) ||
	       pguard_nl_put64(skb, PERFGUARD_A_GUARD_HITS, sums.hits) ||
	       pguard_nl_put64(skb, PERFGUARD_A_GUARD_STEPPED, sums.stepped) ||
	       pguard_nl_put64(skb, PERFGUARD_A_GUARD_NOTED, sums.noted) ||
	       nla_put_u32(skb, PERFGUARD_A_GUARD_SHEDS, READ_ONCE(guard->sheds)) ||
	       nla_put_u32(skb, PERFGUARD_A_GUARD_SHARE_PPM, READ_ONCE(guard->share));
}

int pguard_nl_guard_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	const struct pguard_profile *profile = (const void *)cb->args[ARG_PROFILE];
	long *i = &cb->args[ARG_INDEX];

	for (; *i < profile->nr_guards; ++*i)
		if (PGUARD_NL_DUMP(skb, cb, PERFGUARD_CMD_GUARD_GET, fill_guard(skb, profile, *i)))
			break;
	return skb->len;
}

static int fill_type(struct sk_buff *skb, const struct pguard_profile *profile, u32 loop_id,
		     u32 i)
{
	const struct pguard_limits *limits = &profile->limits[i];
	const struct infer_type *type = &profile->types[i];
	u64 request = profile->ticks[i].request.of[REQUEST_PART_ALL];
	struct pguard_type_sums sums;

	pguard_profile_sum_type(profile, i, &sums);
	return nla_put_u32(skb, PERFGUARD_A_TYPE_PROFILE_ID, profile->id) ||
	       nla_put_u32(skb, PERFGUARD_A_TYPE_LOOP_ID, loop_id) ||
	       nla_put_u32(skb, PERFGUARD_A_TYPE_ID, type->id) ||
	       pguard_nl_put64(skb, PERFGUARD_A_TYPE_THRESHOLD_NS,
			       limits->ns[PERFGUARD_PART_ALL - 1]) ||
	       pguard_nl_put64(skb, PERFGUARD_A_TYPE_OWN_LIMIT_NS,
			       limits->ns[PERFGUARD_PART_OWN - 1]) ||
	       pguard_nl_put64(skb, PERFGUARD_A_TYPE_CPU_LIMIT_NS,
			       limits->ns[PERFGUARD_PART_CPU - 1]) ||
	       pguard_nl_put64(skb, PERFGUARD_A_TYPE_BLOCKED_LIMIT_NS,
			       limits->ns[PERFGUARD_PART_BLOCKED - 1]) ||
	       pguard_nl_put64(skb, PERFGUARD_A_TYPE_BLOCK_IO_LIMIT_NS,
			       limits->ns[PERFGUARD_PART_BLOCK_IO - 1]) ||
	       pguard_nl_put64(skb, PERFGUARD_A_TYPE_REQUEST_LIMIT_NS,
			       pguard_clock_ns(request)) ||
	       pguard_nl_put64(skb, PERFGUARD_A_TYPE_STARVED, sums.starved) ||
	       pguard_nl_put64(skb, PERFGUARD_A_TYPE_STOPPED, sums.stopped) ||
	       pguard_nl_put64(skb, PERFGUARD_A_TYPE_UNITS, sums.units) ||
	       pguard_nl_put64(skb, PERFGUARD_A_TYPE_LATE, sums.late) ||
	       pguard_nl_put64(skb, PERFGUARD_A_TYPE_NOVEL, sums.novel) ||
	       pguard_nl_put64(skb, PERFGUARD_A_TYPE_ELAPSED_NS, sums.elapsed) ||
	       pguard_nl_put64(skb, PERFGUARD_A_TYPE_CPU_NS, sums.cpu) ||
	       pguard_nl_put64(skb, PERFGUARD_A_TYPE_RUNQUEUE_NS, sums.runqueue) ||
	       pguard_nl_put64(skb, PERFGUARD_A_TYPE_BLOCK_IO_NS, sums.block_io) ||
	       pguard_nl_put64(skb, PERFGUARD_A_TYPE_MIN_FAULTS, sums.min_faults) ||
	       pguard_nl_put64(skb, PERFGUARD_A_TYPE_MAJ_FAULTS, sums.maj_faults) ||
	       pguard_nl_put64(skb, PERFGUARD_A_TYPE_LATE_ELAPSED_NS, sums.late_elapsed) ||
	       pguard_nl_put64(skb, PERFGUARD_A_TYPE_LATE_CPU_NS, sums.late_cpu) ||
	       pguard_nl_put64(skb, PERFGUARD_A_TYPE_LATE_BLOCKED_NS, sums.late_blocked);
}

static int fill_times(struct sk_buff *skb, const struct pguard_profile *profile, u32 i)
{
	const struct pguard_limit_ticks *ticks = &profile->ticks[i];
	struct pguard_type_times *times;
	struct nlattr *attr;

	if (nla_put_u32(skb, PERFGUARD_A_TIMES_PROFILE_ID, profile->id) ||
	    nla_put_u32(skb, PERFGUARD_A_TIMES_ID, profile->types[i].id) ||
	    nla_put_u32(skb, PERFGUARD_A_TIMES_FIRST, ticks->first) ||
	    nla_put(skb, PERFGUARD_A_TIMES_REQUEST_FIRST, sizeof(ticks->request_first),
		    ticks->request_first))
		return -EMSGSIZE;
	attr = nla_reserve(skb, PERFGUARD_A_TIMES_NR, sizeof(*times));
	if (!attr)
		return -EMSGSIZE;
	times = nla_data(attr);
	pguard_profile_sum_times(profile, i, times);
	return 0;
}

int pguard_nl_times_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	const struct pguard_profile *profile = (const void *)cb->args[ARG_PROFILE];
	long *i = &cb->args[ARG_INDEX];

	for (; *i < profile->nr_types; ++*i)
		if (PGUARD_NL_DUMP(skb, cb, PERFGUARD_CMD_TIMES_GET,
				   fill_times(skb, profile, *i)))
			break;
	return skb->len;
}

int pguard_nl_type_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	const struct pguard_profile *profile = (const void *)cb->args[ARG_PROFILE];
	const struct pguard_loop *loop = profile->loops;
	long *i = &cb->args[ARG_INDEX];

	for (; *i < profile->nr_types; ++*i) {
		while (*i >= loop->first_type + loop->table.nr_types)
			loop++;
		if (PGUARD_NL_DUMP(skb, cb, PERFGUARD_CMD_TYPE_GET,
				   fill_type(skb, profile, loop->id, *i)))
			break;
	}
	return skb->len;
}
