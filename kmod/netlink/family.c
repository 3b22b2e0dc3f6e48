// SPDX-License-Identifier: GPL-2.0

/*
 * The family, and the helpers of its handlers.
 *
 * Handlers of dumps run in the reader, in parallel; each do request is carried out
 * by a worker (request.c).  pguard_control serializes what has to be.
 */

#include "netlink/family.h"

#include "netlink/policy.h"
#include "netlink/request.h"
#include "report/alert-record.h"
#include "target/image.h"
#include "target/scope.h"

#include <linux/file.h>
#include <linux/module.h>

#include <linux/perfguard.h>

/* Answers contain stacks of other users' processes: CAP_NET_ADMIN is not enough. */
static int check_capable(struct sk_buff *skb, struct netlink_ext_ack *extack)
{
	if (netlink_capable(skb, CAP_SYS_ADMIN))
		return 0;
	return pguard_refuse(extack, -EPERM, "CAP_SYS_ADMIN is needed");
}

static int pre_doit(const struct genl_split_ops *ops, struct sk_buff *skb, struct genl_info *info)
{
	return check_capable(skb, info->extack);
}

/*
 * Take pguard_control for a request.  A worker is not killed, but the kernel reports other
 * sleeps if they are long.
 */
int pguard_nl_control_lock(void)
{
	return mutex_lock_killable(&pguard_control) ? -EINTR : 0;
}

/*
 * Take pguard_control for a dump, unless the return value is nonzero, which is the dump's then.
 * The first buffer is made inside of generic netlink's lock, in which nobody may wait for long;
 * so it is left without meaning if somebody else has pguard_control.
 */
int pguard_nl_dump_lock(struct sk_buff *skb, struct netlink_callback *cb)
{
	long *is_next = &cb->args[PGUARD_NL_ARG_IS_NEXT];

	if (mutex_trylock(&pguard_control))
		return 0;
	if (*is_next)
		return pguard_nl_control_lock();
	*is_next = true;
	nlmsg_put(skb, NETLINK_CB(cb->skb).portid, cb->nlh->nlmsg_seq, NLMSG_NOOP, 0, NLM_F_MULTI);
	return skb->len;
}

/* The open file of current, the sender, referenced; NULL without the attribute @fd. */
struct file *pguard_nl_file(struct genl_info *info, const struct nlattr *fd)
{
	struct file *ret = fd ? fget(nla_get_u32(fd)) : NULL;

	if (!fd || ret)
		return ret;
	return ERR_PTR(pguard_refuse_attr(info->extack, fd, -EBADF,
					  "not an open file of the sender"));
}

static int scope_cgroup(struct genl_info *info, const struct nlattr *attr,
			struct pguard_scope *scope)
{
	struct cgroup *cgroup;

	if (!attr)
		return 0;
	cgroup = cgroup_get_from_id(nla_get_u64(attr));
	if (IS_ERR(cgroup))
		return pguard_refuse_attr(info->extack, attr, PTR_ERR(cgroup),
					  "no cgroup (version 2) has this id");
	return pguard_scope_set_cgroup(scope, cgroup);
}

static int scope_uid(struct genl_info *info, const struct nlattr *attr,
		     struct pguard_scope *scope)
{
	if (!attr)
		return 0;
	scope->uid = make_kuid(&init_user_ns, nla_get_u32(attr));
	if (uid_valid(scope->uid))
		return 0;
	return pguard_refuse_attr(info->extack, attr, -EINVAL, "not a user id");
}

static int scope_pids(struct genl_info *info, const struct nlattr *attr,
		      struct pguard_scope *scope)
{
	u32 nr = attr ? nla_len(attr) / sizeof(u32) : 0;
	int ret;

	if (!attr)
		return 0;
	if (!nr || nr > PGUARD_MAX_SCOPE_PIDS)
		return pguard_refuse_attr(info->extack, attr, -EINVAL, "from 1 to 64 processes");
	ret = pguard_scope_set_pids(scope, nla_data(attr), nr);
	if (ret == -ESRCH)
		return pguard_refuse_attr(info->extack, attr, ret, "no process with this id");
	return ret;
}

