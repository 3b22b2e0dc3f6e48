// SPDX-License-Identifier: GPL-2.0

/*
 * Orders and questions about targets, loops and the module.  The records are
 * in netlink-record.c.
 *
 * Handlers run in parallel (the drain of a target must not hold up other
 * families); pguard_control serializes what has to be.
 */

#include "netlink/family.h"

#include "compat.h"
#include "control/activate.h"
#include "control/target-request.h"
#include "hook/hook.h"
#include "netlink/policy.h"
#include "netlink/record-ops.h"
#include "report/alert-record.h"
#include "report/capture.h"
#include "report/stack-history.h"
#include "target/image.h"
#include "target/process.h"
#include "target/target-lock.h"
#include "target/thread.h"
#include "trainstream/stream.h"
#include "unit/watchdog.h"

#include <linux/file.h>
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/slab.h>

#include <linux/perfguard.h>

/* Stacks of other users' processes are in the answers: not for NET_ADMIN. */
int pguard_nl_allowed(struct sk_buff *skb, struct netlink_ext_ack *extack)
{
	if (netlink_capable(skb, CAP_SYS_ADMIN))
		return 0;
	NL_SET_ERR_MSG(extack, "CAP_SYS_ADMIN is needed");
	return -EPERM;
}

int pguard_nl_control_lock(void)
{
	return mutex_lock_killable(&pguard_control) ? -EINTR : 0;
}

/*
 * Room for the reply to a do request, taken before the order is carried out: one that was is
 * not to be refused for want of memory.
 */
struct sk_buff *pguard_nl_reply_new(size_t size)
{
	return genlmsg_new(size, GFP_KERNEL);
}

/* Answer a do request by a reply that is made by @fill, or by an error; takes over @skb. */
int pguard_nl_reply_send(struct sk_buff *skb, struct genl_info *info, int error,
			 int (*fill)(struct sk_buff *skb, void *argument), void *argument)
{
	void *header;

	if (error) {
		nlmsg_free(skb);
		return error;
	}
	header = genlmsg_put_reply(skb, info, &pguard_nl_family, 0, info->genlhdr->cmd);
	if (!header || fill(skb, argument)) {
		nlmsg_free(skb);
		return -EMSGSIZE;
	}
	genlmsg_end(skb, header);
	return genlmsg_reply(skb, info);
}

/* Both in one, where an order changes nothing, or the size is known only afterwards. */
int pguard_nl_reply(struct genl_info *info, size_t size,
		    int (*fill)(struct sk_buff *skb, void *argument), void *argument)
{
	struct sk_buff *skb = pguard_nl_reply_new(size);

	return skb ? pguard_nl_reply_send(skb, info, 0, fill, argument) : -ENOMEM;
}

struct target_reply {
	u32 id;
	u32 processes;
};

static int fill_target_reply(struct sk_buff *skb, void *argument)
{
	const struct target_reply *answer = argument;

	return nla_put_u32(skb, PERFGUARD_A_TARGET_ID, answer->id) ||
	       nla_put_u32(skb, PERFGUARD_A_TARGET_PROCESSES, answer->processes);
}

