// SPDX-License-Identifier: GPL-2.0

/*
 * The first target puts hooks and probes on, the last one takes them off; a
 * target holds a reference to the module.  Order of going, each step relying
 * on the one before:
 *
 *   1. dying is set and the target leaves the list: no exec matches it
 *   2. its sites' probes go
 *   3. its processes go: the stub passes their threads
 *   4. with the last target: tracepoint probes, hooks and the watch go
 *   5. its threads' states go, then its profile, and the threads are sent out
 *      of the hooked calls; what cannot leave just now is waited for by a work
 *   6. when the last thread is out: the path, the module
 *
 * Locks, outermost first: pguard_control, leaving_lock (mutexes),
 * pguard_images_lock, pguard_tasks_lock, pguard_task.lock, pguard_ring.lock
 * (spinlocks; never taken in interrupts).
 */

#include "target.h"

#include "capture.h"
#include "compat.h"
#include "drain.h"
#include "governor.h"
#include "hook.h"
#include "image.h"
#include "life.h"
#include "probes.h"
#include "process.h"
#include "profile.h"
#include "record.h"
#include "watch.h"

#include <linux/delay.h>
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/slab.h>

static u32 nr_targets;

enum {
	LEAVING_PATIENCE = HZ,	/* how long an order waits for threads */
	LEAVING_PERIOD = HZ / 10,
};

/* Targets that are gone but for threads that sleep where nothing wakes them. */
static LIST_HEAD(leaving);
static DEFINE_MUTEX(leaving_lock);	/* guards that list; inside pguard_control */
static void leaving_work(struct work_struct *work);
static DECLARE_DELAYED_WORK(leaving_dwork, leaving_work);

static void orphan_work(struct work_struct *work);
static DECLARE_WORK(orphans, orphan_work);

/* Does the task execute this inode?  Its task_lock is held. */
static bool task_executes(struct task_struct *task, const struct inode *inode)
{
	struct file *exe;
	bool ret = false;

	rcu_read_lock();
	exe = rcu_dereference(task->mm->exe_file);
	if (exe)
		ret = d_real_inode(exe->f_path.dentry) == inode;
	rcu_read_unlock();
	return ret;
}

/*
 * Add a process that runs.  Asks a thread that still has its memory (the
 * leader may be gone while others live).  Caller holds RCU.
 */
static int add_process(struct pguard_target *target, struct task_struct *process)
{
	struct task_struct *thread;
	int ret = -ESRCH;

	for_each_thread(process, thread) {
		bool asked;

		task_lock(thread);
		asked = thread->mm;
		if (asked && (!target->inode || task_executes(thread, target->inode)))
			ret = pguard_process_add(target, thread);
		task_unlock(thread);
		if (asked)
			break;
	}
	/* Or the last exit probe was just before us (it comes with memory since 6.16). */
	smp_mb(); /* the process is in the table before we look who lives */
	if (!ret && !atomic_read(&process->signal->live)) {
		pguard_process_del(process->tgid);
		ret = -ESRCH;
	}
	return ret;
}

/*
 * Add the processes that run already.  Those that come meanwhile are added by
 * the fork and exec probes, or stand at the end of the list where this walk
 * still finds them.
 */
static void add_running(struct pguard_target *target)
{
	struct task_struct *process;

	rcu_read_lock();
	for_each_process(process)
		add_process(target, process);
	rcu_read_unlock();
}

static int add_pid(struct pguard_target *target, struct netlink_ext_ack *extack)
{
	struct task_struct *process;
	int ret = -ESRCH;

	rcu_read_lock();
	process = pid_task(find_pid_ns(target->pid, &init_pid_ns), PIDTYPE_TGID);
	if (process)
		ret = add_process(target, process);
	rcu_read_unlock();
	if (ret == -ESRCH)
		NL_SET_ERR_MSG(extack, "no process with this id, or it is exiting");
	else if (ret == -EEXIST)
		NL_SET_ERR_MSG(extack, "this process is watched already");
	else if (ret)
		NL_SET_ERR_MSG(extack, "out of memory");
	return ret;
}

static int target_start(struct pguard_target *target, struct netlink_ext_ack *extack)
{
	int ret;

	ret = pguard_life_start();
	if (ret) {
		NL_SET_ERR_MSG(extack, "the scheduler's tracepoints cannot be used");
		return ret;
	}
	ret = pguard_hook_attach();
	if (!ret && !pguard_hook_alive())
		ret = -EOPNOTSUPP;
	if (ret)
		NL_SET_ERR_MSG(extack, "the wait calls cannot be hooked (is kernel.ftrace_enabled 1?)");
	return ret;
}

