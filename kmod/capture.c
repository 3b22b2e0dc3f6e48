// SPDX-License-Identifier: GPL-2.0

#include "capture.h"

#include "compat.h"
#include "stack.h"
#include "task.h"

#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/sched/signal.h>
#include <linux/sched/task_stack.h>
#include <linux/slab.h>
#include <linux/task_work.h>

enum phase {
	PENDING,	/* the thread has not come by */
	TAKEN,		/* it has; @done tells when the copy is ready */
	ABANDONED,	/* nobody waits for it any more */
};

struct pguard_capture {
	struct callback_head work;
	struct pguard_task *state;	/* referenced */
	struct pguard_stack *stack;
	struct completion done;
	atomic_t phase;
	refcount_t refs;	/* the watch's and the queued work's */
};

/* Requests whose work has not run. */
static atomic_t nr_pending = ATOMIC_INIT(0);

/* Runs in the thread, on its way to user mode or in its exit. */
static void capture_run(struct callback_head *work)
{
	struct pguard_capture *capture = container_of(work, struct pguard_capture, work);

	WRITE_ONCE(capture->state->captured, false);
	if (atomic_cmpxchg(&capture->phase, PENDING, TAKEN) == PENDING) {
		if (!(current->flags & PF_EXITING))
			capture->stack = pguard_stack_self(task_pt_regs(current));
		if (capture->stack)
			capture->stack->state = PERFGUARD_STACK_STATE_RUNNING;
		complete(&capture->done);
	}
	pguard_capture_put(capture);
	atomic_dec(&nr_pending);
}

/**
 * pguard_capture_start() - ask a thread for its stack
 * @state: the thread, referenced by the caller
 *
 * Context: may sleep.
 * Return: the request, to be given back with pguard_capture_put(); NULL if an
 * earlier one still waits for the thread, the thread exits, or memory is short.
 */
struct pguard_capture *pguard_capture_start(struct pguard_task *state)
{
	struct pguard_capture *capture;

	if (READ_ONCE(state->captured))
		return NULL;
	capture = kzalloc(sizeof(*capture), GFP_KERNEL);
	if (!capture)
		return NULL;
	refcount_set(&capture->refs, 2);
	refcount_inc(&state->refs);
	capture->state = state;
	init_completion(&capture->done);
	init_task_work(&capture->work, capture_run);

	atomic_inc(&nr_pending);
	WRITE_ONCE(state->captured, true);
	/*
	 * RESUME and not SIGNAL: a thread that goes to sleep before it sees
	 * the request must not be woken for it.
	 */
	if (task_work_add(state->task, &capture->work, TWA_RESUME)) {
		WRITE_ONCE(state->captured, false);
		atomic_dec(&nr_pending);
		pguard_task_put(state);
		kfree(capture);
		return NULL;
	}
	kick_process(state->task);
	return capture;
}

/**
 * pguard_capture_wait() - wait for the thread, not long
 *
 * A thread in user mode is interrupted at once and needs some microseconds.
 *
 * Context: may sleep.
 * Return: the stack, owned by the caller; NULL if none came.
 */
struct pguard_stack *pguard_capture_wait(struct pguard_capture *capture)
{
	struct pguard_stack *stack;

	if (!wait_for_completion_timeout(&capture->done, msecs_to_jiffies(8)))
		return NULL;
	stack = capture->stack;
	capture->stack = NULL;
	return stack;
}

/**
 * pguard_capture_abandon() - wait no longer
 *
 * Return: true if the thread had not come by until now, so that it was in the
 * kernel since before pguard_capture_wait() returned; false if it has, and a
 * second wait will give what it copied.
 */
bool pguard_capture_abandon(struct pguard_capture *capture)
{
	return atomic_cmpxchg(&capture->phase, PENDING, ABANDONED) == PENDING;
}

void pguard_capture_put(struct pguard_capture *capture)
{
	if (!refcount_dec_and_test(&capture->refs))
		return;
	pguard_stack_free(capture->stack);
	pguard_task_put(capture->state);
	kfree(capture);
}

/* Nobody starts a request any more; wait for those on their way. */
void pguard_capture_deinit(void)
{
	while (atomic_read(&nr_pending))
		msleep(20);
}
