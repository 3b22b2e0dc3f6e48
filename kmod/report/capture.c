// SPDX-License-Identifier: GPL-2.0

/*
 * Taking the stack of another thread.
 *
 * A thread that sleeps, or is busy in the kernel, has a stack that stands
 * still and is read from outside.  One that runs in user mode is requested, by
 * task work, to copy its own on its way there.  A queued task work cannot be
 * taken back from a module, so a request may outlive the spec for it: it is
 * abandoned, and does nothing when the thread comes by.  Each request holds a reference
 * to the module.
 */

#include "report/stack.h"

#include "report/report-cost.h"
#include "target/image.h"
#include "target/thread.h"

#include <linux/completion.h>
#include <linux/module.h>
#include <linux/pid.h>
#include <linux/pid_namespace.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/sched/task_stack.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/task_work.h>

enum phase {
	PENDING,	/* the thread has not come by */
	TAKEN,		/* it has; @done says when the copy is ready */
	ABANDONED,	/* nobody waits for it any more */
};

struct pguard_capture {
	struct callback_head work;
	struct pguard_thread *thread; /* referenced */
	struct pguard_stack *stack;
	struct completion done;
	atomic_t phase;
	refcount_t refs;	/* the watch's and the queued work's */
};

atomic64_t pguard_capture_torn = ATOMIC64_INIT(0);

static void capture_put(struct pguard_capture *capture)
{
	if (!refcount_dec_and_test(&capture->refs))
		return;
	pguard_stack_free(capture->stack);
	pguard_thread_put(capture->thread);
	kfree(capture);
}

/* Runs in the thread, on its way to user mode or in its exit. */
static void capture_run(struct callback_head *work)
{
	struct pguard_capture *capture = container_of(work, struct pguard_capture, work);
	struct pguard_report_cost cost;

	pguard_report_cost_begin(&cost);
	WRITE_ONCE(capture->thread->captured, false);
	if (atomic_cmpxchg(&capture->phase, PENDING, TAKEN) == PENDING) {
		if (!(current->flags & PF_EXITING))
			capture->stack = pguard_stack_self(capture->thread, task_pt_regs(current));
		if (capture->stack)
			capture->stack->state = PERFGUARD_STACK_STATE_RUNNING;
		complete(&capture->done);
	}
	pguard_report_cost_end(&cost, capture->thread->image->target);
	capture_put(capture);
	/* Last: the module may go, once pguard_drain_deinit() has waited for what is left here. */
	module_put(THIS_MODULE);
}

/* Ask a thread for its stack; NULL if it exits, or memory is short. */
static struct pguard_capture *capture_start(struct pguard_thread *thread)
{
	struct pguard_capture *capture = kzalloc(sizeof(*capture), GFP_KERNEL | __GFP_NOWARN);

	if (!capture)
		return NULL;
	refcount_set(&capture->refs, 2);
	refcount_inc(&thread->refs);
	capture->thread = thread;
	init_completion(&capture->done);
	init_task_work(&capture->work, capture_run);

	/* A thread that is stopped comes by when it goes on; its target, for now, holds one. */
	__module_get(THIS_MODULE);
	WRITE_ONCE(thread->captured, true);
	/*
	 * RESUME and not SIGNAL: a thread that goes to sleep before it sees
	 * the request must not be woken for it.
	 */
	if (task_work_add(thread->task, &capture->work, TWA_RESUME)) {
		WRITE_ONCE(thread->captured, false);
		module_put(THIS_MODULE);
		pguard_thread_put(thread);
		kfree(capture);
		return NULL;
	}
	kick_process(thread->task);
	return capture;
}

/* Wait for its stack, not long: one in user mode is interrupted at once.  NULL if none came. */
static struct pguard_stack *capture_wait(struct pguard_capture *capture)
{
	struct pguard_stack *stack;

	if (!wait_for_completion_timeout(&capture->done, msecs_to_jiffies(8)))
		return NULL;
	stack = capture->stack;
	capture->stack = NULL;
	return stack;
}

static u64 switches(const struct task_struct *task)
{
	return READ_ONCE(task->nvcsw) + READ_ONCE(task->nivcsw);
}

/* A thread that is not on a CPU: valid if it never got on one meanwhile. */
static struct pguard_stack *stack_of_sleeper(struct pguard_thread *thread)
{
	u64 before = switches(thread->task);
	struct pguard_stack *stack;

