// SPDX-License-Identifier: GPL-2.0

/*
 * A thread that is stopped in mid-unit, by a signal, a tracer or the freezer, is late by nothing
 * that its program does.  The kernel counts no such time, and to see each stop would cost those
 * who are not watched.  So it is the watchdog that finds out: a scan that meets a stopped thread
 * takes a mark of it, from which the stop's begin is known to a microsecond, whenever that was.
 * It queues a task work, which the thread runs when it goes on, before it is in user mode, and
 * so knows the end as exactly.
 *
 * What no scan meets is blocked time: stops that are shorter than the time between two scans, so
 * than the least limit or some milliseconds.  They make no unit late that is in time otherwise
 * by more than that.
 *
 * A signal that stops a thread in its loop's wait cuts that short first, where it is not begun
 * again (epoll_wait): it returns EINTR, and a unit begins.  The thread is stopped on its way out,
 * between two units and not in one, so the unit begins when it goes on.
 */

#include "unit/unit.h"

#include "lib/charge.h"

#include <linux/err.h>
#include <linux/module.h>
#include <linux/ptrace.h>
#include <linux/sched/jobctl.h>
#include <linux/sched/task_stack.h>
#include <linux/task_work.h>

/* A wait that was cut short has left the thread where it is: the unit has not run yet. */
static void begin_again(struct pguard_thread *thread, u64 word)
{
	/* The watchdog may have found it late before it saw it stopped. */
	if (word & PGUARD_PHASE_LATE || !pguard_unit_stop(thread, word))
		return;
	pguard_unit_begin(thread, pguard_clock());
}

static void add_stopped(struct pguard_thread *thread, struct pguard_stopped *stopped, u64 word)
{
	u64 queued, ns = pguard_account_since_stop(&stopped->mark, current, &queued);

	WRITE_ONCE(stopped->ns, stopped->ns + ns);
	WRITE_ONCE(stopped->queued, stopped->queued + queued);
	while (!try_cmpxchg(&thread->unit, &word, word | PGUARD_PHASE_STOPPED))
		;
}

/* The thread goes on. */
static void stop_end(struct pguard_thread *thread, struct pguard_stopped *stopped)
{
	u64 word = READ_ONCE(thread->unit);
	bool is_confirmed = READ_ONCE(stopped->is_confirmed);

	if (!(word & PGUARD_PHASE_RUNNING) || pguard_unit_number(word) != stopped->unit)
		return;
	/* It went on before it was asked: then this is right if it has not left its CPU since. */
	if (!is_confirmed && stopped->mark.voluntary != (u32)current->nvcsw)
		return;
	if (is_confirmed && stopped->is_between && pguard_thread_inference(thread))
		begin_again(thread, word);
	else
		add_stopped(thread, stopped, word);
}

/* Runs in the thread, on its way to user mode or in its exit. */
static void stopped_run(struct callback_head *work)
{
	struct pguard_stopped *stopped = container_of(work, struct pguard_stopped, work);
	struct pguard_thread *thread = stopped->thread;

	stop_end(thread, stopped);
	/* From here on it is the watchdog's. */
	smp_store_release(&stopped->is_pending, false);
	pguard_thread_put(thread);
	/* Last: the module may go, once pguard_drain_deinit() has waited for what is left here. */
	module_put(THIS_MODULE);
}

/* Made when it is needed first; NULL for lack of memory. */
static struct pguard_stopped *stopped_get(struct pguard_thread *thread)
{
	struct pguard_stopped *stopped = thread->stopped;

	if (stopped)
		return stopped;
	stopped = pguard_zalloc_charged(thread->image->memcg, sizeof(*stopped));
	if (!stopped)
		return NULL;
	stopped->thread = thread;
	init_task_work(&stopped->work, stopped_run);
	/* Pairs with pguard_unit_take_stopped(). */
	smp_store_release(&thread->stopped, stopped);
	return stopped;
}

