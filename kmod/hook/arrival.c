// SPDX-License-Identifier: GPL-2.0

/*
 * A thread that sleeps in a call when that is hooked has passed the hook.  Its first unit begins
 * when the call returns, which the stub does not see.  So the thread gets a task work, which it
 * runs on its way out, before it is in user mode: it is not woken for that, and the call is the
 * same as ever.  The work does what the hook would have done.
 *
 * Until then the work holds the module.  So the drain wakes these threads like those that
 * the stub has called for (drain.c); this work takes the EINTR back.  A thread that has gone on
 * between the look at it and the work comes by sooner or later, unless it sleeps in another call
 * by then: that is not interrupted, and the drain waits.
 */

#include "hook/hook.h"

#include "lib/charge.h"
#include "target/image.h"
#include "target/process.h"
#include "target/thread.h"
#include "unit/wait-site.h"

#include <linux/module.h>
#include <linux/pid.h>
#include <linux/pid_namespace.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/sched/task_stack.h>
#include <linux/task_work.h>

/**
 * struct arrival - the return of a call whose entry was not seen
 * @work: queued to the thread
 * @thread: referenced; is_expected
 * @syscall: the call
 * @ip: the user's instruction pointer in it
 * @sp: his stack pointer
 * @nr_waits: hooked calls that the thread had made
 */
struct arrival {
	struct callback_head work;
	struct pguard_thread *thread;
	u64 syscall;
	u64 ip;
	u64 sp;
	u64 nr_waits;
};

static void expected_end(struct pguard_thread *thread)
{
	spin_lock(&thread->lock);
	thread->is_asleep = false;
	/* All we did to the state comes before the drain sees us gone. */
	smp_store_release(&thread->is_expected, false);
	spin_unlock(&thread->lock);
	pguard_thread_put(thread);
	/* Last: the module may go, once pguard_drain_deinit() has waited for what is left here. */
	module_put(THIS_MODULE);
}

/* Returns true if current is on its way out of that call, and has come by no hook since. */
static bool is_leaving(const struct arrival *arrival, const struct pt_regs *regs)
{
	return regs->orig_ax == arrival->syscall && regs->ip == arrival->ip &&
	       regs->sp == arrival->sp && (long)regs->ax != -ENOSYS &&
	       arrival->thread->nr_waits == arrival->nr_waits;
}

/* Runs in the thread, on its way to user mode or in its exit. */
static void arrival_run(struct callback_head *work)
{
	struct arrival *arrival = container_of(work, struct arrival, work);
	struct pguard_thread *thread = arrival->thread;
	struct pt_regs *regs = task_pt_regs(current);

	if (!(current->flags & PF_EXITING) && is_leaving(arrival, regs)) {
		if (!READ_ONCE(thread->dead))
			pguard_wait_return(thread, regs);
		else if ((long)regs->ax == -EINTR && pguard_drain_woke())
			regs->ax = -ERESTARTNOHAND;
	}
	kfree(arrival);
	expected_end(thread);
}

/* Returns true if a task sleeps as it did when it had left its CPU so often. */
static bool is_asleep(const struct task_struct *task, unsigned long switches)
{
	return READ_ONCE(task->__state) & TASK_INTERRUPTIBLE && !READ_ONCE(task->on_cpu) &&
	       READ_ONCE(task->nvcsw) == switches;
}

/* The call that a task is in; false if it is none that is hooked, and may be interrupted. */
static bool call_get(struct task_struct *task, struct pt_regs *ret)
{
	bool is_alive;

	/* Who exits takes the lock before its stack goes. */
	task_lock(task);
	is_alive = task->mm;
	if (is_alive)
		*ret = *task_pt_regs(task);
	task_unlock(task);
	/* One that has returned, if only to begin again, has another value there. */
	return is_alive && (long)ret->orig_ax >= 0 && (long)ret->ax == -ENOSYS &&
	       pguard_hook_has(pguard_place_syscall(ret)) && pguard_wait_may_end(ret);
}

/*
 * Queue it to a task that has left its CPU so often, and sleeps since.
 *
 * Return: true if it is the task's now.
 */
static bool arrival_queue(struct arrival *arrival, struct task_struct *task,
			  unsigned long switches)
{
	struct pguard_thread *thread = arrival->thread;

	/* It is in the hook, or expected already. */
	if (READ_ONCE(thread->inflight) || READ_ONCE(thread->is_expected))
		return false;
	arrival->nr_waits = READ_ONCE(thread->nr_waits);
	/* It has not entered another call before that was read. */
	smp_rmb();
	if (!is_asleep(task, switches))
		return false;
	/* Its target holds one. */
	__module_get(THIS_MODULE);
	refcount_inc(&thread->refs);
	WRITE_ONCE(thread->is_expected, true);
	if (task_work_add(task, &arrival->work, TWA_RESUME)) {
		expected_end(thread);
		return false;
	}
	spin_lock(&thread->lock);
	/* Then it is in that call still, and comes by when it leaves it. */
	thread->is_asleep = READ_ONCE(thread->is_expected) && is_asleep(task, switches);
	spin_unlock(&thread->lock);
	return true;
}

/* Expect a task of an image if it sleeps in a hooked call.  Without memory its unit is missed. */
static void expect(struct pguard_image *image, struct task_struct *task)
{
	unsigned long switches = READ_ONCE(task->nvcsw);
	struct pguard_thread *thread;
	struct arrival *arrival;
	struct pt_regs call;

	if (!is_asleep(task, switches) || !call_get(task, &call))
		return;
	thread = pguard_thread_other(image, task);
	if (!thread)
		return;
	arrival = pguard_zalloc_charged(image->memcg, sizeof(*arrival));
	if (arrival) {
		init_task_work(&arrival->work, arrival_run);
		arrival->thread = thread;
		arrival->syscall = call.orig_ax;
		arrival->ip = call.ip;
		arrival->sp = call.sp;
		if (!arrival_queue(arrival, task, switches))
			kfree(arrival);
	}
	pguard_thread_put(thread);
}

/* Those of a process, if it is the target's; in an RCU section. */
static int expect_process(const struct pguard_process *process, void *target)
{
	struct task_struct *leader, *task;

	if (process->image->target != target)
		return 0;
	leader = pid_task(find_pid_ns(process->tgid, &init_pid_ns), PIDTYPE_TGID);
	if (leader)
		for_each_thread(leader, task)
			expect(process->image, task);
	return 0;
}

/**
 * pguard_arrivals_expect() - see the threads of a target return that sleep in hooked calls
 * @target: its processes are known, and its calls hooked
 *
 * Those that sleep in the hook, or are expected, are left alone.
 *
 * Context: pguard_control held; does not sleep.
 */
void pguard_arrivals_expect(struct pguard_target *target)
{
	unsigned long position[2] = { };

	lockdep_assert_held(&pguard_control);
	pguard_process_walk(position, expect_process, target);
}
