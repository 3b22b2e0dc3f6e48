// SPDX-License-Identifier: GPL-2.0

#include "target/process.h"

#include "lib/charge.h"
#include "target/image.h"
#include "target/newcomer.h"

#include <linux/fs.h>
#include <linux/hashtable.h>
#include <linux/mm.h>
#include <linux/pid.h>
#include <linux/pid_namespace.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

unsigned long pguard_process_slots[BITS_TO_LONGS(PGUARD_NR_SLOTS)];

/* Writers hold pguard_images_lock, readers RCU.  The first one goes by slots. */
static DEFINE_HASHTABLE(processes, 9);
static DEFINE_HASHTABLE(processes_by_mm, 9);

static struct pguard_process *process_find(pid_t tgid)
{
	struct pguard_process *process;

	hash_for_each_possible_rcu(processes, process, node, pguard_process_slot(tgid),
				   lockdep_is_held(&pguard_images_lock))
		if (process->tgid == tgid)
			return process;
	return NULL;
}

/*
 * CPU time of all threads that a process has and had, ns.  What those that run
 * have used since their last tick comes later.  A thread that ends goes over
 * to the sum; if one does so each time we look, it may be in neither for once,
 * or in both.  Caller holds RCU.
 */
static u64 cpu_of(const struct task_struct *process)
{
	struct signal_struct *signal = process->signal;
	const struct task_struct *thread;
	u32 tries = 3;
	unsigned int seq;
	u64 ret;

	do {
		seq = read_seqbegin(&signal->stats_lock);
		ret = signal->sum_sched_runtime;
		for_each_thread(process, thread)
			ret += READ_ONCE(thread->se.sum_exec_runtime);
	} while (read_seqretry(&signal->stats_lock, seq) && --tries);
	return ret;
}

/* The same of the process with this id; 0 if there is none. */
static u64 cpu_of_tgid(pid_t tgid)
{
	const struct task_struct *leader;
	u64 ret = 0;

	rcu_read_lock();
	leader = pid_task(find_pid_ns(tgid, &init_pid_ns), PIDTYPE_TGID);
	if (leader)
		ret = cpu_of(leader);
	rcu_read_unlock();
	return ret;
}

/* What a process that has used @cpu now did since it came to its target. */
static u64 cpu_since(const struct pguard_process *process, u64 cpu)
{
	return cpu > process->cpu ? cpu - process->cpu : 0;
}

/*
 * Insert; takes over the caller's reference to the image.  It has used @cpu so far: that is
 * summed up over all its threads, so not under the lock.
 */
static int process_insert(struct pguard_image *image, const struct task_struct *task, u64 cpu)
{
	struct pguard_process *process;
	pid_t tgid = task->tgid;

	lockdep_assert_held(&pguard_images_lock);
	process = pguard_zalloc_charged(image->memcg, sizeof(*process));
	if (!process)
		return -ENOMEM;
	process->image = image;
	process->mm = task->mm;
	process->tgid = tgid;
	process->cpu = cpu;
	hash_add_rcu(processes, &process->node, pguard_process_slot(tgid));
	hash_add_rcu(processes_by_mm, &process->mm_node, (unsigned long)process->mm);
	atomic_inc(&image->target->nr_processes);
	set_bit(pguard_process_slot(tgid), pguard_process_slots);
	return 0;
}

/* By some process that is still in the table. */
static bool slot_is_taken(u32 slot)
{
	const struct pguard_process *process;

	hash_for_each_possible(processes, process, node, slot)
		if (pguard_process_slot(process->tgid) == slot)
			return true;
	return false;
}

/* Take out; @cpu as above.  The caller puts the returned image once the lock is released. */
static struct pguard_image *process_remove(struct pguard_process *process, u64 cpu)
{
	struct pguard_image *image = process->image;
	u32 slot = pguard_process_slot(process->tgid);

	lockdep_assert_held(&pguard_images_lock);
	image->target->cpu += cpu_since(process, cpu);
	hash_del_rcu(&process->node);
	hash_del_rcu(&process->mm_node);
	atomic_dec(&image->target->nr_processes);
	if (!slot_is_taken(slot))
		clear_bit(slot, pguard_process_slots);
	kfree_rcu(process, rcu);
	return image;
}

