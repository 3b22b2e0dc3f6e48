// SPDX-License-Identifier: GPL-2.0

/* Requests about targets and their processes; see family.c for the context. */

#include "netlink/family.h"

#include "control/control.h"
#include "hook/hook.h"
#include "inline/area.h"
#include "lib/clock.h"
#include "lib/inner-ids.h"
#include "netlink/policy.h"
#include "netlink/request.h"
#include "request/late-report.h"
#include "request/connection.h"
#include "target/image.h"
#include "target/process.h"
#include "target/target-lock.h"
#include "target/thread.h"
#include "unit/unit.h"

#include <linux/fs.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include <linux/perfguard.h>

static int target_new(struct pguard_request *request)
{
	struct nlattr **attrs = request->info.attrs;
	const struct pguard_nl_scope_attrs scope = PGUARD_NL_SCOPE_ATTRS(attrs, TARGET);
	struct pguard_target_spec spec = {
		.owner = request->owner,
		.exe = request->file,
		.pid = pguard_nl_u32(attrs[PERFGUARD_A_TARGET_PID]),
		.flags = pguard_nl_u32(attrs[PERFGUARD_A_TARGET_FLAGS]),
		.threshold_ns = pguard_nl_u64(attrs[PERFGUARD_A_TARGET_THRESHOLD_NS]),
		.calls = pguard_hook_all(PGUARD_HOOK_WAITS),
	};
	struct pguard_target *target;
	int ret = pguard_nl_scope(&request->info, &scope, &spec.scope) ?:
		  pguard_nl_reply_new(request, NLMSG_GOODSIZE) ?: pguard_nl_control_lock();

	if (!ret) {
		ret = pguard_target_new(&spec, &target, request->info.extack);
		mutex_unlock(&pguard_control);
	}
	pguard_scope_put(&spec.scope);
	if (ret)
		return ret;
	ret = nla_put_u32(request->reply, PERFGUARD_A_TARGET_ID, target->id) ?:
	      nla_put_u32(request->reply, PERFGUARD_A_TARGET_PROCESSES,
			  atomic_read(&target->nr_processes));
	pguard_target_unlock(target);
	return ret;
}

int pguard_nl_target_new_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct file *exe = pguard_nl_file(info, info->attrs[PERFGUARD_A_TARGET_EXE_FD]);

	if (IS_ERR(exe))
		return PTR_ERR(exe);
	return pguard_request_queue(skb, info, exe, target_new);
}

static int set_flags(struct pguard_request *request, struct pguard_target *target,
		     struct nlattr *attr)
{
	struct netlink_ext_ack *extack = request->info.extack;
	u32 flags = nla_get_u32(attr), changed = flags ^ READ_ONCE(target->flags);
	int ret;

	/* Nobody would take it off if that socket is closed. */
	if (changed & PERFGUARD_TARGET_FLAGS_OWNED && target->owner != request->owner)
		return pguard_refuse_attr(extack, attr, -EPERM,
					  "another socket made this target, and owns it or not");
	ret = pguard_hold_set_flags(target, flags);
	if (ret)
		NL_SET_ERR_MSG(extack, "the wait calls cannot be hooked");
	return ret;
}

static int set_request_limit(struct pguard_request *request, struct pguard_target *target,
			     struct nlattr *attr)
{
	if (!(READ_ONCE(target->flags) & PERFGUARD_TARGET_FLAGS_REQUESTS))
		return pguard_refuse_attr(request->info.extack, attr, -EINVAL,
					  "the target's requests are not followed");
	pguard_late_report_set_limit(target->connections, nla_get_u64(attr));
	return 0;
}

static int target_set(struct pguard_request *request)
{
	struct nlattr *id = request->info.attrs[PERFGUARD_A_TARGET_ID];
	struct nlattr *flags = request->info.attrs[PERFGUARD_A_TARGET_FLAGS];
	struct nlattr *threshold = request->info.attrs[PERFGUARD_A_TARGET_THRESHOLD_NS];
	struct nlattr *limit = request->info.attrs[PERFGUARD_A_TARGET_REQUEST_LIMIT_NS];
	struct pguard_target *target;
	int ret = pguard_nl_control_lock();

	if (ret)
		return ret;
	target = pguard_target_find(nla_get_u32(id));
	if (!target)
		ret = pguard_refuse_attr(request->info.extack, id, -ENOENT, "no such target");
	if (target && flags)
		ret = set_flags(request, target, flags);
	if (!ret && target && limit)
		ret = set_request_limit(request, target, limit);
	if (!ret && target && threshold) {
		pguard_audit_set_threshold(target->audit, nla_get_u64(threshold));
		pguard_watchdog_start();
	}
	mutex_unlock(&pguard_control);
	return ret;
}