	stack = pguard_stack_read(thread);
	smp_rmb(); /* pairs with nothing: the bytes before the counters */
	if (stack && !READ_ONCE(thread->task->on_cpu) && before == switches(thread->task))
		return stack;
	pguard_stack_free(stack);
	return NULL;
}

/* Asks a CPU whether it is in a system call of the task. */
struct where {
	struct task_struct *task;
	bool in_kernel;
};

/*
 * By interrupt, on the thread's CPU.  Had it interrupted user mode, the entry
 * would have put a negative number in the place of the system call's.
 */
static void where_is(void *argument)
{
	struct where *where = argument;

	where->in_kernel = current == where->task &&
			   (long)task_pt_regs(current)->orig_ax >= 0;
}

/* Returns true if a thread that is on a CPU is in the kernel.  A stolen CPU answers late. */
static bool runs_in_kernel(struct task_struct *task)
{
	struct where where = { .task = task };

	smp_call_function_single(task_cpu(task), where_is, &where, 1);
	return where.in_kernel;
}

/*
 * Read the stack of a thread for as long as a request to it is pending: it has
 * not been in user mode since.
 */
static struct pguard_stack *stack_while_pending(struct pguard_thread *thread)
{
	struct pguard_stack *stack = pguard_stack_read(thread);

	if (READ_ONCE(thread->captured))
		return stack;
	pguard_stack_free(stack);
	return NULL;
}

/*
 * A thread on a CPU: a task work makes it copy its own stack on its way to user
 * mode, and kicked there.  If it does not come by it is busy in the kernel;
 * then its stack stands still for as long as the request is pending.
 */
static struct pguard_stack *stack_of_runner(struct pguard_thread *thread)
{
	struct pguard_capture *capture;
	struct pguard_stack *stack;

	if (READ_ONCE(thread->captured))
		return stack_while_pending(thread);
	capture = capture_start(thread);
	if (!capture)
		return NULL;
	stack = capture_wait(capture);
	if (!stack) {
		if (runs_in_kernel(thread->task))
			stack = pguard_stack_read(thread);
		/* It came by while we read: its own copy is the better one. */
		if (atomic_cmpxchg(&capture->phase, PENDING, ABANDONED) == TAKEN) {
			pguard_stack_free(stack);
			stack = capture_wait(capture);
		}
	}
	capture_put(capture);
	return stack;
}

/* The stack of a thread; NULL if it is gone or kept moving. */
static struct pguard_stack *thread_stack(struct pguard_thread *thread)
{
	struct pguard_stack *stack = NULL;
	int tries;

	for (tries = 0; tries < 4 && !stack && !READ_ONCE(thread->gone); tries++) {
		if (READ_ONCE(thread->task->on_cpu))
			stack = stack_of_runner(thread);
		else
			stack = stack_of_sleeper(thread);
	}
	if (!stack)
		atomic64_inc(&pguard_capture_torn);
	return stack;
}

/* The thread that holds a lock, referenced; NULL if it is gone, or of another process. */
static struct pguard_thread *holder_get(u32 tid, const struct pguard_thread *waiter)
{
	struct pguard_thread *thread;
	struct task_struct *task;

	rcu_read_lock();
	task = pid_task(find_pid_ns(tid, &init_pid_ns), PIDTYPE_PID);
	if (task && same_thread_group(task, waiter->task))
		get_task_struct(task);
	else
		task = NULL;
	rcu_read_unlock();
	if (!task)
		return NULL;
	thread = pguard_thread_sibling(waiter, task);
	put_task_struct(task);
	return thread;
}

/**
 * pguard_capture_stack() - copy the stack of another thread
 * @thread: the thread; referenced by the caller
 *
 * Context: may sleep; a worker.
 * Return: the stack, to be freed by the caller; NULL if the thread is gone,
 * kept moving, or memory is short.  Behind it the stack of the thread that
 * holds the lock it waits for.
 */
struct pguard_stack *pguard_capture_stack(struct pguard_thread *thread)
{
	struct pguard_stack *stack = thread_stack(thread);
	struct pguard_thread *holder;

	if (!stack || !stack->holder)
		return stack;
	holder = holder_get(stack->holder, thread);
	if (!holder)
		return stack;
	stack->next = thread_stack(holder);
	if (stack->next)
		stack->next->tid = stack->holder;
	pguard_thread_put(holder);
	return stack;
}
