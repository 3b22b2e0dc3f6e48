// SPDX-License-Identifier: GPL-2.0

/*
 * Which target a process belongs to may depend on its arguments.  Where an exec is seen they
 * cannot be read, as their pages may be out.  So the thread gets a task work, which it runs on
 * its way to user mode, and which may wait for them: the process is judged before the first
 * instruction of what it executes.  There is no time in which it runs and is not known, which
 * there would be if userland were notified and added it.
 *
 * From the exec on until then it is a newcomer: probes that go on meanwhile are put into its
 * memory, too.  Those that were there before came with the exec.  If it is not taken it loses
 * each at its first hit, like a child that was forked out of a target.
 */

#include "target/newcomer.h"

#include "target/arguments.h"
#include "target/process.h"
#include "target/target.h"

#include <linux/fs.h>
#include <linux/module.h>
#include <linux/rculist.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/task_work.h>

/**
 * struct newcomer - a process between its exec and the judgement
 * @work: queued to its thread
 * @node: in @newcomers
 * @tgid: its id
 * @nr: length of @targets
 * @targets: those that it may belong to, the oldest first; referenced
 */
struct newcomer {
	struct callback_head work;
	struct hlist_node node;
	struct rcu_head rcu;
	pid_t tgid;
	u32 nr;
	struct pguard_target *targets[];
};

/* Writers hold pguard_images_lock, readers RCU. */
static HLIST_HEAD(newcomers);

/* Return: true if a process is not judged yet.  Context: RCU. */
bool pguard_newcomer_is(pid_t tgid)
{
	const struct newcomer *newcomer;

	hlist_for_each_entry_rcu(newcomer, &newcomers, node)
		if (newcomer->tgid == tgid)
			return true;
	return false;
}

/* The first target that wants a process with these arguments, or NULL. */
static struct pguard_target *choose(const struct newcomer *newcomer,
				    const struct pguard_arguments *arguments)
{
	u32 i;

	for (i = 0; i < newcomer->nr; i++)
		if (!READ_ONCE(newcomer->targets[i]->dying) &&
		    pguard_scope_has_arguments(&newcomer->targets[i]->scope, arguments))
			return newcomer->targets[i];
	return NULL;
}

static void judge(const struct newcomer *newcomer)
{
	struct pguard_arguments arguments;
	struct pguard_target *target;

	if (pguard_arguments_read(&arguments, current, current->mm)) {
		atomic64_inc(&newcomer->targets[0]->untracked);
	} else {
		target = choose(newcomer, &arguments);
		if (target)
			pguard_process_add(target, current);
	}
	pguard_arguments_free(&arguments);
}

static void newcomer_free(struct newcomer *newcomer)
{
	u32 i;

	spin_lock(&pguard_images_lock);
	hlist_del_rcu(&newcomer->node);
	spin_unlock(&pguard_images_lock);
	for (i = 0; i < newcomer->nr; i++)
		pguard_target_put(newcomer->targets[i]);
	kfree_rcu(newcomer, rcu);
	/* Last: the module may go, once pguard_drain_deinit() has waited for what is left here. */
	module_put(THIS_MODULE);
}

/* Runs in the thread, on its way to user mode or in its exit. */
static void newcomer_run(struct callback_head *work)
{
	struct newcomer *newcomer = container_of(work, struct newcomer, work);

	if (current->mm && !(current->flags & PF_EXITING))
		judge(newcomer);
	newcomer_free(newcomer);
}

static bool may_have(const struct pguard_target *target, const struct inode *inode,
		     struct task_struct *task)
{
	return target->inode == inode && !target->dying && pguard_scope_has(&target->scope, task);
}

/* All that may have it, if the arguments decide; NULL if not.  pguard_images_lock is held. */
static struct newcomer *newcomer_make(const struct inode *inode, struct task_struct *task)
{
	struct pguard_target *target, *first = NULL;
	struct newcomer *ret;
	u32 nr = 0;

	list_for_each_entry(target, &pguard_targets, list) {
		if (!may_have(target, inode, task))
			continue;
		nr++;
		if (target->scope.text && !first)
			first = target;
	}
	if (!first)
		return NULL;
	ret = kzalloc(struct_size(ret, targets, nr), GFP_NOWAIT | __GFP_NOWARN);
	if (!ret) {
		atomic64_inc(&first->untracked);
		return NULL;
	}
	list_for_each_entry(target, &pguard_targets, list) {
		if (!may_have(target, inode, task))
			continue;
		kref_get(&target->kref);
		ret->targets[ret->nr++] = target;
	}
	return ret;
}

/**
 * pguard_newcomer_expect() - judge a process by its arguments, if they decide
 * @exe: what it executes
 * @task: current, in its exec
 *
 * Context: atomic.
 * Return: true if that will be done; false if no target of the file cares for arguments, or
 * for lack of memory (counted as untracked).
 */
bool pguard_newcomer_expect(const struct file *exe, struct task_struct *task)
{
	const struct inode *inode = d_real_inode(exe->f_path.dentry);
	struct newcomer *newcomer;

	spin_lock(&pguard_images_lock);
	newcomer = newcomer_make(inode, task);
	if (newcomer) {
		newcomer->tgid = task->tgid;
		hlist_add_head_rcu(&newcomer->node, &newcomers);
		/* Targets that are in the list hold one. */
		__module_get(THIS_MODULE);
	}
	spin_unlock(&pguard_images_lock);
	if (!newcomer)
		return false;
	init_task_work(&newcomer->work, newcomer_run);
	if (!task_work_add(task, &newcomer->work, TWA_RESUME))
		return true;
	newcomer_free(newcomer);
	return false;
}