static void target_unlist(struct pguard_target *target)
{
	spin_lock(&pguard_images_lock);
	WRITE_ONCE(target->dying, true);
	list_del_init(&target->list);
	spin_unlock(&pguard_images_lock);
	nr_targets--;
}

/* Let go of a target none of whose threads is in a hooked call. */
static void target_free(struct pguard_target *target)
{
	if (target->inode)
		path_put(&target->path);
	pguard_target_put(target);
	module_put(THIS_MODULE);
}

static void leaving_work(struct work_struct *work)
{
	struct pguard_target *target, *next;

	mutex_lock(&leaving_lock);
	list_for_each_entry_safe(target, next, &leaving, list) {
		if (!pguard_drain_is_done(target))
			continue;
		list_del(&target->list);
		target_free(target);
	}
	if (!list_empty(&leaving))
		queue_delayed_work(system_unbound_wq, &leaving_dwork, LEAVING_PERIOD);
	mutex_unlock(&leaving_lock);
}

/* Wait for the threads, but not for ever: a work takes over. */
static int target_leave(struct pguard_target *target)
{
	unsigned long end = jiffies + LEAVING_PATIENCE;

	while (!pguard_drain_is_done(target)) {
		if (time_before(jiffies, end) && !fatal_signal_pending(current)) {
			usleep_range(1000, 2000);
			continue;
		}
		mutex_lock(&leaving_lock);
		list_add_tail(&target->list, &leaving);
		queue_delayed_work(system_unbound_wq, &leaving_dwork, LEAVING_PERIOD);
		mutex_unlock(&leaving_lock);
		return -EINPROGRESS;
	}
	target_free(target);
	return 0;
}

/* Its threads are not found any more; those in a call hold the profile. */
static bool target_unguard(struct pguard_target *target)
{
	struct pguard_profile *profile = pguard_target_profile(target);

	if (!profile)
		return false;
	RCU_INIT_POINTER(target->profile, NULL);
	pguard_profile_drop(profile);
	return true;
}

/*
 * The way out, also of a target that only half came in.  -EINPROGRESS if a
 * thread cannot be got out of a hooked call just now.
 */
static int target_remove(struct pguard_target *target)
{
	bool was_guarded;
	int ret;

	lockdep_assert_held(&pguard_control);
	target_unlist(target);
	pguard_probes_del_all(target);
	pguard_process_del_all(target);
	if (!nr_targets) {
		pguard_life_stop();
		pguard_hook_detach();
		pguard_watch_stop();
		pguard_ring_clear(&pguard_waits);
	}
	pguard_drain(target);
	was_guarded = target_unguard(target);
	/* The watch may be about to ask one of the threads for its stack. */
	pguard_watch_flush();
	/* The others may need to be looked at less often. */
	if (nr_targets)
		pguard_watch_start();
	pguard_drain_kick(target);
	ret = target_leave(target);
	/* So that its files can be unmounted. */
	if (was_guarded)
		pguard_profile_flush();
	return ret;
}

static int wish_check(const struct pguard_target_wish *wish, struct netlink_ext_ack *extack)
{
	struct pguard_target *target;
	bool taken;

	if (!wish->exe == !wish->pid) {
		NL_SET_ERR_MSG(extack, "name an executable or a process, one of them");
		return -EINVAL;
	}
	if (nr_targets >= PGUARD_MAX_TARGETS) {
		NL_SET_ERR_MSG(extack, "too many targets");
		return -ENOSPC;
	}
	if (!wish->exe)
		return 0;
	if (!S_ISREG(file_inode(wish->exe)->i_mode)) {
		NL_SET_ERR_MSG(extack, "the executable is not a regular file");
		return -EINVAL;
	}
	spin_lock(&pguard_images_lock);
	target = pguard_target_match(wish->exe);
	taken = target;
	spin_unlock(&pguard_images_lock);
	if (taken) {
		NL_SET_ERR_MSG(extack, "this executable is watched already");
		return -EEXIST;
	}
	return 0;
}

static struct pguard_target *target_make(const struct pguard_target_wish *wish)
{
	struct pguard_target *target = pguard_target_alloc();

	if (!target)
		return NULL;
	target->flags = wish->flags;
	target->limit_ns = wish->threshold_ns - 1;
	target->pid = wish->pid;
	target->portid = wish->portid;
	if (wish->exe) {
		target->path = wish->exe->f_path;
		path_get(&target->path);
		target->inode = d_real_inode(target->path.dentry);
	}
	return target;
}

