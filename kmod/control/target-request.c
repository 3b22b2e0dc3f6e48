// SPDX-License-Identifier: GPL-2.0

/*
 * The first target puts probes on, the last one takes them off, and each has hooks of its
 * own (hold.c); a target holds a reference to the module.  Order of going, each step relying
 * on the one before:
 *
 *   1. its profile goes: threads notice at their next boundary
 *   2. its sites' probes go, which may take seconds, so without pguard_control
 *   3. dying is set and the target leaves the list: no exec matches it
 *   4. its processes go: the stub passes their threads
 *   5. with the last target tracepoint probes and the watch go, and with each the hooks
 *      that no other one needs
 *   6. its threads' states go, and the threads are sent out of the hooked calls;
 *      what cannot leave just now is waited for by a work
 *   7. when the last thread is out: the path, the module
 *
 * All of it under the target lock, so nobody puts probes on again after 2.
 *
 * Locks, outermost first: pguard_target.lock, pguard_control, reaper_lock
 * (mutexes), pguard_images_lock, pguard_threads_lock, pguard_thread.lock, pguard_ring.lock
 * (spinlocks; never taken in interrupts).
 */

#include "control/control.h"

#include "budget/budget.h"
#include "hook/hook.h"
#include "lib/refuse.h"
#include "probe/late-hit.h"
#include "probe/probe-set.h"
#include "profile/profile.h"
#include "report/alert-record.h"
#include "report/stack.h"
#include "request/connection.h"
#include "request/late-report.h"
#include "target/arguments.h"
#include "target/image.h"
#include "target/process.h"
#include "target/target-lock.h"
#include "unit/unit.h"

#include <linux/fs.h>
#include <linux/module.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>

static u32 nr_targets;

enum {
	MAX_CANDIDATES = 4096,
	MAX_WALKS = 20,
};

/* A running process, and its arguments where they decide. */
struct candidate {
	struct task_struct *thread;
	struct mm_struct *mm;
};

/* Returns true if a thread's process is the target's, except for arguments; its task_lock is held. */
static bool is_meant(const struct pguard_target *target, struct task_struct *thread)
{
	return !target->inode || (pguard_process_mm_executes(thread->mm, target->inode) &&
				  pguard_scope_has(&target->scope, thread));
}

/*
 * Add a process that runs, if it has this memory; NULL: any.  Asks a thread that still has its
 * memory (the leader may be gone while others live).  Caller holds RCU.
 */