int pguard_nl_target_new_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct pguard_target_wish wish = { .portid = info->snd_portid };
	struct nlattr **attrs = info->attrs;
	struct pguard_target *target;
	struct target_reply answer;
	struct sk_buff *reply;
	int ret = pguard_nl_allowed(skb, info->extack);

	if (ret)
		return ret;
	if (attrs[PERFGUARD_A_TARGET_PID])
		wish.pid = nla_get_u32(attrs[PERFGUARD_A_TARGET_PID]);
	if (attrs[PERFGUARD_A_TARGET_FLAGS])
		wish.flags = nla_get_u32(attrs[PERFGUARD_A_TARGET_FLAGS]);
	if (attrs[PERFGUARD_A_TARGET_THRESHOLD_NS])
		wish.threshold_ns = nla_get_u64(attrs[PERFGUARD_A_TARGET_THRESHOLD_NS]);
	if (attrs[PERFGUARD_A_TARGET_EXE_FD]) {
		wish.exe = fget(nla_get_u32(attrs[PERFGUARD_A_TARGET_EXE_FD]));
		if (!wish.exe) {
			NL_SET_ERR_MSG_ATTR(info->extack, attrs[PERFGUARD_A_TARGET_EXE_FD],
					    "not an open file of the sender");
			return -EBADF;
		}
	}
	reply = pguard_nl_reply_new(NLMSG_GOODSIZE);
	ret = reply ? pguard_nl_control_lock() : -ENOMEM;
	if (!ret) {
		ret = pguard_target_new(&wish, &target, info->extack);
		mutex_unlock(&pguard_control);
	}
	if (wish.exe)
		fput(wish.exe);
	if (!ret) {
		answer.id = target->id;
		answer.processes = atomic_read(&target->nr_processes);
		pguard_turn_give(target);
	}
	return pguard_nl_reply_send(reply, info, ret, fill_target_reply, &answer);
}

int pguard_nl_target_set_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct nlattr **attrs = info->attrs;
	struct pguard_target *target;
	int ret = pguard_nl_allowed(skb, info->extack);

	if (ret)
		return ret;
	if (GENL_REQ_ATTR_CHECK(info, PERFGUARD_A_TARGET_ID)) {
		NL_SET_ERR_MSG(info->extack, "which target?");
		return -EINVAL;
	}
	ret = pguard_nl_control_lock();
	if (ret)
		return ret;
	target = pguard_target_find(nla_get_u32(attrs[PERFGUARD_A_TARGET_ID]));
	if (!target) {
		NL_SET_ERR_MSG_ATTR(info->extack, attrs[PERFGUARD_A_TARGET_ID],
				    "no such target");
		ret = -ENOENT;
		goto unlock;
	}
	if (attrs[PERFGUARD_A_TARGET_FLAGS]) {
		WRITE_ONCE(target->flags, nla_get_u32(attrs[PERFGUARD_A_TARGET_FLAGS]));
		/* The short way takes them for what they were when it was taken first. */
		pguard_target_unsettle(target);
	}
	if (attrs[PERFGUARD_A_TARGET_THRESHOLD_NS]) {
		pguard_audit_set_threshold(target->audit,
					   nla_get_u64(attrs[PERFGUARD_A_TARGET_THRESHOLD_NS]));
		pguard_watch_start();
	}
unlock:
	mutex_unlock(&pguard_control);
	return ret;
}

int pguard_nl_target_del_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct nlattr *id = info->attrs[PERFGUARD_A_TARGET_ID];
	int ret = pguard_nl_allowed(skb, info->extack);

	if (ret)
		return ret;
	if (id && !nla_get_u32(id)) {
		NL_SET_ERR_MSG_ATTR(info->extack, id, "no target has id 0");
		return -EINVAL;
	}
	return pguard_target_del(id ? nla_get_u32(id) : 0, info->extack);
}

/* What the threads alive add to the sums of those that were. */
static void target_count(const struct pguard_target *target, u64 *units, u64 *waits)
{
	const struct pguard_task *state;

	*units = atomic64_read(&target->units);
	*waits = atomic64_read(&target->waits);
	rcu_read_lock();
	list_for_each_entry_rcu(state, &pguard_all_tasks, all)
		if (state->image->target == target)
			pguard_task_count(state, units, waits);
	rcu_read_unlock();
}

static int fill_target_exe(struct sk_buff *skb, struct pguard_target *target)
{
	char *buf, *path;
	int ret = -ENOMEM;

	buf = kmalloc(PATH_MAX, GFP_KERNEL | __GFP_NOWARN);
	if (!buf)
		return ret;
	path = d_path(&target->path, buf, PATH_MAX);
	ret = (!IS_ERR(path) && nla_put_string(skb, PERFGUARD_A_TARGET_PATH, path)) ||
	      nla_put_u32(skb, PERFGUARD_A_TARGET_DEV,
			  new_encode_dev(target->inode->i_sb->s_dev)) ||
	      nla_put_u64_64bit(skb, PERFGUARD_A_TARGET_INODE, target->inode->i_ino,
				PERFGUARD_A_TARGET_PAD);
	kfree(buf);
	return ret ? -EMSGSIZE : 0;
}