int pguard_nl_target_set_doit(struct sk_buff *skb, struct genl_info *info)
{
	return PGUARD_NL_REQUIRE(info, PERFGUARD_A_TARGET_ID, "which target?") ?:
	       pguard_request_queue(skb, info, NULL, target_set);
}

/* Whether a process watches itself, as one does that measures what guarding costs. */
static bool is_own(const struct pguard_request *request, u32 id)
{
	const struct pguard_target *target;
	bool ret;

	mutex_lock(&pguard_control);
	target = id ? pguard_target_find(id) : NULL;
	ret = target && target->pid == request->pid;
	mutex_unlock(&pguard_control);
	return ret;
}

static int target_del(struct pguard_request *request)
{
	u32 id = pguard_nl_u32(request->info.attrs[PERFGUARD_A_TARGET_ID]);
	bool is_quiet = is_own(request, id);
	int ret = pguard_target_del(id, request->info.extack);

	if (!ret && !is_quiet)
		pguard_request_log(request, "disarmed", id, NULL);
	return ret;
}

int pguard_nl_target_del_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct nlattr *id = info->attrs[PERFGUARD_A_TARGET_ID];

	if (id && !nla_get_u32(id))
		return pguard_refuse_attr(info->extack, id, -EINVAL, "no target has id 0");
	return pguard_request_queue(skb, info, NULL, target_del);
}

/* The sums of exited threads plus those of the present ones. */
static void target_count(const struct pguard_target *target, u64 *units, u64 *waits)
{
	const struct pguard_thread *thread;

	*units = atomic64_read(&target->units);
	*waits = atomic64_read(&target->waits);
	rcu_read_lock();
	list_for_each_entry_rcu(thread, &pguard_all_threads, all)
		if (thread->image->target == target)
			pguard_thread_count(thread, units, waits);
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
	      pguard_nl_put64(skb, PERFGUARD_A_TARGET_INODE, target->inode->i_ino);
	kfree(buf);
	return ret ? -EMSGSIZE : 0;
}

static int fill_pids(struct sk_buff *skb, const struct pguard_scope_pids *pids)
{
	u32 i, nr[PGUARD_MAX_SCOPE_PIDS];

	for (i = 0; i < pids->nr; i++)
		nr[i] = pid_nr(pids->pid[i]);
	return nla_put(skb, PERFGUARD_A_TARGET_SCOPE_PIDS, pids->nr * sizeof(u32), nr);
}

static int fill_scope(struct sk_buff *skb, const struct pguard_scope *scope)
{
	if (uid_valid(scope->uid) &&
	    nla_put_u32(skb, PERFGUARD_A_TARGET_UID, from_kuid(&init_user_ns, scope->uid)))
		return -EMSGSIZE;
	if ((scope->pids && fill_pids(skb, scope->pids)) ||
	    (scope->text && nla_put_string(skb, PERFGUARD_A_TARGET_SCOPE_ARGS, scope->text->text)))
		return -EMSGSIZE;
	if (!scope->cgroup)
		return 0;
	return pguard_nl_put64(skb, PERFGUARD_A_TARGET_CGROUP_ID, cgroup_id(scope->cgroup)) ||
	       nla_put_string(skb, PERFGUARD_A_TARGET_CGROUP, scope->path->text) ? -EMSGSIZE : 0;
}

static int fill_requests(struct sk_buff *skb, const struct pguard_target *target)
{
	const struct pguard_connection_table *table = READ_ONCE(target->connections);

	if (!table)
		return 0;
	return pguard_nl_put64(skb, PERFGUARD_A_TARGET_REQUEST_LIMIT_NS,
			       pguard_clock_ns(READ_ONCE(table->late.limit))) ||
	       pguard_nl_put64(skb, PERFGUARD_A_TARGET_LATE_REQUESTS,
			       atomic64_read(&table->late.number)) ||
	       pguard_nl_put64(skb, PERFGUARD_A_TARGET_STARVED_REQUESTS,
			       atomic64_read(&table->late.starved)) ||
	       pguard_nl_put64(skb, PERFGUARD_A_TARGET_SUPPRESSED_REQUESTS,
			       atomic64_read(&table->late.suppressed));
}

static int fill_inline(struct sk_buff *skb, const struct pguard_target *target)
{
	u32 refusal = READ_ONCE(target->inline_refusal);

	if (!refusal)
		return 0;
	return nla_put_u32(skb, PERFGUARD_A_TARGET_INLINE_REFUSAL, refusal) ?:
	       nla_put_u32(skb, PERFGUARD_A_TARGET_INLINE_REFUSED_PID,
			   READ_ONCE(target->inline_refused_pid));
}