static int add_process(struct pguard_target *target, struct task_struct *process,
		       const struct mm_struct *mm)
{
	struct task_struct *thread;
	int ret = -ESRCH;

	for_each_thread(process, thread) {
		bool asked;

		task_lock(thread);
		asked = thread->mm;
		if (asked && (!mm || thread->mm == mm) && is_meant(target, thread))
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
		add_process(target, process, NULL);
	rcu_read_unlock();
}

/* Take hold of a thread of a process that the target may have.  Caller holds RCU. */
static bool candidate_get(const struct pguard_target *target, struct task_struct *process,
			  struct candidate *ret)
{
	struct task_struct *thread;
	bool is_asked = false, is_taken = false;

	for_each_thread(process, thread) {
		task_lock(thread);
		is_asked = thread->mm;
		is_taken = is_asked && is_meant(target, thread);
		if (is_taken) {
			*ret = (struct candidate){ thread, thread->mm };
			get_task_struct(thread);
			mmget(thread->mm);
		}
		task_unlock(thread);
		if (is_asked)
			break;
	}
	return is_taken;
}

/* Those that no target has; returns how many, of which the first @max are in @ret. */
static u32 candidates_get(const struct pguard_target *target, struct candidate *ret, u32 max)
{
	struct task_struct *process;
	struct pguard_image *image;
	u32 nr = 0;

	rcu_read_lock();
	for_each_process(process) {
		image = pguard_process_image_get(process->tgid);
		pguard_image_put(image);
		if (!image && nr < max && candidate_get(target, process, &ret[nr]))
			nr++;
	}
	rcu_read_unlock();
	return nr;
}

/* Returns true if it was added.  In an exec since then, it has other memory. */
static bool candidate_judge(struct pguard_target *target, const struct candidate *candidate)
{
	struct pguard_arguments arguments;
	int ret = pguard_arguments_read(&arguments, candidate->thread, candidate->mm);

	if (ret) {
		atomic64_inc(&target->untracked);
	} else if (pguard_scope_has_arguments(&target->scope, &arguments)) {
		rcu_read_lock();
		ret = add_process(target, candidate->thread->group_leader, candidate->mm);
		rcu_read_unlock();
	} else {
		ret = -ENOENT;
	}
	pguard_arguments_free(&arguments);
	mmput(candidate->mm);
	put_task_struct(candidate->thread);
	return !ret;
}

/*
 * Add the processes that run already and have the right arguments, which cannot be read in the
 * walk.  Children that one has forked before it was added are found by the next walk; so the
 * last one adds none.
 */
static int add_running_by_arguments(struct pguard_target *target)
{
	struct candidate *candidates = kvcalloc(MAX_CANDIDATES, sizeof(*candidates), GFP_KERNEL);
	bool is_any = true;
	u32 i, nr, turn;

	if (!candidates)
		return -ENOMEM;
	for (turn = 0; is_any && turn < MAX_WALKS; turn++) {
		is_any = false;
		atomic64_set(&target->untracked, 0);
		nr = candidates_get(target, candidates, MAX_CANDIDATES);
		for (i = 0; i < nr; i++)
			is_any |= candidate_judge(target, &candidates[i]);
		/* There may be more of them. */
		if (nr == MAX_CANDIDATES)
			atomic64_inc(&target->untracked);
	}
	kvfree(candidates);
	return 0;
}

static int add_pid(struct pguard_target *target, struct netlink_ext_ack *extack)
{
	struct task_struct *process;
	int ret = -ESRCH;

	rcu_read_lock();
	process = pid_task(find_pid_ns(target->pid, &init_pid_ns), PIDTYPE_TGID);
	if (process)
		ret = add_process(target, process, NULL);
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
	int ret = pguard_lifecycle_start();

	if (ret)
		return pguard_refuse(extack, ret, "the scheduler's tracepoints cannot be used");
	ret = pguard_hold_update();
	if (!ret)
		return 0;
	return pguard_refuse(extack, ret,
			     "the wait calls cannot be hooked (is kernel.ftrace_enabled 1?)");
}

/**
 * pguard_target_unguard() - a target's threads are guarded by its profile no
 * longer
 *
 * They notice at their next boundary.  The profile is not in the list any more,
 * but kept by the batch of its probes, which are still on.
 *
 * Context: may sleep; current holds the target lock, pguard_control not held.
 * Return: the profile, or NULL if it had none.
 */
struct pguard_profile *pguard_target_unguard(struct pguard_target *target)
{
	struct pguard_profile *profile;

	pguard_target_assert_locked(target);
	mutex_lock(&pguard_control);
	profile = pguard_target_profile(target);
	if (profile) {
		rcu_assign_pointer(target->profile, NULL);
		atomic64_set(&target->report_left, PGUARD_REPORT_UNLIMITED);
		pguard_target_unsettle(target);
		if (target->connections)
			pguard_late_report_update(target->connections);
		pguard_profile_drop(profile);
	}
	mutex_unlock(&pguard_control);
	return profile;
}

/* Nobody comes by the target or its threads any more. */
static void target_retire(struct pguard_target *target)
{
	lockdep_assert_held(&pguard_control);
	spin_lock(&pguard_images_lock);
	WRITE_ONCE(target->dying, true);
	list_del_init(&target->list);
	spin_unlock(&pguard_images_lock);
	nr_targets--;
	pguard_process_del_all(target);
	if (!nr_targets) {
		pguard_lifecycle_stop();
		pguard_watchdog_stop();
		pguard_ring_clear(&pguard_waits);
	}
	/* Cannot fail: they need no more than before. */
	pguard_hold_update();
	pguard_drain(target);
	/* The watch may be about to ask one of the threads for its stack. */
	pguard_watchdog_flush();
	/* The others may need to be looked at less often. */
	if (nr_targets)
		pguard_watchdog_start();
}

/**
 * pguard_target_remove() - watch a target no longer
 * @target: also one that only half came in
 *
 * Context: may sleep, long; current holds the target lock, pguard_control not held.
 * Return: 0; -EINPROGRESS if a thread cannot be got out of a hooked call just
 * now.
 */
int pguard_target_remove(struct pguard_target *target)
{
	bool was_guarded;
	int ret;

	pguard_target_assert_locked(target);
	mutex_lock(&pguard_control);
	target->going = true;
	mutex_unlock(&pguard_control);
	was_guarded = pguard_target_unguard(target);
	pguard_probe_set_del_all(target);
	mutex_lock(&pguard_control);
	target_retire(target);
	mutex_unlock(&pguard_control);
	ret = pguard_drain_wait(target);
	/* Those that are still in a hooked call are dead, and leave without a look at it. */
	pguard_connection_table_free(target->connections);
	target->connections = NULL;
	/* So that its files can be unmounted. */
	if (was_guarded)
		pguard_profile_flush();
	return ret;
}

/* Returns true if the leader of a process executes this inode. */
static bool pid_executes(pid_t pid, const struct inode *inode)
{
	struct task_struct *task;
	bool ret = false;

	rcu_read_lock();
	task = pid_task(find_pid_ns(pid, &init_pid_ns), PIDTYPE_TGID);
	if (task) {
		task_lock(task);
		ret = task->mm && pguard_process_mm_executes(task->mm, inode);
		task_unlock(task);
	}
	rcu_read_unlock();
	return ret;
}

/* Returns true if it is the target of a process. */
static bool target_has(const struct pguard_target *target, pid_t pid)
{
	struct pguard_image *image = pguard_process_image_get(pid);
	bool ret = image && image->target == target;

	pguard_image_put(image);
	return ret;
}

/* Returns true if a target is where @spec wants to be.  A process is of one target at a time. */
static bool is_in_the_way(const struct pguard_target *target, const struct pguard_target_spec *spec)
{
	struct inode *inode = spec->exe ? d_real_inode(spec->exe->f_path.dentry) : NULL;

	if (target->inode == inode && target->pid == spec->pid)
		return pguard_scope_excludes(&target->scope, &spec->scope);
	if (!inode)
		return target_has(target, spec->pid);
	return target->pid && pid_executes(target->pid, inode);
}

/* The target in the place that @spec wants, if that goes anyway, or nobody can be in it. */
static struct pguard_target *target_going(const struct pguard_target_spec *spec)
{
	struct pguard_target *target;

	lockdep_assert_held(&pguard_control);
	list_for_each_entry(target, &pguard_targets, list)
		if ((target->going || READ_ONCE(target->orphan) ||
		     pguard_scope_is_over(&target->scope)) && is_in_the_way(target, spec))
			return target;
	return NULL;
}

/**
 * pguard_target_make_room() - wait for the target that goes from a place
 * @spec: who wants the place
 *
 * So who comes after a killed collector does not find what that left.
 *
 * Context: may sleep, long; pguard_control held, which is let go of meanwhile.
 * Return: 0, or an error of pguard_target_lock().
 */
int pguard_target_make_room(const struct pguard_target_spec *spec)
{
	struct pguard_target *target;
	int ret;

	while ((target = target_going(spec))) {
		ret = pguard_target_lock(target);
		if (ret == -ENOENT)
			continue;
		if (ret)
			return ret;
		/* Its work has not come to it. */
		mutex_unlock(&pguard_control);
		pguard_target_remove(target);
		pguard_target_unlock(target);
		mutex_lock(&pguard_control);
	}
	return 0;
}

static int spec_check(const struct pguard_target_spec *spec, struct netlink_ext_ack *extack)
{
	if (!spec->exe == !spec->pid)
		return pguard_refuse(extack, -EINVAL,
				     "name an executable or a process, one of them");
	if (nr_targets >= PGUARD_MAX_TARGETS)
		return pguard_refuse(extack, -ENOSPC, "too many targets");
	if (!spec->exe && !pguard_scope_is_any(&spec->scope))
		return pguard_refuse(extack, -EINVAL,
				     "a scope goes with an executable");
	if (!spec->exe)
		return 0;
	if (!S_ISREG(file_inode(spec->exe)->i_mode))
		return pguard_refuse(extack, -EINVAL, "the executable is not a regular file");
	if (pguard_target_find_exe(spec->exe, &spec->scope))
		return pguard_refuse(extack, -EEXIST, "this executable is watched already");
	return 0;
}

static struct pguard_target *target_make(const struct pguard_target_spec *spec)
{
	struct pguard_target *target = pguard_target_alloc();

	if (!target)
		return NULL;
	target->flags = spec->flags;
	target->calls = spec->calls;
	if (pguard_hold_connections(target, spec->flags)) {
		pguard_target_put(target);
		return NULL;
	}
	pguard_audit_set_threshold(target->audit, spec->threshold_ns);
	target->pid = spec->pid;
	target->owner = spec->owner;
	pguard_scope_copy(&target->scope, &spec->scope);
	if (spec->exe) {
		target->path = spec->exe->f_path;
		path_get(&target->path);
		target->inode = d_real_inode(target->path.dentry);
	}
	return target;
}

/**
 * pguard_target_new() - watch an executable or a process
 * @spec: what is wanted
 * @ret: the target, locked by current
 * @extack: takes the reason of a refusal
 *
 * Context: may sleep, long; pguard_control held, which may be let go of before
 * the target is there, and in case of an error.
 * Return: 0 or an error with nothing changed.
 */
int pguard_target_new(const struct pguard_target_spec *spec, struct pguard_target **ret,
		      struct netlink_ext_ack *extack)
{
	struct pguard_target *target;
	int error;

	lockdep_assert_held(&pguard_control);
	error = pguard_target_make_room(spec) ?: spec_check(spec, extack);
	if (error)
		return error;
	/* An operation holds no reference: the module may be on its way out. */
	if (!try_module_get(THIS_MODULE))
		return -ENODEV;
	target = target_make(spec);
	if (!target) {
		module_put(THIS_MODULE);
		return -ENOMEM;
	}
	/* Nobody knows it yet. */
	pguard_target_trylock(target);
	spin_lock(&pguard_images_lock);
	list_add_tail(&target->list, &pguard_targets);
	spin_unlock(&pguard_images_lock);
	nr_targets++;

	error = target_start(target, extack);
	if (error)
		goto err_remove;
	if (!target->inode)
		error = add_pid(target, extack);
	else if (target->scope.text)
		error = add_running_by_arguments(target);
	else
		add_running(target);
	if (error)
		goto err_remove;
	*ret = target;
	pguard_arrivals_expect(target);
	pguard_watchdog_start();
	pguard_clock_watch_start();
	return 0;

err_remove:
	mutex_unlock(&pguard_control);
	pguard_target_remove(target);
	pguard_target_unlock(target);
	mutex_lock(&pguard_control);
	return error;
}

/**
 * pguard_target_find() - the target with this id
 *
 * Context: pguard_control held, for as long as the target is used, or until
 * pguard_target_lock().
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
 * pguard_target_find_exe() - a target of this executable that allows none of this scope
 *
 * Context: the same.
 */
struct pguard_target *pguard_target_find_exe(const struct file *exe,
					     const struct pguard_scope *scope)
{
	const struct inode *inode = d_real_inode(exe->f_path.dentry);
	struct pguard_target *target;

	lockdep_assert_held(&pguard_control);
	list_for_each_entry(target, &pguard_targets, list)
		if (target->inode == inode && pguard_scope_excludes(&target->scope, scope))
			return target;
	return NULL;
}

/*
 * Remove the target with this id, or if that is 0, the first.  As
 * pguard_target_remove(), and -ENOENT if there is none.
 */
static int target_del(u32 id)
{
	struct pguard_target *target;
	int ret = -ENOENT;

	mutex_lock(&pguard_control);
	target = id ? pguard_target_find(id) :
		 list_first_entry_or_null(&pguard_targets, struct pguard_target, list);
	if (target)
		ret = pguard_target_lock(target);
	mutex_unlock(&pguard_control);
	/* Another one removed the first: there may be a next. */
	if (ret == -ENOENT && target && !id)
		return 0;
	if (ret)
		return ret;
	ret = pguard_target_remove(target);
	pguard_target_unlock(target);
	return ret;
}

/* Those that come meanwhile go, too. */
static int target_del_all(void)
{
	bool any = false;
	int ret = 0, error;

	while ((error = target_del(0)) != -ENOENT) {
		ret = error ?: ret;
		any = true;
	}
	return any ? ret : -ENOENT;
}

/**
 * pguard_target_del() - watch a target no longer
 * @id: the target, or 0 for all of them
 * @extack: takes the reason of a refusal
 *
 * Context: may sleep, long; pguard_control not held.
 * Return: 0; -ENOENT if there is no such target; -EINPROGRESS if the watching
 * has ended but threads in uninterruptible sleep still hold the module.
 */
int pguard_target_del(u32 id, struct netlink_ext_ack *extack)
{
	int ret = id ? target_del(id) : target_del_all();

	if (ret == -EINPROGRESS)
		NL_SET_ERR_MSG(extack, "watching has ended, but threads in uninterruptible sleep hold the module");
	else if (ret == -ENOENT && id)
		NL_SET_ERR_MSG(extack, "no such target");
	else if (ret == -ENOENT)
		NL_SET_ERR_MSG(extack, "nothing is watched");
	return ret;
}

/*
 * The module goes: there is no target, each held a reference.  Works may still be in their
 * last lines.
 */
void pguard_target_deinit(void)
{
	pguard_orphan_deinit();
	pguard_clock_watch_deinit();
	pguard_lifecycle_deinit();
	pguard_governor_deinit();
	pguard_probe_set_deinit();
	pguard_late_hit_deinit();
	/* Last: it waits for the ends of all that ran in threads' own time. */
	pguard_drain_deinit();
}
