/* SPDX-License-Identifier: GPL-2.0 */
/* Made by scripts/spec-header from Documentation/netlink/specs/perfguard.yaml; do not edit. */

#ifndef _KMOD_NETLINK_POLICY_H
#define _KMOD_NETLINK_POLICY_H

#include <net/genetlink.h>

enum {
	PGUARD_NL_MCGRP_ALERTS,
	PGUARD_NL_MCGRPS
};

#define PGUARD_NL_OPS	19

extern const struct genl_ops pguard_nl_ops[PGUARD_NL_OPS];
extern const struct genl_multicast_group pguard_nl_mcgrps[PGUARD_NL_MCGRPS];

int pguard_nl_target_new_doit(struct sk_buff *skb, struct genl_info *info);
int pguard_nl_target_set_doit(struct sk_buff *skb, struct genl_info *info);
int pguard_nl_target_del_doit(struct sk_buff *skb, struct genl_info *info);
int pguard_nl_target_get_start(struct netlink_callback *cb);
int pguard_nl_target_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb);
int pguard_nl_target_get_done(struct netlink_callback *cb);
int pguard_nl_process_get_start(struct netlink_callback *cb);
int pguard_nl_process_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb);
int pguard_nl_process_get_done(struct netlink_callback *cb);
int pguard_nl_loop_set_doit(struct sk_buff *skb, struct genl_info *info);
int pguard_nl_loop_get_start(struct netlink_callback *cb);
int pguard_nl_loop_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb);
int pguard_nl_loop_get_done(struct netlink_callback *cb);
int pguard_nl_alert_get_start(struct netlink_callback *cb);
int pguard_nl_alert_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb);
int pguard_nl_alert_get_done(struct netlink_callback *cb);
int pguard_nl_wait_get_start(struct netlink_callback *cb);
int pguard_nl_wait_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb);
int pguard_nl_wait_get_done(struct netlink_callback *cb);
int pguard_nl_stats_get_doit(struct sk_buff *skb, struct genl_info *info);
int pguard_nl_site_add_doit(struct sk_buff *skb, struct genl_info *info);
int pguard_nl_site_del_doit(struct sk_buff *skb, struct genl_info *info);
int pguard_nl_profile_new_doit(struct sk_buff *skb, struct genl_info *info);
int pguard_nl_profile_add_doit(struct sk_buff *skb, struct genl_info *info);
int pguard_nl_profile_arm_doit(struct sk_buff *skb, struct genl_info *info);
int pguard_nl_profile_get_start(struct netlink_callback *cb);
int pguard_nl_profile_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb);
int pguard_nl_profile_get_done(struct netlink_callback *cb);
int pguard_nl_guard_get_start(struct netlink_callback *cb);
int pguard_nl_guard_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb);
int pguard_nl_guard_get_done(struct netlink_callback *cb);
int pguard_nl_type_get_start(struct netlink_callback *cb);
int pguard_nl_type_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb);
int pguard_nl_type_get_done(struct netlink_callback *cb);
int pguard_nl_profile_del_doit(struct sk_buff *skb, struct genl_info *info);

#endif /* _KMOD_NETLINK_POLICY_H */