static int scope_text(struct genl_info *info, const struct nlattr *attr,
		      struct pguard_scope *scope)
{
	if (!attr)
		return 0;
	if (!*(const char *)nla_data(attr))
		return pguard_refuse_attr(info->extack, attr, -EINVAL, "every process has that");
	return pguard_scope_set_text(scope, nla_data(attr));
}

/**
 * pguard_nl_scope() - the scope of a request
 * @info: the request
 * @attrs: its limits
 * @ret: the scope, with references for the caller, also after an error
 *
 * Context: may sleep.
 * Return: 0 or an error.
 */
int pguard_nl_scope(struct genl_info *info, const struct pguard_nl_scope_attrs *attrs,
		    struct pguard_scope *ret)
{
	*ret = (struct pguard_scope){ .uid = INVALID_UID };
	return scope_uid(info, attrs->uid, ret) ?: scope_cgroup(info, attrs->cgroup_id, ret) ?:
	       scope_pids(info, attrs->pids, ret) ?: scope_text(info, attrs->text, ret);
}

/*
 * Begin the reply to a request, with room for attributes of @size bytes; before the request is
 * executed: it must not fail for lack of memory afterwards.
 */
int pguard_nl_reply_new(struct pguard_request *request, size_t size)
{
	struct genl_info *info = &request->info;

	request->reply = genlmsg_new(size, GFP_KERNEL);
	if (!request->reply)
		return -ENOMEM;
	genlmsg_put_reply(request->reply, info, &pguard_nl_family, 0, info->genlhdr->cmd);
	return 0;
}

/* The start of each dump. */
int pguard_nl_dump_start(struct netlink_callback *cb)
{
	/* Room for the largest message: a loop with its histogram. */
	cb->min_dump_alloc = max_t(u32, cb->min_dump_alloc, 16 * 1024);
	return check_capable(cb->skb, cb->extack);
}

void *pguard_nl_dump_put(struct sk_buff *skb, struct netlink_callback *cb, u8 cmd)
{
	return genlmsg_put(skb, NETLINK_CB(cb->skb).portid, cb->nlh->nlmsg_seq,
			   &pguard_nl_family, NLM_F_MULTI, cmd);
}

/* Complete a message of a dump, or remove it for an error, which is returned. */
int pguard_nl_dump_end(struct sk_buff *skb, void *header, int error)
{
	if (error)
		genlmsg_cancel(skb, header);
	else
		genlmsg_end(skb, header);
	return error;
}

struct genl_family pguard_nl_family __ro_after_init = {
	.name = PERFGUARD_FAMILY_NAME,
	.version = PERFGUARD_FAMILY_VERSION,
	.parallel_ops = true,
	.pre_doit = pre_doit,
	.module = THIS_MODULE,
	.ops = pguard_nl_ops,
	.n_ops = PGUARD_NL_OPS,
	.mcgrps = pguard_nl_mcgrps,
	.n_mcgrps = PGUARD_NL_MCGRPS,
};

static int netlink_event(struct notifier_block *block, unsigned long event, void *data)
{
	const struct netlink_notify *notify = data;

	if (event == NETLINK_URELEASE && notify->protocol == NETLINK_GENERIC &&
	    net_eq(notify->net, &init_net))
		pguard_request_release();
	return NOTIFY_DONE;
}

static struct notifier_block notifier = { .notifier_call = netlink_event };

int __init pguard_netlink_init(void)
{
	int ret = pguard_request_init();

	if (ret)
		return ret;
	ret = netlink_register_notifier(&notifier);
	if (ret)
		goto err_request;
	ret = genl_register_family(&pguard_nl_family);
	if (ret)
		goto err_notifier;
	pguard_alerts.wake = pguard_alert_record_notify;
	return 0;

err_notifier:
	netlink_unregister_notifier(&notifier);
err_request:
	pguard_request_deinit();
	return ret;
}

void pguard_netlink_deinit(void)
{
	pguard_alerts.wake = NULL;
	pguard_alert_record_notify_stop();
	genl_unregister_family(&pguard_nl_family);
	netlink_unregister_notifier(&notifier);
	pguard_request_deinit();
}
