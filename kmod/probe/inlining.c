// SPDX-License-Identifier: GPL-2.0

#include "probe/inlining.h"

#include "inline/area.h"
#include "inline/region.h"
#include "probe/site.h"
#include "target/image.h"
#include "target/target-lock.h"
#include "target/thread.h"

#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/task_work.h>

/**
 * struct pguard_inlining - sites of a target that are to jump
 * @list: in inlinings
 * @target: whose processes; its batch holds a reference
 * @jumps: the sites, in a file; kept by the batch
 */
struct pguard_inlining {
	struct list_head list;
	struct pguard_target *target;
	struct pguard_jumps *jumps;
};

/* A thread that is to change its process. */
struct inlining_visit {
	struct callback_head work;
	struct pguard_thread *thread;
};

/*
 * Held while sites change, in whatever process: the map locks of processes are taken in it, and no
 * lock of ours but for spinlocks.
 */
static DEFINE_MUTEX(inlining_lock);
static LIST_HEAD(inlinings);

/* Counts the begins, so that each thread visits each of them once. */
static u32 generation;

/**
 * pguard_inlining_begin() - have sites jump in the processes of a target
 * @target: the target
 * @jumps: the sites; their probes are on
 *
 * Context: a worker; may sleep.
 * Return: to be ended before the first of the probes goes; NULL for lack of memory.
 */
struct pguard_inlining *pguard_inlining_begin(struct pguard_target *target,
					      struct pguard_jumps *jumps)
{
	struct pguard_inlining *inlining = kzalloc(sizeof(*inlining), GFP_KERNEL);

	pguard_target_assert_locked(target);
	if (!inlining)
		return NULL;
	inlining->target = target;
	inlining->jumps = jumps;
	mutex_lock(&inlining_lock);
	list_add_tail(&inlining->list, &inlinings);
	WRITE_ONCE(generation, generation + 1);
	mutex_unlock(&inlining_lock);
	return inlining;
}

/**
 * pguard_inlining_end() - have no site jump any more, in whatever process
 * @inlining: what is to end; freed
 *
 * Context: a worker; may sleep, also for the map locks of processes; the target is locked.
 */
void pguard_inlining_end(struct pguard_inlining *inlining)
{
	pguard_target_assert_locked(inlining->target);
	mutex_lock(&inlining_lock);
	list_del(&inlining->list);
	pguard_jumps_remove(inlining->jumps);
	mutex_unlock(&inlining_lock);
	kfree(inlining);
}

/* Change current's process, which is the target's of @thread. */
static void process_visit(struct pguard_thread *thread)
{
	const struct pguard_inlining *inlining;
	int ret;

	if (mutex_lock_killable(&inlining_lock))
		return;
	list_for_each_entry(inlining, &inlinings, list) {
		if (inlining->target != thread->image->target)
			continue;
		ret = pguard_jumps_install(inlining->jumps, thread->image);
		if (ret)
			pr_debug("sites of process %d stay breakpoints: error %d\n",
				 current->tgid, ret);
	}
	mutex_unlock(&inlining_lock);
	if (!thread->area)
		pguard_area_take(thread);
}

static void inlining_visit_run(struct callback_head *work)
{
	struct inlining_visit *visit = container_of(work, struct inlining_visit, work);

	if (!(current->flags & PF_EXITING) && !READ_ONCE(visit->thread->dead))
		process_visit(visit->thread);
	pguard_thread_put(visit->thread);
	kfree(visit);
	module_put(THIS_MODULE);
}

/* To be called on its way to user mode; without memory it is left to the next hit. */
static void visit_queue(struct pguard_thread *thread)
{
	struct inlining_visit *visit = kmalloc(sizeof(*visit), GFP_NOWAIT | __GFP_NOWARN);

	if (!visit)
		return;
	thread->inlined = READ_ONCE(generation);
	refcount_inc(&thread->refs);
	/* Its target holds one. */
	__module_get(THIS_MODULE);
	visit->thread = thread;
	init_task_work(&visit->work, inlining_visit_run);
	/* It is refused only to a task that has exited. */
	if (task_work_add(current, &visit->work, TWA_RESUME)) {
		pguard_thread_put(thread);
		kfree(visit);
		module_put(THIS_MODULE);
	}
}

/**
 * pguard_inlining_hit() - current ran into the breakpoint of a site that may jump
 * @site: the site
 *
 * Context: current, in the handler of a probe; does not sleep or fault.
 */
void pguard_inlining_hit(const struct pguard_site *site)
{
	struct pguard_thread *thread;

	preempt_disable_notrace();
	thread = pguard_thread_find(current);
	if (thread && thread->image->target == site->target &&
	    thread->inlined != READ_ONCE(generation))
		visit_queue(thread);
	preempt_enable_notrace();
}
