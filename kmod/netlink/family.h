/* SPDX-License-Identifier: GPL-2.0 */
/* The generic netlink family, see Documentation/netlink/specs/perfguard.yaml. */
#ifndef _KMOD_NETLINK_FAMILY_H
#define _KMOD_NETLINK_FAMILY_H

#include <net/genetlink.h>

struct file;
struct pguard_cost_model;
struct pguard_profile;

extern struct genl_family pguard_nl_family;

/* Helpers of the handlers in *-ops.c. */

/* -EINVAL and a text for a request without an attribute, else 0. */
#define PGUARD_NL_REQUIRE(info_, attr_, text_) ({			\
	int ret_ = 0;							\
	if (GENL_REQ_ATTR_CHECK(info_, attr_)) {			\
		NL_SET_ERR_MSG((info_)->extack, text_);			\
		ret_ = -EINVAL;						\
	}								\
	ret_; })

/* The attribute's value, or 0 without it. */
static inline u32 pguard_nl_u32(const struct nlattr *attr)
{
	return attr ? nla_get_u32(attr) : 0;
}

static inline u64 pguard_nl_u64(const struct nlattr *attr)
{
	return attr ? nla_get_u64(attr) : 0;
}

/* Without an attribute for padding: x86-64 reads a word at any address. */
static inline int pguard_nl_put64(struct sk_buff *skb, int type, u64 value)
{
	return nla_put(skb, type, sizeof(value), &value);
}

int pguard_nl_control_lock(void);
struct file *pguard_nl_file(struct genl_info *info, const struct nlattr *fd);
struct sk_buff *pguard_nl_reply_new(size_t size);
int pguard_nl_reply_send(struct sk_buff *skb, struct genl_info *info, int error,
			 int (*fill)(struct sk_buff *skb, void *argument), void *argument);
int pguard_nl_reply(struct genl_info *info, size_t size,
		    int (*fill)(struct sk_buff *skb, void *argument), void *argument);
void *pguard_nl_dump_put(struct sk_buff *skb, struct netlink_callback *cb, u8 cmd);
int pguard_nl_dump_end(struct sk_buff *skb, void *header, int error);
int pguard_nl_get_budget(struct genl_info *info, u32 *ret_ppm, struct pguard_cost_model *ret);
int pguard_nl_fill_budget(struct sk_buff *skb, const struct pguard_profile *profile);
void pguard_alert_record_notify(void);
void pguard_alert_record_notify_stop(void);

int pguard_netlink_init(void);
void pguard_netlink_deinit(void);

#endif /* _KMOD_NETLINK_FAMILY_H */