/* Returns true if a stopped thread is on its way out of a wait of its loop that failed; RCU. */
static bool is_between(struct pguard_thread *thread)
{
	const struct pguard_place *place = READ_ONCE(thread->place);
	const struct pguard_call_site_info *is = &place->call_site->is;
	const struct pt_regs *regs;
	bool ret = false;

	if (!is->loop || is->role != PERFGUARD_BOUNDARY_ROLE_WAIT)
		return false;

	/* Its registers may go once it has passed its exit. */
	spin_lock(&thread->lock);
	if (!thread->gone) {
		regs = task_pt_regs(thread->task);
		ret = IS_ERR_VALUE(regs->ax) &&
		      pguard_place_is(place, regs, pguard_place_syscall(regs));
	}
	spin_unlock(&thread->lock);
	return ret;
}

/* The signal, or the process that traces it; RCU. */
static u32 stopped_by(struct task_struct *task, u32 cause)
{
	const struct task_struct *tracer;

	if (cause == PERFGUARD_STOP_CAUSE_SIGNAL)
		return READ_ONCE(task->jobctl) & JOBCTL_STOP_SIGMASK;
	tracer = cause == PERFGUARD_STOP_CAUSE_TRACER ? ptrace_parent(task) : NULL;
	return tracer ? tracer->tgid : 0;
}

/* Let the thread say when it goes on. */
static void ask(struct pguard_thread *thread, struct pguard_stopped *stopped)
{
	if (!pguard_thread_get(thread))
		return;
	/* Its target, for now, holds one. */
	__module_get(THIS_MODULE);
	stopped->is_confirmed = false;
	/* Pairs with pguard_unit_take_stopped(). */
	smp_store_release(&stopped->is_pending, true);
	if (task_work_add(thread->task, &stopped->work, TWA_RESUME)) {
		WRITE_ONCE(stopped->is_pending, false);
		pguard_thread_put(thread);
		module_put(THIS_MODULE);
	} else if (pguard_account_is_stopped_still(thread->task, &stopped->mark)) {
		WRITE_ONCE(stopped->is_confirmed, true);
	}
}

/**
 * pguard_stopped_is_new() - is the thread of a unit that runs stopped, and is that not known yet
 * @thread: any, in an RCU section
 *
 * Context: any.
 */
bool pguard_stopped_is_new(const struct pguard_thread *thread)
{
	const struct pguard_stopped *stopped;

	if (likely(!pguard_account_stop_cause(thread->task)))
		return false;
	stopped = READ_ONCE(thread->stopped);
	return !stopped || !READ_ONCE(stopped->is_pending);
}

/**
 * pguard_stopped_look() - note that a thread is stopped in mid-unit, if it is
 * @thread: any, in an RCU section
 * @word: pguard_thread.unit, of its unit
 *
 * Context: the watchdog's work; does not sleep.
 */
void pguard_stopped_look(struct pguard_thread *thread, u64 word)
{
	struct pguard_stopped *stopped = stopped_get(thread);
	struct pguard_stop_mark mark;
	u32 cause;

	/* Pairs with stopped_run(). */
	if (!stopped || smp_load_acquire(&stopped->is_pending))
		return;
	cause = pguard_account_mark_stop(thread->task, &mark);
	if (!cause || !pguard_unit_runs(thread, word))
		return;
	if (stopped->unit != pguard_unit_number(word)) {
		WRITE_ONCE(stopped->ns, 0);
		WRITE_ONCE(stopped->queued, 0);
		WRITE_ONCE(stopped->unit, pguard_unit_number(word));
	}
	stopped->mark = mark;
	WRITE_ONCE(stopped->cause, cause);
	WRITE_ONCE(stopped->by, stopped_by(thread->task, cause));
	stopped->is_between = is_between(thread);
	ask(thread, stopped);
}

/**
 * pguard_stopped_is_between() - does a unit that runs only begin when its thread goes on
 * @thread: any, in an RCU section
 * @word: pguard_thread.unit, of its unit
 *
 * Context: the watchdog.
 */
bool pguard_stopped_is_between(const struct pguard_thread *thread, u64 word)
{
	const struct pguard_stopped *stopped = READ_ONCE(thread->stopped);

	/* Written by the watchdog itself. */
	return stopped && READ_ONCE(stopped->is_pending) && stopped->is_between &&
	       READ_ONCE(stopped->unit) == pguard_unit_number(word);
}
