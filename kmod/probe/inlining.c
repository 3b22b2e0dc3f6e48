// SPDX-License-Identifier: GPL-2.0

#include "probe/inlining.h"

#include "inline/area.h"
#include "inline/refusal.h"
#include "inline/region-list.h"
#include "inline/region.h"
#include "inline/signal-probe.h"
#include "probe/noted-hits.h"
#include "probe/site.h"
#include "target/image.h"
#include "target/target-lock.h"
#include "target/thread.h"

#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/task_work.h>
#include <linux/tracepoint.h>
#include <linux/workqueue.h>

#include <linux/perfguard.h>

/**
 * struct pguard_inlining - sites of a target that are to jump
 * @list: in inlinings
 * @target: whose processes; while it is active its batch holds a reference, else the target knows
 *	that it is here
 * @jumps: the sites, in a file
 * @is_active: their probes are on
 */
struct pguard_inlining {
	struct list_head list;
	struct pguard_target *target;
	struct pguard_jumps *jumps;
	bool is_active;
};

/* A thread that is to change its process. */
struct inlining_visit {
	struct callback_head work;
	struct pguard_thread *thread;
};

/*
 * Held while sites change, in whatever process: the map locks of processes are taken in it, and no
 * lock of ours except spinlocks.
 */
static DEFINE_MUTEX(inlining_lock);
static LIST_HEAD(inlinings);

/* Counts the begins, so that each thread visits each of them once. */
static u32 generation;

enum {
	UNMAP_LONGEST = 60 * HZ,	/* from one try to the next */
	VISIT_AGAIN = 2 * HZ,		/* by a thread that runs into a breakpoint */
};

/* What nobody jumps to any more is unmapped, once no thread is there. */
static void unmap_run(struct work_struct *work);
static DECLARE_DELAYED_WORK(unmap_work, unmap_run);
static unsigned long unmap_delay;	/* inlining_lock */

static void unmap_soon(void)
{
	lockdep_assert_held(&inlining_lock);
	unmap_delay = HZ / 10;
	mod_delayed_work(system_dfl_wq, &unmap_work, unmap_delay);
}

static void unmap_run(struct work_struct *work)
{
	bool is_left;

	mutex_lock(&inlining_lock);
	is_left = pguard_region_list_unmap();
	is_left = pguard_areas_unmap() || is_left;
	if (list_empty(&inlinings) && pguard_region_list_is_empty())
		pguard_signal_probe_stop();
	if (is_left) {
		unmap_delay = min_t(unsigned long, 2 * unmap_delay, UNMAP_LONGEST);
		queue_delayed_work(system_dfl_wq, &unmap_work, unmap_delay);
	}
	mutex_unlock(&inlining_lock);
}

/* Nothing of ours is mapped.  Context: may sleep; the module goes. */
void pguard_inlining_deinit(void)
{
	cancel_delayed_work_sync(&unmap_work);
	pguard_signal_probe_stop();
	tracepoint_synchronize_unregister();
}

static struct pguard_inlining *inlining_find(const struct pguard_target *target,
					     const struct pguard_jumps *jumps)
{
	struct pguard_inlining *inlining;

	lockdep_assert_held(&inlining_lock);
	list_for_each_entry(inlining, &inlinings, list)
		if (inlining->target == target && !inlining->is_active &&
		    pguard_jumps_are_same(inlining->jumps, jumps))
			return inlining;
	return NULL;
}

static void inlining_free(struct pguard_inlining *inlining)
{
	pguard_jumps_free(inlining->jumps);
	kfree(inlining);
}

/**
 * pguard_inlining_get() - sites of a target that are to jump, once their probes are on
 * @target: the target
 * @jumps: the sites; taken over
 *
 * If the same sites of the target jumped before, their landings are used again.
 *
 * Context: a worker; may sleep; the target is locked.
 * Return: to be put; or NULL for lack of memory.
 */
struct pguard_inlining *pguard_inlining_get(struct pguard_target *target,
					    struct pguard_jumps *jumps)
{
	struct pguard_inlining *new = kzalloc(sizeof(*new), GFP_KERNEL), *ret;

	pguard_target_assert_locked(target);
	if (!new) {
		pguard_jumps_free(jumps);
		return NULL;
	}
	new->target = target;
	new->jumps = jumps;
	mutex_lock(&inlining_lock);
	ret = inlining_find(target, jumps);
	if (!ret && !pguard_signal_probe_start()) {
		list_add_tail(&new->list, &inlinings);
		ret = new;
		new = NULL;
	}
	mutex_unlock(&inlining_lock);
	if (new)
		inlining_free(new);
	return ret;
}

/* The sites, which stay as long as this does; or NULL.  Context: any. */
struct pguard_jumps *pguard_inlining_jumps(const struct pguard_inlining *inlining)
{
	return inlining ? inlining->jumps : NULL;
}

/* Their probes are on.  Context: a worker; may sleep; the target is locked. */
void pguard_inlining_begin(struct pguard_inlining *inlining)
{
	mutex_lock(&inlining_lock);
	inlining->is_active = true;
	WRITE_ONCE(generation, generation + 1);
	mutex_unlock(&inlining_lock);
}

/**
 * pguard_inlining_end() - have the sites jump no more, in whatever process; or NULL
 *
 * Comes before the first of their probes goes.
 *
 * Context: a worker; may sleep, also for the map locks of processes; the target is locked.
 */