static int fill_target(struct sk_buff *skb, struct pguard_target *target)
{
	u64 units, waits;

	target_count(target, &units, &waits);
	if (nla_put_u32(skb, PERFGUARD_A_TARGET_ID, target->id) ||
	    (target->pid && nla_put_u32(skb, PERFGUARD_A_TARGET_PID, target->pid)) ||
	    nla_put_u32(skb, PERFGUARD_A_TARGET_FLAGS, target->flags) ||
	    nla_put_u64_64bit(skb, PERFGUARD_A_TARGET_THRESHOLD_NS,
			      pguard_target_threshold(target), PERFGUARD_A_TARGET_PAD) ||
	    nla_put_u32(skb, PERFGUARD_A_TARGET_PROCESSES,
			atomic_read(&target->nr_processes)) ||
	    nla_put_u32(skb, PERFGUARD_A_TARGET_THREADS, atomic_read(&target->nr_threads)) ||
	    nla_put_u64_64bit(skb, PERFGUARD_A_TARGET_UNITS, units,
			      PERFGUARD_A_TARGET_PAD) ||
	    nla_put_u64_64bit(skb, PERFGUARD_A_TARGET_WAITS, waits,
			      PERFGUARD_A_TARGET_PAD) ||
	    nla_put_u64_64bit(skb, PERFGUARD_A_TARGET_LATE, atomic64_read(&target->late),
			      PERFGUARD_A_TARGET_PAD) ||
	    nla_put_u64_64bit(skb, PERFGUARD_A_TARGET_SUPPRESSED,
			      atomic64_read(&target->suppressed), PERFGUARD_A_TARGET_PAD) ||
	    nla_put_u64_64bit(skb, PERFGUARD_A_TARGET_UNTRACKED,
			      atomic64_read(&target->untracked), PERFGUARD_A_TARGET_PAD) ||
	    nla_put_u32(skb, PERFGUARD_A_TARGET_SITES, target->nr_sites))
		return -EMSGSIZE;
	return target->inode ? fill_target_exe(skb, target) : 0;
}

/* Every dump begins here. */
int pguard_nl_dump_start(struct netlink_callback *cb)
{
	int ret = pguard_nl_allowed(cb->skb, cb->extack);

	/* Room for the largest message: a loop with its histogram. */
	cb->min_dump_alloc = max_t(u32, cb->min_dump_alloc, 16 * 1024);
	return ret;
}

void *pguard_nl_dump_put(struct sk_buff *skb, struct netlink_callback *cb, u8 cmd)
{
	return genlmsg_put(skb, NETLINK_CB(cb->skb).portid, cb->nlh->nlmsg_seq,
			   &pguard_nl_family, NLM_F_MULTI, cmd);
}

int pguard_nl_target_get_start(struct netlink_callback *cb)
{
	return pguard_nl_dump_start(cb);
}

int pguard_nl_target_get_done(struct netlink_callback *cb)
{
	return 0;
}

/* args[0]: id of the last target told. */
int pguard_nl_target_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct pguard_target *target;
	void *header;
	int ret;

	ret = pguard_nl_control_lock();
	if (ret)
		return ret;
	list_for_each_entry(target, &pguard_targets, list) {
		if (target->id <= cb->args[0])
			continue;
		header = pguard_nl_dump_put(skb, cb, PERFGUARD_CMD_TARGET_GET);
		ret = header ? fill_target(skb, target) : -EMSGSIZE;
		if (ret) {
			if (header)
				genlmsg_cancel(skb, header);
			break;
		}
		genlmsg_end(skb, header);
		cb->args[0] = target->id;
	}
	mutex_unlock(&pguard_control);
	/* An empty buffer would be the end. */
	return ret == -ENOMEM && !skb->len ? ret : skb->len;
}