static int fill_target(struct sk_buff *skb, struct pguard_target *target)
{
	u64 units, waits;

	target_count(target, &units, &waits);
	if (nla_put_u32(skb, PERFGUARD_A_TARGET_ID, target->id) ||
	    (target->pid && nla_put_u32(skb, PERFGUARD_A_TARGET_PID, target->pid)) ||
	    nla_put_u32(skb, PERFGUARD_A_TARGET_FLAGS, target->flags) ||
	    pguard_nl_put64(skb, PERFGUARD_A_TARGET_THRESHOLD_NS,
			    pguard_target_threshold(target)) ||
	    nla_put_u32(skb, PERFGUARD_A_TARGET_PROCESSES, atomic_read(&target->nr_processes)) ||
	    nla_put_u32(skb, PERFGUARD_A_TARGET_THREADS, atomic_read(&target->nr_threads)) ||
	    pguard_nl_put64(skb, PERFGUARD_A_TARGET_UNITS, units) ||
	    pguard_nl_put64(skb, PERFGUARD_A_TARGET_WAITS, waits) ||
	    pguard_nl_put64(skb, PERFGUARD_A_TARGET_LATE, atomic64_read(&target->late)) ||
	    pguard_nl_put64(skb, PERFGUARD_A_TARGET_SUPPRESSED,
			    atomic64_read(&target->suppressed)) ||
	    pguard_nl_put64(skb, PERFGUARD_A_TARGET_UNTRACKED,
			    atomic64_read(&target->untracked)) ||
	    pguard_nl_put64(skb, PERFGUARD_A_TARGET_ENDED_THREADS,
			    atomic64_read(&target->ended_threads)) ||
	    nla_put_u32(skb, PERFGUARD_A_TARGET_SITES, target->nr_sites) ||
	    fill_inline(skb, target) || fill_requests(skb, target))
		return -EMSGSIZE;
	return target->inode ? fill_target_exe(skb, target) ?: fill_scope(skb, &target->scope) : 0;
}

/* args[0]: id of the last target in the dump so far. */
int pguard_nl_target_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct pguard_target *target;
	int ret = pguard_nl_dump_lock(skb, cb);

	if (ret)
		return ret;
	list_for_each_entry(target, &pguard_targets, list) {
		if (target->id <= cb->args[0])
			continue;
		ret = PGUARD_NL_DUMP(skb, cb, PERFGUARD_CMD_TARGET_GET, fill_target(skb, target));
		if (ret)
			break;
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

/* Of the threads that a process has; RCU. */
static u64 process_units(const struct task_struct *process)
{
	const struct task_struct *task;
	u64 ret = 0, calls = 0;

	for_each_thread(process, task) {
		const struct pguard_thread *thread = pguard_thread_find(task);

		if (thread)
			pguard_thread_count(thread, &ret, &calls);
	}
	return ret;
}

static int fill_process(struct sk_buff *skb, const struct pguard_process *process)
{
	struct task_struct *task = pid_task(find_pid_ns(process->tgid, &init_pid_ns), PIDTYPE_PID);
	struct pguard_inner_ids inner = { };
	char comm[TASK_COMM_LEN] = "";
	u64 units = 0;

	if (task) {
		get_task_comm(comm, task);
		inner = pguard_inner_ids_of(task);
		units = process_units(task);
	}
	return (inner.pid && nla_put_u32(skb, PERFGUARD_A_PROCESS_NS_PID, inner.pid)) ||
	       nla_put_u32(skb, PERFGUARD_A_PROCESS_PID, process->tgid) ||
	       pguard_nl_put64(skb, PERFGUARD_A_PROCESS_UNITS, units) ||
	       nla_put_u32(skb, PERFGUARD_A_PROCESS_TARGET_ID, process->image->target->id) ||
	       nla_put_u32(skb, PERFGUARD_A_PROCESS_IMAGE_ID, process->image->id) ||
	       nla_put_u32(skb, PERFGUARD_A_PROCESS_JUMPS, pguard_areas_jumps(process->mm)) ||
	       nla_put_string(skb, PERFGUARD_A_PROCESS_COMM, comm);
}

static int dump_process(const struct pguard_process *process, void *argument)
{
	struct process_dump *dump = argument;

	if (dump->target_id && dump->target_id != process->image->target->id)
		return 0;
	return PGUARD_NL_DUMP(dump->skb, dump->cb, PERFGUARD_CMD_PROCESS_GET,
			      fill_process(dump->skb, process));
}

/* args[0], [1]: position in the table of processes. */
int pguard_nl_process_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct process_dump dump = {
		skb, cb, pguard_nl_u32(pguard_dump_attrs(cb)[PERFGUARD_A_PROCESS_TARGET_ID]),
	};

	pguard_process_walk((unsigned long *)cb->args, dump_process, &dump);
	return skb->len;
}
