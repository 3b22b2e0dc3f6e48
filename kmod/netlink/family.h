/* SPDX-License-Identifier: GPL-2.0 */
/* The generic netlink family, see Documentation/netlink/specs/perfguard.yaml. */
#ifndef _KMOD_NETLINK_FAMILY_H
#define _KMOD_NETLINK_FAMILY_H

#include "lib/refuse.h"

#include <net/genetlink.h>

struct file;
struct pguard_request;
struct pguard_scope;
struct pguard_slow_request;
struct pguard_socket_name;

extern struct genl_family pguard_nl_family;

/* Helpers of the handlers in *-ops.c. */

/* Of a scope; NULL: not limited by that. */
struct pguard_nl_scope_attrs {
	const struct nlattr *cgroup_id;
	const struct nlattr *uid;	/* in the initial user namespace */
	const struct nlattr *pids;
	const struct nlattr *text;
};

/* Those of a request by their set, TARGET or PROFILE. */
#define PGUARD_NL_SCOPE_ATTRS(attrs_, set_) {				\
	.cgroup_id = (attrs_)[PERFGUARD_A_##set_##_CGROUP_ID],		\
	.uid = (attrs_)[PERFGUARD_A_##set_##_UID],			\
	.pids = (attrs_)[PERFGUARD_A_##set_##_SCOPE_PIDS],		\
	.text = (attrs_)[PERFGUARD_A_##set_##_SCOPE_ARGS],		\
}

/* The last of cb->args is not the dump's own: see pguard_nl_dump_lock(). */
enum { PGUARD_NL_ARG_IS_NEXT = 5 };

/* -EINVAL and a text for a request without an attribute, else 0. */
#define PGUARD_NL_REQUIRE(info_, attr_, text_) \
	(GENL_REQ_ATTR_CHECK(info_, attr_) ? pguard_refuse((info_)->extack, -EINVAL, text_) : 0)

/* Add a message to a dump; @fill_ puts its attributes.  Nonzero if there is no room. */
#define PGUARD_NL_DUMP(skb_, cb_, cmd_, fill_) ({				\
	void *header_ = pguard_nl_dump_put(skb_, cb_, cmd_);			\
	pguard_nl_dump_end(skb_, header_, header_ ? (fill_) : -EMSGSIZE); })

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

int pguard_nl_put_slow_request(struct sk_buff *skb, int attr,
			       const struct pguard_slow_request *slow,
			       const struct pguard_socket_name *peer_name);
int pguard_nl_control_lock(void);
int pguard_nl_dump_lock(struct sk_buff *skb, struct netlink_callback *cb);
struct file *pguard_nl_file(struct genl_info *info, const struct nlattr *fd);
int pguard_nl_scope(struct genl_info *info, const struct pguard_nl_scope_attrs *attrs,
		    struct pguard_scope *ret);
int pguard_nl_reply_new(struct pguard_request *request, size_t size);
void *pguard_nl_dump_put(struct sk_buff *skb, struct netlink_callback *cb, u8 cmd);
int pguard_nl_dump_end(struct sk_buff *skb, void *header, int error);
void pguard_alert_record_notify(void);
void pguard_alert_record_notify_stop(void);

int pguard_netlink_init(void);
void pguard_netlink_deinit(void);

#endif /* _KMOD_NETLINK_FAMILY_H */