/**
 * pguard_process_add() - watch the process of @task for @target
 *
 * A process that is watched for another target stays there.
 *
 * Context: atomic.  @task is current, or its task_lock is held, so that its
 * mm stays.
 * Return: 0; -EEXIST if it is watched already; -ESRCH if it has no user
 * memory or the target goes away; -ENOMEM (counted as untracked).
 */
int pguard_process_add(struct pguard_target *target, struct task_struct *task)
{
	struct pguard_image *image = NULL;
	u64 cpu;
	int ret;

	if (!task->mm)
		return -ESRCH;
	cpu = cpu_of_tgid(task->tgid);
	spin_lock(&pguard_images_lock);
	if (target->dying) {
		ret = -ESRCH;
	} else if (process_find(task->tgid)) {
		ret = -EEXIST;
	} else {
		image = pguard_image_get(target, task);
		ret = image ? process_insert(image, task, cpu) : -ENOMEM;
		if (ret)
			atomic64_inc(&target->untracked);
	}
	spin_unlock(&pguard_images_lock);
	if (ret)
		pguard_image_put(image);
	return ret;
}

/* A target that is one process does not take its children along, unless that is wanted. */
static bool takes_children(const struct pguard_target *target, struct task_struct *child)
{
	if (target->inode)
		return pguard_scope_has(&target->scope, child);
	return READ_ONCE(target->flags) & PERFGUARD_TARGET_FLAGS_INHERIT;
}

/**
 * pguard_process_add_like() - watch a new child if its parent is watched
 *
 * Context: atomic; the child does not run yet.
 * Return: 0, also where there is nothing to watch; -ENOMEM (counted).
 */
int pguard_process_add_like(pid_t parent, struct task_struct *child)
{
	struct pguard_image *image = NULL;
	struct pguard_process *process;
	int ret = 0;

	spin_lock(&pguard_images_lock);
	process = process_find(parent);
	if (process && !process->image->target->dying && !process_find(child->tgid) &&
	    takes_children(process->image->target, child)) {
		image = process->image;
		kref_get(&image->kref);
		/* It has not run. */
		ret = process_insert(image, child, 0);
		if (ret)
			atomic64_inc(&image->target->untracked);
	}
	spin_unlock(&pguard_images_lock);
	if (ret)
		pguard_image_put(image);
	return ret;
}

/* Watch a process no longer, if it was, for this target; NULL: for any. */
static void process_del(pid_t tgid, const struct pguard_target *target)
{
	struct pguard_image *image = NULL;
	struct pguard_process *process;
	u64 cpu = cpu_of_tgid(tgid);

	spin_lock(&pguard_images_lock);
	process = process_find(tgid);
	if (process && (!target || process->image->target == target))
		image = process_remove(process, cpu);
	spin_unlock(&pguard_images_lock);
	pguard_image_put(image);
}

/* Watch a process no longer, if it was.  Context: atomic. */
void pguard_process_del(pid_t tgid)
{
	process_del(tgid, NULL);
}

/* The id of a target's process in a bucket; 0 if there is none. */
static pid_t bucket_find(unsigned int bucket, const struct pguard_target *target)
{
	const struct pguard_process *process;
	pid_t ret = 0;

	rcu_read_lock();
	hlist_for_each_entry_rcu(process, &processes[bucket], node)
		if (process->image->target == target)
			ret = process->tgid;
	rcu_read_unlock();
	return ret;
}

/* Watch no process of a target any longer.  Context: may sleep. */
void pguard_process_del_all(struct pguard_target *target)
{
	unsigned int bucket;
	pid_t tgid;

	for (bucket = 0; bucket < HASH_SIZE(processes); bucket++)
		while ((tgid = bucket_find(bucket, target)))
			process_del(tgid, target);
}

/* The image of a watched process, with a reference, or NULL.  Context: any. */
struct pguard_image *pguard_process_image_get(pid_t tgid)
{
	struct pguard_process *process;
	struct pguard_image *image = NULL;

	rcu_read_lock();
	process = process_find(tgid);
	if (process && kref_get_unless_zero(&process->image->kref))
		image = process->image;
	rcu_read_unlock();
	return image;
}

