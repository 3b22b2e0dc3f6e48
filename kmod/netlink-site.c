// SPDX-License-Identifier: GPL-2.0

/* Orders about sites; runs like netlink.c. */

#include "netlink.h"

#include "compat.h"
#include "netlink-policy.h"

int pguard_nl_site_add_doit(struct sk_buff *skb, struct genl_info *info)
{
	NL_SET_ERR_MSG(info->extack, "this module cannot probe sites yet");
	return -EOPNOTSUPP;
}

int pguard_nl_site_del_doit(struct sk_buff *skb, struct genl_info *info)
{
	NL_SET_ERR_MSG(info->extack, "this module cannot probe sites yet");
	return -EOPNOTSUPP;
}
