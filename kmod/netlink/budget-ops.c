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

static u32 get_u32(const struct nlattr *attr)
{
	return attr ? nla_get_u32(attr) : 0;
}

/* A hit is an exception, which takes any processor longer: a lower price was not measured. */
enum { LEAST_HIT_NS = 50 };

static u32 least_hit(const struct pguard_prices *prices)
{
	return min3(prices->hit[PERFGUARD_GUARD_WAY_KERNEL],
		    prices->hit[PERFGUARD_GUARD_WAY_MODULE],
		    prices->hit[PERFGUARD_GUARD_WAY_STEPPED]);
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

	*ret = (struct pguard_prices){
		.ppm = get_u32(budget),
		.hit[PERFGUARD_GUARD_WAY_KERNEL] = get_u32(attrs[PERFGUARD_A_PROFILE_KERNEL_HIT_NS]),
		.hit[PERFGUARD_GUARD_WAY_MODULE] = get_u32(attrs[PERFGUARD_A_PROFILE_MODULE_HIT_NS]),
		.hit[PERFGUARD_GUARD_WAY_STEPPED] = get_u32(attrs[PERFGUARD_A_PROFILE_STEPPED_HIT_NS]),
		.call = get_u32(attrs[PERFGUARD_A_PROFILE_CALL_NS]),
		.unit = get_u32(attrs[PERFGUARD_A_PROFILE_UNIT_NS]),
		.assumed = get_u32(attrs[PERFGUARD_A_PROFILE_ASSUMED_PRICES]),
	};
	if (!budget)
		return 0;
	if (!least_hit(ret) || !ret->call || !ret->unit) {
		NL_SET_ERR_MSG_ATTR(info->extack, budget,
				    "a budget needs the prices of hits, calls and units");
		return -EINVAL;
	}
	if (least_hit(ret) < LEAST_HIT_NS) {
		NL_SET_ERR_MSG_ATTR(info->extack, budget,
				    "no hit takes less than 50 ns: measure the prices again");
		return -EINVAL;
	}
	return 0;
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
			   prices->hit[PERFGUARD_GUARD_WAY_KERNEL]) ||
	       nla_put_u32(skb, PERFGUARD_A_PROFILE_MODULE_HIT_NS,
			   prices->hit[PERFGUARD_GUARD_WAY_MODULE]) ||
	       nla_put_u32(skb, PERFGUARD_A_PROFILE_STEPPED_HIT_NS,
			   prices->hit[PERFGUARD_GUARD_WAY_STEPPED]) ||
	       nla_put_u32(skb, PERFGUARD_A_PROFILE_CALL_NS, prices->call) ||
	       nla_put_u32(skb, PERFGUARD_A_PROFILE_UNIT_NS, prices->unit) ||
	       nla_put_u32(skb, PERFGUARD_A_PROFILE_ASSUMED_PRICES, prices->assumed) ||
	       put_u64(skb, PERFGUARD_A_PROFILE_CPU_NS, since.cpu) ||
	       put_u64(skb, PERFGUARD_A_PROFILE_CHECK_NS, since.check) ||
	       put_u64(skb, PERFGUARD_A_PROFILE_GUARDS_NS, since.guards) ||
	       put_u64(skb, PERFGUARD_A_PROFILE_BOUNDARIES_NS, since.boundaries) ||
	       put_u64(skb, PERFGUARD_A_PROFILE_LAST_CPU_NS, READ_ONCE(spending->last.cpu)) ||
	       put_u64(skb, PERFGUARD_A_PROFILE_LAST_GUARDS_NS,
		       READ_ONCE(spending->last.guards)) ||
	       put_u64(skb, PERFGUARD_A_PROFILE_LAST_BOUNDARIES_NS,
		       READ_ONCE(spending->last.boundaries)) ||
	       put_u64(skb, PERFGUARD_A_PROFILE_TELLING_NS, since.telling) ||
	       put_u64(skb, PERFGUARD_A_PROFILE_LAST_TELLING_NS,
		       READ_ONCE(spending->last.telling));
}