struct process_dump {
	struct sk_buff *skb;
	struct netlink_callback *cb;
	u32 target_id;
};

static int dump_process(const struct pguard_process *process, void *argument)
{
	struct process_dump *dump = argument;
	const struct pguard_image *image = process->image;
	struct task_struct *task;
	char comm[TASK_COMM_LEN] = "";
	void *header;

	if (dump->target_id && dump->target_id != image->target->id)
		return 0;
	header = pguard_nl_dump_put(dump->skb, dump->cb, PERFGUARD_CMD_PROCESS_GET);
	if (!header)
		return -EMSGSIZE;
	task = pid_task(find_pid_ns(process->tgid, &init_pid_ns), PIDTYPE_PID);
	if (task)
		get_task_comm(comm, task);
	if (nla_put_u32(dump->skb, PERFGUARD_A_PROCESS_PID, process->tgid) ||
	    nla_put_u32(dump->skb, PERFGUARD_A_PROCESS_TARGET_ID, image->target->id) ||
	    nla_put_u32(dump->skb, PERFGUARD_A_PROCESS_IMAGE_ID, image->id) ||
	    nla_put_string(dump->skb, PERFGUARD_A_PROCESS_COMM, comm)) {
		genlmsg_cancel(dump->skb, header);
		return -EMSGSIZE;
	}
	genlmsg_end(dump->skb, header);
	return 0;
}

int pguard_nl_process_get_start(struct netlink_callback *cb)
{
	struct nlattr *id = pguard_dump_attrs(cb)[PERFGUARD_A_PROCESS_TARGET_ID];

	cb->args[2] = id ? nla_get_u32(id) : 0;
	return pguard_nl_dump_start(cb);
}

int pguard_nl_process_get_done(struct netlink_callback *cb)
{
	return 0;
}

/* args[0], [1]: position of the walk; [2]: the target asked for. */
int pguard_nl_process_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct process_dump dump = { skb, cb, cb->args[2] };

	pguard_process_walk((unsigned long *)cb->args, dump_process, &dump);
	return skb->len;
}

