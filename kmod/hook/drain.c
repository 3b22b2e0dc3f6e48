// SPDX-License-Identifier: GPL-2.0

/*
 * A thread that is in a hooked call has our return address on its stack.  Its
 * state is found under RCU-sched (preemption off), and in the same section the
 * thread marks itself inflight.  The drain takes the states out of the hash,
 * waits for a grace period, and then knows that inflight only falls.  It wakes
 * the threads that sleep by a task work that signals (what livepatch does);
 * pguard_wait_leave() turns their EINTR into a restart, so that user space
 * sees nothing of it.  A relative timeout that is in the call's arguments (epoll_wait)
 * begins again with the call; the kernel itself goes on with those of poll, select and
 * the sleeps.
 *
 * Where nothing wakes a thread its target is left to a work, the reaper.
 */

#include "hook/hook.h"

#include "inline/area.h"
#include "report/stack.h"
#include "target/image.h"
#include "target/thread.h"

#include <linux/delay.h>
#include <linux/module.h>
#include <linux/sched/signal.h>
#include <linux/task_work.h>
#include <linux/workqueue.h>

enum {
	PATIENCE = HZ,		/* how long a request waits for threads */
	PERIOD = HZ / 10,
};

/* Targets that are gone except for threads that sleep. */
static LIST_HEAD(leaving);
static DEFINE_MUTEX(reaper_lock); /* guards that list; inside of target locks */
static void reaper_work(struct work_struct *work);
static DECLARE_DELAYED_WORK(dwork, reaper_work);

/**
 * pguard_drain_woke() - was it the drain that woke current, and nothing else
 *
 * Then current begins the call again, which the way to user mode sees to if a
 * flag sends it there: the drain's own, or, where a wait ran its task work and
 * took that flag off (io_uring), the one that kick_run() put in its place.
 *
 * Context: current, after a hooked call that returned EINTR.
 */
bool pguard_drain_woke(void)
{
	struct sighand_struct *sighand = rcu_dereference_protected(current->sighand, true);

	if (test_thread_flag(TIF_NOTIFY_SIGNAL) && !task_sigpending(current))
		return true;
	spin_lock_irq(&sighand->siglock);
	recalc_sigpending();
	spin_unlock_irq(&sighand->siglock);
	if (task_sigpending(current))
		return false;
	set_thread_flag(TIF_SIGPENDING);
	return true;
}

static void kick_end(struct pguard_thread *thread)
{
	pguard_thread_put(thread);
	/* Last: the module may go, once pguard_drain_deinit() has waited for what is left here. */
	module_put(THIS_MODULE);
}

static void kick_run(struct callback_head *work)
{
	struct pguard_thread *thread = container_of(work, struct pguard_thread, kick);

	/* Still in the call: its wait runs task work and sleeps again. */
	if (READ_ONCE(thread->inflight))
		set_thread_flag(TIF_SIGPENDING);
	kick_end(thread);
}

/*
 * Wake a thread that sleeps in a hooked call, or in one whose return is expected, once.  It
 * leaves the call with its lock held, so it is in there, and not in another one that would fail
 * by this, when it is woken.  One that is on its way in does not sleep yet, and may yet let the
 * call pass: it has to wait.  Until the thread comes by, if it is stopped first, the module stays.
 */
static void kick(struct pguard_thread *thread)
{
	spin_lock(&thread->lock);
	if (!thread->kicked && (READ_ONCE(thread->inflight) || thread->is_asleep) &&
	    READ_ONCE(thread->task->__state) & TASK_INTERRUPTIBLE) {
		thread->kicked = true;
		refcount_inc(&thread->refs);
		/* Its target, which is not freed yet, holds one. */
		__module_get(THIS_MODULE);
		init_task_work(&thread->kick, kick_run);
		if (task_work_add(thread->task, &thread->kick, TWA_SIGNAL))
			kick_end(thread);
	}
	spin_unlock(&thread->lock);
}

/**
 * pguard_drain_leave() - current leaves a hooked call, and is drained
 * @thread: of current, dead
 *
 * With preemption off, as under any lock of this kind, the state stays until the end.
 *
 * Context: current.
 */
