/* SPDX-License-Identifier: GPL-2.0 */
/* The generic netlink family, see Documentation/netlink/specs/perfguard.yaml. */
#ifndef _KMOD_NETLINK_FAMILY_H
#define _KMOD_NETLINK_FAMILY_H

#include <linux/types.h>

struct genl_info;
struct netlink_callback;
struct netlink_ext_ack;
struct pguard_cost_model;
struct pguard_profile;
struct sk_buff;

/* What the handlers in netlink-*.c share. */
int pguard_nl_allowed(struct sk_buff *skb, struct netlink_ext_ack *extack);
int pguard_nl_control_lock(void);
struct sk_buff *pguard_nl_reply_new(size_t size);
int pguard_nl_reply_send(struct sk_buff *skb, struct genl_info *info, int error,
			 int (*fill)(struct sk_buff *skb, void *argument), void *argument);
int pguard_nl_reply(struct genl_info *info, size_t size,
		    int (*fill)(struct sk_buff *skb, void *argument), void *argument);
int pguard_nl_dump_start(struct netlink_callback *cb);
void *pguard_nl_dump_put(struct sk_buff *skb, struct netlink_callback *cb, u8 cmd);
int pguard_nl_get_budget(struct genl_info *info, u32 *ret_ppm, struct pguard_cost_model *ret);
int pguard_nl_fill_budget(struct sk_buff *skb, const struct pguard_profile *profile);

int pguard_netlink_init(void);
void pguard_netlink_deinit(void);

#endif /* _KMOD_NETLINK_FAMILY_H */