/**
 * pguard_process_cpu() - CPU time of a target's processes since they came to it
 *
 * Of those that have gone, too.  One that goes meanwhile may be missed, until
 * the next time.
 *
 * Context: any.
 * Return: ns
 */
u64 pguard_process_cpu(const struct pguard_target *target)
{
	const struct pguard_process *process;
	unsigned int bucket;
	u64 ret;

	spin_lock(&pguard_images_lock);
	ret = target->cpu;
	spin_unlock(&pguard_images_lock);
	rcu_read_lock();
	hash_for_each_rcu(processes, bucket, process, node)
		if (process->image->target == target)
			ret += cpu_since(process, cpu_of_tgid(process->tgid));
	rcu_read_unlock();
	return ret;
}

/**
 * pguard_process_mm_executes() - true if some memory is that of an executable
 * @mm: the memory; stays while we are here
 * @inode: real inode of the executable
 *
 * Context: any.
 */
bool pguard_process_mm_executes(struct mm_struct *mm, const struct inode *inode)
{
	struct file *exe = pguard_mm_exe_file_get(mm);
	bool ret;

	if (!exe)
		return false;
	ret = d_real_inode(exe->f_path.dentry) == inode;
	fput(exe);
	return ret;
}

/*
 * Has the target of a scope taken in, or will it, who owns some memory.  One that is not
 * known is being made: by an exec, when the scope decides, except for arguments, which are not
 * there yet; or by a fork, when it has what its parent has; or it is not watched.
 */
static bool scope_takes(const struct pguard_target *target, struct mm_struct *mm)
{
	const struct pguard_process *process;
	struct task_struct *owner;
	bool ret = false;

	rcu_read_lock();
	owner = pguard_mm_owner(mm);
	process = owner ? process_find(owner->tgid) : NULL;
	if (process && process->mm == mm)
		ret = process->image->target == target;
	else if (owner && READ_ONCE(owner->__state) & TASK_NEW)
		ret = true;
	else if (owner && (owner->in_execve || pguard_newcomer_is(owner->tgid)))
		ret = pguard_scope_has(&target->scope, owner);
	rcu_read_unlock();
	return ret;
}

/**
 * pguard_process_has_mm() - does some memory belong to a target
 * @target: the target
 * @mm: the memory; stays while we are here
 *
 * Also while an exec fills it, which is before the process is known with it:
 * then the executable decides, or it is current's own.
 *
 * Context: may sleep; the memory's lock may be held.
 */
bool pguard_process_has_mm(const struct pguard_target *target, struct mm_struct *mm)
{
	const struct pguard_process *process;
	bool ret = false;

	if (target->inode)
		return pguard_process_mm_executes(mm, target->inode) &&
		       (pguard_scope_is_any(&target->scope) || scope_takes(target, mm));
	rcu_read_lock();
	hash_for_each_possible_rcu(processes_by_mm, process, mm_node, (unsigned long)mm)
		if (process->mm == mm && process->image->target == target)
			ret = true;
	if (!ret && mm == current->mm) {
		process = process_find(current->tgid);
		ret = process && process->image->target == target;
	}
	rcu_read_unlock();
	return ret;
}

/**
 * pguard_process_walk() - call a function for every watched process
 * @position: where to begin; where to go on later, if @call refused
 * @call: returns 0, or an error that ends the walk
 * @argument: for @call
 *
 * Context: any; @call runs in an RCU read section.
 * Return: 0 at the end, or the error of @call.
 */
int pguard_process_walk(unsigned long position[2],
			int (*call)(const struct pguard_process *, void *), void *argument)
{
	struct pguard_process *process;
	unsigned long skip;
	int ret = 0;

	rcu_read_lock();
	for (; position[0] < HASH_SIZE(processes); position[0]++, position[1] = 0) {
		skip = position[1];
		hlist_for_each_entry_rcu(process, &processes[position[0]], node) {
			if (skip && skip--)
				continue;
			ret = call(process, argument);
			if (ret)
				goto out;
			position[1]++;
		}
	}
out:
	rcu_read_unlock();
	return ret;
}