void pguard_drain_leave(struct pguard_thread *thread)
{
	spin_lock(&thread->lock);
	/* All we did to the state comes before the drain sees us gone. */
	smp_store_release(&thread->inflight, 0);
	spin_unlock(&thread->lock);
}

/**
 * pguard_drain() - keep a target's threads from following hooked calls
 * @target: dying, and without processes, so that no new state is made
 *
 * Those in a call leave it with its end; pguard_drain_wait() makes them.
 *
 * Context: may sleep.
 */
void pguard_drain(struct pguard_target *target)
{
	struct pguard_thread *thread;
	struct hlist_node *next;
	u32 bucket;

	for (bucket = 0; bucket < ARRAY_SIZE(pguard_threads); bucket++) {
		spin_lock(&pguard_threads_lock);
		hlist_for_each_entry_safe(thread, next, &pguard_threads[bucket], node) {
			if (thread->image->target != target)
				continue;
			pguard_thread_unhash(thread);
			pguard_area_leave(thread);
			pguard_stack_history_drop(thread);
			hlist_add_head(&thread->drained, &target->leaving);
		}
		spin_unlock(&pguard_threads_lock);
		cond_resched();
	}
	/* RCU covers sched sections: now nobody enters with these any more. */
	synchronize_rcu();
}

/*
 * Wake those of a target's threads that sleep in hooked calls.  Returns true if all have left
 * them; one in uninterruptible sleep stays until it wakes.  One caller at a time.
 */
static bool drain_is_done(struct pguard_target *target)
{
	struct pguard_thread *thread;
	struct hlist_node *next;

	hlist_for_each_entry_safe(thread, next, &target->leaving, drained) {
		/* Pairs with state_release(), pguard_drain_leave() and the end of an arrival. */
		if (smp_load_acquire(&thread->inflight) || smp_load_acquire(&thread->is_expected)) {
			kick(thread);
			continue;
		}
		hlist_del(&thread->drained);
		pguard_thread_put(thread);
	}
	return hlist_empty(&target->leaving);
}

/* Let go of a target none of whose threads is in a hooked call. */
static void target_free(struct pguard_target *target)
{
	if (target->inode)
		path_put(&target->path);
	pguard_target_put(target);
	module_put(THIS_MODULE);
}

static void reaper_work(struct work_struct *work)
{
	struct pguard_target *target, *next;

	mutex_lock(&reaper_lock);
	list_for_each_entry_safe(target, next, &leaving, list) {
		if (!drain_is_done(target))
			continue;
		list_del(&target->list);
		target_free(target);
	}
	if (!list_empty(&leaving))
		queue_delayed_work(system_dfl_wq, &dwork, PERIOD);
	mutex_unlock(&reaper_lock);
}

/**
 * pguard_drain_wait() - let a target go when its threads are out
 * @target: drained; the list's reference to it is given back
 *
 * Wakes those that sleep, and waits for all, but not for ever: a work takes over.
 *
 * Context: may sleep, up to a second; pguard_control not held; nobody queues captures
 * for the threads any more.
 * Return: 0, or -EINPROGRESS if the work does it.
 */
int pguard_drain_wait(struct pguard_target *target)
{
	unsigned long end = jiffies + PATIENCE;

	lockdep_assert_not_held(&pguard_control);
	while (!drain_is_done(target)) {
		if (time_before(jiffies, end)) {
			usleep_range(1000, 2000);
			continue;
		}
		mutex_lock(&reaper_lock);
		list_add_tail(&target->list, &leaving);
		queue_delayed_work(system_dfl_wq, &dwork, PERIOD);
		mutex_unlock(&reaper_lock);
		return -EINPROGRESS;
	}
	target_free(target);
	return 0;
}

/*
 * Hooks are off, targets gone, and so are the task works, each of which held the module:
 * wait until no thread runs our text.
 */
void pguard_drain_deinit(void)
{
	/* It may be in its last lines. */
	flush_delayed_work(&dwork);
	synchronize_rcu_tasks();
}