/**
 * pguard_target_new() - watch an executable or a process
 * @wish: what is wanted
 * @ret_id: the target's id
 * @ret_processes: how many processes it found
 * @extack: takes the reason of a refusal
 *
 * Context: may sleep; pguard_control held.
 * Return: 0 or an error with nothing changed.
 */
int pguard_target_new(const struct pguard_target_wish *wish, u32 *ret_id,
		      u32 *ret_processes, struct netlink_ext_ack *extack)
{
	struct pguard_target *target;
	int ret;

	lockdep_assert_held(&pguard_control);
	ret = wish_check(wish, extack);
	if (ret)
		return ret;
	/* An operation holds no reference: the module may be on its way out. */
	if (!try_module_get(THIS_MODULE))
		return -ENODEV;
	target = target_make(wish);
	if (!target) {
		module_put(THIS_MODULE);
		return -ENOMEM;
	}
	spin_lock(&pguard_images_lock);
	list_add_tail(&target->list, &pguard_targets);
	spin_unlock(&pguard_images_lock);
	nr_targets++;

	ret = target_start(target, extack);
	if (ret)
		goto err_remove;
	if (target->inode) {
		add_running(target);
	} else {
		ret = add_pid(target, extack);
		if (ret)
			goto err_remove;
	}
	*ret_id = target->id;
	*ret_processes = atomic_read(&target->nr_processes);
	pguard_watch_start();
	return 0;

err_remove:
	target_remove(target);
	return ret;
}

/**
 * pguard_target_find() - the target with this id
 *
 * Context: pguard_control held, for as long as the target is used.
 */
struct pguard_target *pguard_target_find(u32 id)
{
	struct pguard_target *target;

	lockdep_assert_held(&pguard_control);
	list_for_each_entry(target, &pguard_targets, list)
		if (target->id == id)
			return target;
	return NULL;
}

/**
 * pguard_target_del() - watch a target no longer
 * @id: the target, or 0 for all of them
 * @extack: takes the reason of a refusal
 *
 * Context: may sleep; pguard_control held.
 * Return: 0; -ENOENT if there is no such target; -EINPROGRESS if the watching
 * has ended but threads in uninterruptible sleep still hold the module.
 */
int pguard_target_del(u32 id, struct netlink_ext_ack *extack)
{
	struct pguard_target *target, *next;
	bool found = false;
	int ret = 0;

	lockdep_assert_held(&pguard_control);
	list_for_each_entry_safe(target, next, &pguard_targets, list) {
		if (id && target->id != id)
			continue;
		ret = target_remove(target) ?: ret;
		found = true;
	}
	if (ret)
		NL_SET_ERR_MSG(extack, "watching has ended, but threads in uninterruptible sleep hold the module");
	if (found)
		return ret;
	if (id)
		NL_SET_ERR_MSG(extack, "no such target");
	else
		NL_SET_ERR_MSG(extack, "nothing is watched");
	return -ENOENT;
}

static void orphan_work(struct work_struct *work)
{
	struct pguard_target *target, *next;

	mutex_lock(&pguard_control);
	list_for_each_entry_safe(target, next, &pguard_targets, list)
		if (target->orphan)
			target_remove(target);
	mutex_unlock(&pguard_control);
}

/**
 * pguard_target_orphan() - a netlink socket was closed
 * @portid: its address
 *
 * The targets it owned are removed by a work.
 *
 * Context: any.
 */
void pguard_target_orphan(u32 portid)
{
	struct pguard_target *target;
	bool any = false;

	spin_lock(&pguard_images_lock);
	list_for_each_entry(target, &pguard_targets, list) {
		if (target->portid != portid ||
		    !(READ_ONCE(target->flags) & PERFGUARD_TARGET_FLAGS_OWNED))
			continue;
		target->orphan = true;
		any = true;
	}
	spin_unlock(&pguard_images_lock);
	if (any)
		queue_work(system_unbound_wq, &orphans);
}

/*
 * The module goes: there is no target, each held a reference.  The work may
 * still be in its last lines.
 */
void pguard_target_deinit(void)
{
	flush_work(&orphans);
	flush_delayed_work(&leaving_dwork);
	pguard_life_deinit();
	pguard_governor_deinit();
	pguard_probes_deinit();
	pguard_capture_deinit();
	/* Last: it waits for the ends of all that ran in threads' own time. */
	pguard_drain_deinit();
}
