// SPDX-License-Identifier: GPL-2.0

/* Budget and cost model in requests about profiles. */

#include "netlink/family.h"

#include "budget/cost.h"
#include "compat.h"
#include "profile/profile.h"

#include <linux/perfguard.h>

/**
 * pguard_nl_get_prices() - read budget and cost model of a request
 * @info: the request, whose policy has the ranges
 * @ret: set to them
 *
 * Return: 0, or an error with its text.
 */
int pguard_nl_get_prices(struct genl_info *info, struct pguard_prices *ret)
{
	struct nlattr **attrs = info->attrs;
	struct nlattr *budget = attrs[PERFGUARD_A_PROFILE_BUDGET_PPM];
	u32 *hit = ret->hit;

	ret->ppm = pguard_nl_u32(budget);
	hit[PERFGUARD_STEP_MODE_KERNEL] = pguard_nl_u32(attrs[PERFGUARD_A_PROFILE_KERNEL_HIT_NS]);
	hit[PERFGUARD_STEP_MODE_MODULE] = pguard_nl_u32(attrs[PERFGUARD_A_PROFILE_MODULE_HIT_NS]);
	hit[PERFGUARD_STEP_MODE_STEPPED] = pguard_nl_u32(attrs[PERFGUARD_A_PROFILE_STEPPED_HIT_NS]);
	ret->call = pguard_nl_u32(attrs[PERFGUARD_A_PROFILE_CALL_NS]);
	ret->unit = pguard_nl_u32(attrs[PERFGUARD_A_PROFILE_UNIT_NS]);
	if (!budget || (hit[PERFGUARD_STEP_MODE_KERNEL] && hit[PERFGUARD_STEP_MODE_MODULE] &&
			hit[PERFGUARD_STEP_MODE_STEPPED]))
		return 0;
	NL_SET_ERR_MSG_ATTR(info->extack, budget, "a budget needs the prices of hits");
	return -EINVAL;
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
	const struct pguard_spending *spending = &profile->spending;
	const struct pguard_prices *prices = &spending->prices;
	struct pguard_cost now, since;

	if (prices->ppm && nla_put_u32(skb, PERFGUARD_A_PROFILE_BUDGET_PPM, prices->ppm))
		return -EMSGSIZE;
	pguard_cost_sum(profile->target, profile, &now);
	pguard_cost_between(&spending->base, &now, &since);
	return nla_put_u32(skb, PERFGUARD_A_PROFILE_KERNEL_HIT_NS,
			   prices->hit[PERFGUARD_STEP_MODE_KERNEL]) ||
	       nla_put_u32(skb, PERFGUARD_A_PROFILE_MODULE_HIT_NS,
			   prices->hit[PERFGUARD_STEP_MODE_MODULE]) ||
	       nla_put_u32(skb, PERFGUARD_A_PROFILE_STEPPED_HIT_NS,
			   prices->hit[PERFGUARD_STEP_MODE_STEPPED]) ||
	       nla_put_u32(skb, PERFGUARD_A_PROFILE_CALL_NS, prices->call) ||
	       nla_put_u32(skb, PERFGUARD_A_PROFILE_UNIT_NS, prices->unit) ||
	       pguard_nl_put64(skb, PERFGUARD_A_PROFILE_CPU_NS, since.cpu) ||
	       pguard_nl_put64(skb, PERFGUARD_A_PROFILE_CHECK_NS, since.check) ||
	       pguard_nl_put64(skb, PERFGUARD_A_PROFILE_GUARDS_NS, since.guards) ||
	       pguard_nl_put64(skb, PERFGUARD_A_PROFILE_BOUNDARIES_NS, since.boundaries) ||
	       pguard_nl_put64(skb, PERFGUARD_A_PROFILE_LAST_CPU_NS,
			       READ_ONCE(spending->last.cpu)) ||
	       pguard_nl_put64(skb, PERFGUARD_A_PROFILE_LAST_GUARDS_NS,
			       READ_ONCE(spending->last.guards)) ||
	       pguard_nl_put64(skb, PERFGUARD_A_PROFILE_LAST_BOUNDARIES_NS,
			       READ_ONCE(spending->last.boundaries)) ||
	       pguard_nl_put64(skb, PERFGUARD_A_PROFILE_REPORT_NS, since.telling) ||
	       pguard_nl_put64(skb, PERFGUARD_A_PROFILE_LAST_REPORT_NS,
			       READ_ONCE(spending->last.telling));
}
