// SPDX-License-Identifier: GPL-2.0

/* Budgets and cost models in requests about profiles. */

#include "netlink/family.h"

#include "budget/budget.h"
#include "compat.h"
#include "profile/profile.h"

#include <linux/perfguard.h>

/* A hit is an exception, which takes longer on any processor: a lower cost was not measured. */
enum { LEAST_HIT_NS = 50 };

static u32 least_hit(const struct pguard_cost_model *model)
{
	return min3(model->hit[PERFGUARD_STEP_MODE_KERNEL],
		    model->hit[PERFGUARD_STEP_MODE_MODULE],
		    model->hit[PERFGUARD_STEP_MODE_STEPPED]);
}

/**
 * pguard_nl_get_budget() - read budget and cost model of a request
 * @info: the request, whose policy has the ranges
 * @ret_ppm: set to the budget, 0 for none
 * @ret: set to the cost model
 *
 * Return: 0, or an error with its text.
 */
int pguard_nl_get_budget(struct genl_info *info, u32 *ret_ppm, struct pguard_cost_model *ret)
{
	struct nlattr **attrs = info->attrs;
	struct nlattr *budget = attrs[PERFGUARD_A_PROFILE_BUDGET_PPM];
	u32 *hit = ret->hit;

	*ret_ppm = pguard_nl_u32(budget);
	hit[PERFGUARD_STEP_MODE_KERNEL] = pguard_nl_u32(attrs[PERFGUARD_A_PROFILE_KERNEL_HIT_NS]);
	hit[PERFGUARD_STEP_MODE_MODULE] = pguard_nl_u32(attrs[PERFGUARD_A_PROFILE_MODULE_HIT_NS]);
	hit[PERFGUARD_STEP_MODE_STEPPED] = pguard_nl_u32(attrs[PERFGUARD_A_PROFILE_STEPPED_HIT_NS]);
	ret->call = pguard_nl_u32(attrs[PERFGUARD_A_PROFILE_CALL_NS]);
	ret->unit = pguard_nl_u32(attrs[PERFGUARD_A_PROFILE_UNIT_NS]);
	ret->assumed = pguard_nl_u32(attrs[PERFGUARD_A_PROFILE_ASSUMED_COSTS]);
	if (!budget)
		return 0;
	if (!least_hit(ret) || !ret->call || !ret->unit) {
		NL_SET_ERR_MSG_ATTR(info->extack, budget,
				    "a budget needs the costs of hits, calls and units");
		return -EINVAL;
	}
	if (least_hit(ret) < LEAST_HIT_NS) {
		NL_SET_ERR_MSG_ATTR(info->extack, budget,
				    "no hit takes less than 50 ns: measure the costs again");
		return -EINVAL;
	}
	return 0;
}

/**
 * pguard_nl_fill_budget() - put the cost of guarding and the cost model
 * @skb: the message
 * @profile: an armed profile
 *
 * Context: pguard_control held.
 * Return: nonzero if there is no room.
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