void pguard_inlining_end(struct pguard_inlining *inlining)
{
	if (!inlining)
		return;
	mutex_lock(&inlining_lock);
	inlining->is_active = false;
	pguard_jumps_remove(inlining->jumps);
	/* Others may have sites at the same places. */
	WRITE_ONCE(generation, generation + 1);
	mutex_unlock(&inlining_lock);
}

/**
 * pguard_inlining_put_off() - have one site jump no more for now; its probe is on
 *
 * Context: as pguard_inlining_end().
 */
void pguard_inlining_put_off(struct pguard_jumps *jumps, u32 number)
{
	mutex_lock(&inlining_lock);
	pguard_jumps_remove_one(jumps, number);
	mutex_unlock(&inlining_lock);
}

/* Have it jump again, when threads come by; its probe is on.  Context: the same. */
void pguard_inlining_put_on(struct pguard_jumps *jumps, u32 number)
{
	mutex_lock(&inlining_lock);
	jumps->list[number].is_off = false;
	WRITE_ONCE(generation, generation + 1);
	mutex_unlock(&inlining_lock);
}

/**
 * pguard_inlining_forget() - the sites of a target will not come again
 * @target: the target; none of its probes are on
 *
 * Context: a worker; may sleep; the target is locked.
 */
void pguard_inlining_forget(struct pguard_target *target)
{
	struct pguard_inlining *inlining, *next;

	pguard_target_assert_locked(target);
	mutex_lock(&inlining_lock);
	list_for_each_entry_safe(inlining, next, &inlinings, list)
		if (inlining->target == target) {
			list_del(&inlining->list);
			inlining_free(inlining);
			unmap_soon();
		}
	mutex_unlock(&inlining_lock);
}

/*
 * Have all sites of current's process jump that are to, in the files that it has mapped; returns 0
 * or enum perfguard_inline_refusal.
 */
static u32 sites_jump(const struct pguard_thread *thread)
{
	const struct pguard_inlining *inlining;
	u32 ret = 0;
	int error;

	list_for_each_entry(inlining, &inlinings, list) {
		if (inlining->target != thread->image->target || !inlining->is_active)
			continue;
		error = pguard_jumps_install(inlining->jumps, thread->image);
		if (error && error != -ENOENT)
			ret = PERFGUARD_INLINE_REFUSAL_UNMAPPED;
	}
	return ret;
}

/* Have no site of current's process jump. */
static void sites_stay(const struct pguard_thread *thread)
{
	const struct pguard_inlining *inlining;

	list_for_each_entry(inlining, &inlinings, list)
		if (inlining->target == thread->image->target)
			pguard_jumps_leave(inlining->jumps);
}

/* Change current's process, which is the target's of @thread. */
static void process_visit(struct pguard_thread *thread)
{
	struct pguard_target *target = thread->image->target;
	u32 refusal = pguard_inline_refusal();

	if (mutex_lock_killable(&inlining_lock))
		return;
	if (!refusal)
		refusal = sites_jump(thread) ?: pguard_area_look(thread);
	/* Most visits are before the first wait of a thread that starts. */
	if (thread->profile)
		pguard_noted_hits_begin(thread);
	/* They may have become jumps before. */
	if (refusal == PERFGUARD_INLINE_REFUSAL_GS || refusal == PERFGUARD_INLINE_REFUSAL_THREADS)
		sites_stay(thread);
	if (refusal) {
		WRITE_ONCE(target->inline_refused_pid, current->tgid);
		WRITE_ONCE(target->inline_refusal, refusal);
	}
	mutex_unlock(&inlining_lock);
	/* Those whose guards are to jump, and that have no ring yet, are to look. */
	if (thread->takes_noted)
		pguard_target_unsettle(target);
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

/**
 * pguard_inlining_visit() - look at current's process on its way to user mode
 * @thread: of current
 *
 * Without memory it is left to the next hit.
 *
 * Context: current; does not sleep.
 */
void pguard_inlining_visit(struct pguard_thread *thread)
{
	struct inlining_visit *visit = kmalloc(sizeof(*visit), GFP_NOWAIT | __GFP_NOWARN);

	if (!visit)
		return;
	thread->inlined = READ_ONCE(generation);
	thread->inline_due = (u32)jiffies + VISIT_AGAIN;
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
 * pguard_inlining_look() - pguard_inlining_visit() if there is something new for current's process
 * @thread: of current
 *
 * Context: current; does not sleep.
 */
void pguard_inlining_look(struct pguard_thread *thread)
{
	if (thread->inlined != READ_ONCE(generation))
		pguard_inlining_visit(thread);
}

/**
 * pguard_inlining_hit() - current ran into a breakpoint
 * @thread: of current, of the site's target
 * @site: the breakpoint's
 *
 * If the site may jump, and nothing of its file does, that may have been mapped since the process
 * was looked at.
 *
 * Context: current, in the handler of a probe; does not sleep or fault.
 */
void pguard_inlining_hit(struct pguard_thread *thread, const struct pguard_site *site)
{
	if (site->jumps && (s32)((u32)jiffies - thread->inline_due) >= 0 &&
	    !pguard_jumps_are_in(site->jumps, current->mm))
		pguard_inlining_visit(thread);
	else
		pguard_inlining_look(thread);
}
