// SPDX-License-Identifier: GPL-2.0

/* Budgets and prices in orders and answers about profiles. */

#include "netlink/family.h"

#include "budget/cost.h"
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
 * pguard_nl_get_prices() - the budget of an order, and the prices
 * @info: the order; what each may be is in its policy
 * @ret: takes them
 *
 * Return: 0, or an error told.
 */
int pguard_nl_get_prices(struct genl_info *info, struct pguard_prices *ret)
{
	struct nlattr **attrs = info->attrs;
	struct nlattr *budget = attrs[PERFGUARD_A_PROFILE_BUDGET_PPM];

	if (budget)
		ret->ppm = nla_get_u32(budget);
	ret->hit[PERFGUARD_STEP_MODE_KERNEL] = get_ns(attrs[PERFGUARD_A_PROFILE_KERNEL_HIT_NS]);
	ret->hit[PERFGUARD_STEP_MODE_MODULE] = get_ns(attrs[PERFGUARD_A_PROFILE_MODULE_HIT_NS]);
	ret->hit[PERFGUARD_STEP_MODE_STEPPED] = get_ns(attrs[PERFGUARD_A_PROFILE_STEPPED_HIT_NS]);
	ret->call = get_ns(attrs[PERFGUARD_A_PROFILE_CALL_NS]);
	ret->unit = get_ns(attrs[PERFGUARD_A_PROFILE_UNIT_NS]);
	if (!budget || (ret->hit[PERFGUARD_STEP_MODE_KERNEL] &&
			ret->hit[PERFGUARD_STEP_MODE_MODULE] &&
			ret->hit[PERFGUARD_STEP_MODE_STEPPED]))
		return 0;
	NL_SET_ERR_MSG_ATTR(info->extack, budget, "a budget needs the prices of hits");
	return -EINVAL;
}

/**
 * pguard_nl_fill_spending() - tell what guarding takes, and by which prices
 * @skb: the message
 * @profile: an armed one
 *
 * Context: pguard_control held.
 * Return: not 0 if there is no room.
 */
int pguard_nl_fill_spending(struct sk_buff *skb, const struct pguard_profile *profile)
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
	       put_u64(skb, PERFGUARD_A_PROFILE_CPU_NS, since.cpu) ||
	       put_u64(skb, PERFGUARD_A_PROFILE_CHECK_NS, since.check) ||
	       put_u64(skb, PERFGUARD_A_PROFILE_GUARDS_NS, since.guards) ||
	       put_u64(skb, PERFGUARD_A_PROFILE_BOUNDARIES_NS, since.boundaries) ||
	       put_u64(skb, PERFGUARD_A_PROFILE_LAST_CPU_NS, READ_ONCE(spending->last.cpu)) ||
	       put_u64(skb, PERFGUARD_A_PROFILE_LAST_GUARDS_NS,
		       READ_ONCE(spending->last.guards)) ||
	       put_u64(skb, PERFGUARD_A_PROFILE_LAST_BOUNDARIES_NS,
		       READ_ONCE(spending->last.boundaries)) ||
	       put_u64(skb, PERFGUARD_A_PROFILE_REPORT_NS, since.telling) ||
	       put_u64(skb, PERFGUARD_A_PROFILE_LAST_REPORT_NS,
		       READ_ONCE(spending->last.telling));
}