static int fill_hook(struct sk_buff *skb, const struct pguard_hook_info *hook)
{
	struct nlattr *nest = nla_nest_start(skb, PERFGUARD_A_STATS_HOOK);

	if (!nest || nla_put_u32(skb, PERFGUARD_A_HOOK_SYSCALL, hook->syscall) ||
	    nla_put_string(skb, PERFGUARD_A_HOOK_NAME, hook->name) ||
	    (hook->direct && nla_put_flag(skb, PERFGUARD_A_HOOK_DIRECT)) ||
	    nla_put_u64_64bit(skb, PERFGUARD_A_HOOK_MISSED, hook->missed,
			      PERFGUARD_A_HOOK_PAD))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

/* A word another CPU changes under the ring's lock; a stale one does no harm. */
static int fill_stats(struct sk_buff *skb, void *unused)
{
	struct pguard_hook_info hook;
	struct pguard_target *target;
	u32 position = 0, targets = 0, sites = 0;

	list_for_each_entry(target, &pguard_targets, list) {
		targets++;
		sites += target->nr_sites;
	}
	if (nla_put_u32(skb, PERFGUARD_A_STATS_TARGETS, targets) ||
	    nla_put_u32(skb, PERFGUARD_A_STATS_THREADS, atomic_read(&pguard_nr_tasks)) ||
	    nla_put_u32(skb, PERFGUARD_A_STATS_ALIVE, pguard_hook_alive()) ||
	    nla_put_u64_64bit(skb, PERFGUARD_A_STATS_NEXT_ALERT,
			      READ_ONCE(pguard_alerts.next_seq), PERFGUARD_A_STATS_PAD) ||
	    nla_put_u64_64bit(skb, PERFGUARD_A_STATS_NEXT_WAIT,
			      READ_ONCE(pguard_waits.next_seq), PERFGUARD_A_STATS_PAD) ||
	    nla_put_u64_64bit(skb, PERFGUARD_A_STATS_LOST_MEMORY,
			      atomic64_read(&pguard_lost_memory), PERFGUARD_A_STATS_PAD) ||
	    nla_put_u64_64bit(skb, PERFGUARD_A_STATS_LOST_OVERWRITTEN,
			      READ_ONCE(pguard_alerts.overwritten), PERFGUARD_A_STATS_PAD) ||
	    nla_put_u64_64bit(skb, PERFGUARD_A_STATS_TORN_STACKS, pguard_capture_torn(),
			      PERFGUARD_A_STATS_PAD) ||
	    nla_put_u32(skb, PERFGUARD_A_STATS_RING_BYTES,
			READ_ONCE(pguard_alerts.bytes) + READ_ONCE(pguard_waits.bytes)) ||
	    nla_put_u32(skb, PERFGUARD_A_STATS_SITES, sites) ||
	    nla_put_u64_64bit(skb, PERFGUARD_A_STATS_STREAM_LOST, pguard_stream_lost(),
			      PERFGUARD_A_STATS_PAD) ||
	    nla_put_u64_64bit(skb, PERFGUARD_A_STATS_CROWDED_STACKS, pguard_samples_refused(),
			      PERFGUARD_A_STATS_PAD))
		return -EMSGSIZE;
	while (pguard_hook_next(&position, &hook))
		if (fill_hook(skb, &hook))
			return -EMSGSIZE;
	return 0;
}

int pguard_nl_stats_get_doit(struct sk_buff *skb, struct genl_info *info)
{
	int ret = pguard_nl_allowed(skb, info->extack);

	if (!ret)
		ret = pguard_nl_control_lock();
	if (ret)
		return ret;
	ret = pguard_nl_reply(info, NLMSG_GOODSIZE, fill_stats, NULL);
	mutex_unlock(&pguard_control);
	return ret;
}

/* The two record dumps only differ in their ring. */
int pguard_nl_alert_get_start(struct netlink_callback *cb)
{
	return pguard_record_dump_start(cb) ?: pguard_nl_dump_start(cb);
}

int pguard_nl_alert_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	return pguard_record_dump(&pguard_alerts, PERFGUARD_CMD_ALERT_GET, skb, cb);
}

int pguard_nl_alert_get_done(struct netlink_callback *cb)
{
	return pguard_record_dump_done(cb);
}

int pguard_nl_wait_get_start(struct netlink_callback *cb)
{
	return pguard_record_dump_start(cb) ?: pguard_nl_dump_start(cb);
}

int pguard_nl_wait_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	return pguard_record_dump(&pguard_waits, PERFGUARD_CMD_WAIT_GET, skb, cb);
}

int pguard_nl_wait_get_done(struct netlink_callback *cb)
{
	return pguard_record_dump_done(cb);
}

struct genl_family pguard_nl_family __ro_after_init = {
	.name = PERFGUARD_FAMILY_NAME,
	.version = PERFGUARD_FAMILY_VERSION,
	.parallel_ops = true,
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
	    net_eq(notify->net, &init_net)) {
		pguard_target_orphan(notify->portid);
		pguard_arming_orphan(notify->portid);
	}
	return NOTIFY_DONE;
}

static struct notifier_block notifier = { .notifier_call = netlink_event };

int __init pguard_netlink_init(void)
{
	int ret = netlink_register_notifier(&notifier);

	if (ret)
		return ret;
	ret = genl_register_family(&pguard_nl_family);
	if (ret) {
		netlink_unregister_notifier(&notifier);
		return ret;
	}
	pguard_alerts.wake = pguard_record_ring_bell;
	return 0;
}

void pguard_netlink_deinit(void)
{
	pguard_alerts.wake = NULL;
	pguard_record_silence();
	genl_unregister_family(&pguard_nl_family);
	netlink_unregister_notifier(&notifier);
}
