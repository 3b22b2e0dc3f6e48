// SPDX-License-Identifier: GPL-2.0

/* Budgets and cost models in orders and answers about profiles. */

#include "netlink/family.h"

#include "budget/budget.h"
#include "compat.h"
#include "profile/profile.h"

#include <linux/perfguard.h>

static int put_u64(struct sk_buff *skb, int type, u64 value)
{
	return nla_put_u64_64bit(skb, type, value, PERFGUARD_A_PROFILE_PAD);
}

static u32 get_ns(const struct nlattr *attr)
{
	return attr ? nla_get_u32(attr) : 0;
}

/**
 * pguard_nl_get_budget() - the budget of an order, and the cost model
 * @info: the order; what each may be is in its policy
 * @ret_ppm: takes the budget, 0 for none
 * @ret: takes the cost model
 *
 * Return: 0, or an error with its text in extack.
 */
int pguard_nl_get_budget(struct genl_info *info, u32 *ret_ppm, struct pguard_cost_model *ret)
{
	struct nlattr **attrs = info->attrs;
	struct nlattr *budget = attrs[PERFGUARD_A_PROFILE_BUDGET_PPM];

	*ret_ppm = budget ? nla_get_u32(budget) : 0;
	ret->hit[PERFGUARD_GUARD_WAY_KERNEL] = get_ns(attrs[PERFGUARD_A_PROFILE_KERNEL_HIT_NS]);
	ret->hit[PERFGUARD_GUARD_WAY_MODULE] = get_ns(attrs[PERFGUARD_A_PROFILE_MODULE_HIT_NS]);
	ret->hit[PERFGUARD_GUARD_WAY_STEPPED] = get_ns(attrs[PERFGUARD_A_PROFILE_STEPPED_HIT_NS]);
	ret->call = get_ns(attrs[PERFGUARD_A_PROFILE_CALL_NS]);
	ret->unit = get_ns(attrs[PERFGUARD_A_PROFILE_UNIT_NS]);
	if (!budget || (ret->hit[PERFGUARD_GUARD_WAY_KERNEL] &&
			ret->hit[PERFGUARD_GUARD_WAY_MODULE] &&
			ret->hit[PERFGUARD_GUARD_WAY_STEPPED]))
		return 0;
	NL_SET_ERR_MSG_ATTR(info->extack, budget, "a budget needs the prices of hits");
	return -EINVAL;
}

/**
 * pguard_nl_fill_budget() - put what guarding takes, and the cost model
 * @skb: the message
 * @profile: an armed one
 *
 * Context: pguard_control held.
 * Return: not 0 if there is no room.
 */
int pguard_nl_fill_budget(struct sk_buff *skb, const struct pguard_profile *profile)
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
			   model->hit[PERFGUARD_GUARD_WAY_KERNEL]) ||
	       nla_put_u32(skb, PERFGUARD_A_PROFILE_MODULE_HIT_NS,
			   model->hit[PERFGUARD_GUARD_WAY_MODULE]) ||
	       nla_put_u32(skb, PERFGUARD_A_PROFILE_STEPPED_HIT_NS,
			   model->hit[PERFGUARD_GUARD_WAY_STEPPED]) ||
	       nla_put_u32(skb, PERFGUARD_A_PROFILE_CALL_NS, model->call) ||
	       nla_put_u32(skb, PERFGUARD_A_PROFILE_UNIT_NS, model->unit) ||
	       put_u64(skb, PERFGUARD_A_PROFILE_CPU_NS, since.cpu) ||
	       put_u64(skb, PERFGUARD_A_PROFILE_CHECK_NS, since.check) ||
	       put_u64(skb, PERFGUARD_A_PROFILE_GUARDS_NS, since.guards) ||
	       put_u64(skb, PERFGUARD_A_PROFILE_BOUNDARIES_NS, since.boundaries) ||
	       put_u64(skb, PERFGUARD_A_PROFILE_LAST_CPU_NS, READ_ONCE(state->last.cpu)) ||
	       put_u64(skb, PERFGUARD_A_PROFILE_LAST_GUARDS_NS,
		       READ_ONCE(state->last.guards)) ||
	       put_u64(skb, PERFGUARD_A_PROFILE_LAST_BOUNDARIES_NS,
		       READ_ONCE(state->last.boundaries)) ||
	       put_u64(skb, PERFGUARD_A_PROFILE_TELLING_NS, since.reports) ||
	       put_u64(skb, PERFGUARD_A_PROFILE_LAST_TELLING_NS,
		       READ_ONCE(state->last.reports));
}
