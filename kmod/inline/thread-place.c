// SPDX-License-Identifier: GPL-2.0

#include "inline/thread-place.h"

#include <linux/processor.h>
#include <linux/ptrace.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/sched/task_stack.h>
#include <linux/smp.h>
#include <linux/uaccess.h>

enum {
	/* To catch a thread that goes from one CPU to another. */
	TRIES = 16,
	NOT_USER = PF_KTHREAD | PF_IO_WORKER,
};

struct place {
	const struct task_struct *task;
	unsigned long ip;
	bool is_seen;
};

/* An interrupt saves the registers of user mode where a system call does. */
static void look(void *data)
{
	struct place *place = data;

	if (current != place->task)
		return;
	place->ip = task_pt_regs(current)->ip;
	place->is_seen = true;
}

/*
 * A thread that is on no CPU has saved its registers, and goes on there, or is dead, when its stack may
 * be gone.  Those of one that runs are of the last time it was in the kernel, so its CPU is asked.
 */
static bool place_see(struct task_struct *task, struct place *place)
{
	u32 tries;

	for (tries = 0; tries < TRIES; tries++) {
		/* As the scheduler releases it. */
		if (!smp_load_acquire(&task->on_cpu))
			return !copy_from_kernel_nofault(&place->ip, &task_pt_regs(task)->ip,
							 sizeof(place->ip));
		smp_call_function_single(task_cpu(task), look, place, true);
		if (place->is_seen)
			return true;
		cpu_relax();
	}
	return false;
}

/* Its tracer may send it anywhere. */
static bool may_be_in(struct task_struct *task, unsigned long start, unsigned long size)
{
	struct place place = { .task = task };

	return READ_ONCE(task->ptrace) || !place_see(task, &place) || place.ip - start < size;
}

/**
 * pguard_threads_are_in() - may a thread be at an address of a range, when it goes on in user mode
 * @mm: whose threads, those of all processes that share it
 * @start: of the range
 * @size: bytes
 *
 * Signals that a thread came from are not looked at.
 *
 * Context: may sleep.
 */
bool pguard_threads_are_in(const struct mm_struct *mm, unsigned long start, unsigned long size)
{
	struct task_struct *process, *task;
	bool ret = false;

	rcu_read_lock();
	for_each_process_thread(process, task) {
		if (READ_ONCE(task->mm) != mm || task->flags & NOT_USER)
			continue;
		if (may_be_in(task, start, size)) {
			ret = true;
			goto unlock;
		}
	}
unlock:
	rcu_read_unlock();
	return ret;
}
