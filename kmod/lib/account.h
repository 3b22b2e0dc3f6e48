/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Where a unit's time went, from what the scheduler counts for the task
 * anyway.  A mark is taken when the unit begins; its difference to the
 * counters now is the account.  No hook in the scheduler, so bystanders pay
 * nothing.
 *
 * What is neither CPU nor run queue is blocked: the rest by definition.  A
 * unit in which the task never left its CPU was all CPU; that is seen from
 * the counts of switches, and is the case that must be cheap.
 *
 * When the task is stopped nothing counts that.  Whoever sees it stopped takes
 * another mark, by which the task itself finds out how long that was when it
 * goes on (unit/stopped.c); it is taken off the rest then.
 *
 * Interrupts are a part of what a task computes, for most kernels.  What they
 * add to a short unit is not the unit's; whether there was one is seen from
 * the CPU's counts, which another CPU has others of.
 */
#ifndef _KMOD_LIB_ACCOUNT_H
#define _KMOD_LIB_ACCOUNT_H

#include <linux/kernel_stat.h>
#include <linux/sched.h>
#include <linux/spinlock.h>

/* Relies on the ones before it. */
#include <linux/delayacct.h>
#include <asm/hardirq.h>

/**
 * struct pguard_mark - the task's counters at one moment; times in ns
 *
 * Of what only counts, the low bits do: no unit has 2^32 faults or switches.
 *
 * @sum_exec: CPU time up to @exec_start
 * @exec_start: the scheduler's clock when @sum_exec was last brought up to
 *	date, at a tick or a switch
 * @events: faults and switches of all kinds
 * @interrupts: of the CPU that the task was on
 */
struct pguard_mark {
	u64 sum_exec;
	u64 exec_start;
	u64 runqueue;
	u64 block_io;
	u32 min_faults;
	u32 maj_faults;
	u32 voluntary;
	u32 events;
	u32 interrupts;
};

/**
 * struct pguard_account - where the time of a unit went
 *
 * @elapsed to @stopped in ns; @blocked contains @block_io.
 */
struct pguard_account {
	u64 elapsed;
	u64 cpu;
	u64 runqueue;
	u64 blocked;
	u64 block_io;
	u64 stopped;
	u64 min_faults;
	u64 maj_faults;
	u64 voluntary;
	u64 involuntary;
	bool has_times;		/* a mark was taken */
	bool interrupted;	/* its CPU had an interrupt, maybe while it was away */
	bool has_block_io;	/* the kernel accounts it for this task */
};

/**
 * struct pguard_stop_mark - a task's counters while it is stopped; times in ns
 * @since: the scheduler's clock when it left its CPU
 * @voluntary: stays the same as long as it does not leave one again
 * @is_queued: the kernel counts what follows as a wait for a CPU
 */
struct pguard_stop_mark {
	u64 since;
	u64 cpu;
	u64 runqueue;
	u32 voluntary;
	bool is_queued;
};

/*
 * Block I/O of a task.  Delay accounting is on for tasks that were forked
 * while kernel.task_delayacct was.
 */
static __always_inline bool pguard_account_has_block_io(const struct task_struct *task)
{
#ifdef CONFIG_TASK_DELAY_ACCT
	return task->delays;
#else
	return false;
#endif
}

static __always_inline u64 pguard_account_block_io(const struct task_struct *task)
{
#ifdef CONFIG_TASK_DELAY_ACCT
	if (task->delays)
		return READ_ONCE(task->delays->blkio_delay);
#endif
	return 0;
}

/* Interrupts of this CPU so far, those of its timer and of devices.  Any context. */
static __always_inline u32 pguard_interrupts(void)
{
	return this_cpu_read(PGUARD_TIMER_IRQS) + (u32)this_cpu_read(kstat.irqs_sum);
}

/* Take a mark of current.  Any context of the task itself. */
static __always_inline void pguard_account_mark(struct pguard_mark *mark)
{
	const struct task_struct *task = current;
	u64 exec_start, sum_exec;

	/* A tick in between changes exec_start, and we read again. */
	do {
		exec_start = READ_ONCE(task->se.exec_start);
		barrier();
		sum_exec = READ_ONCE(task->se.sum_exec_runtime);
		barrier();
	} while (unlikely(exec_start != READ_ONCE(task->se.exec_start)));
	mark->exec_start = exec_start;
	mark->sum_exec = sum_exec;
	mark->runqueue = task->sched_info.run_delay;
	if (pguard_account_has_block_io(task))
		mark->block_io = pguard_account_block_io(task);
	mark->interrupts = pguard_interrupts();
	mark->min_faults = task->min_flt;
	mark->maj_faults = task->maj_flt;
	mark->voluntary = task->nvcsw;
	mark->events = mark->min_faults + mark->maj_faults + mark->voluntary + (u32)task->nivcsw;
}

/*
 * Returns true if current stayed on its CPU since the mark, and met no fault.  None of the
 * counts sinks, so their sum shows it.
 */
static __always_inline bool pguard_account_is_calm(const struct pguard_mark *mark)
{
	const struct task_struct *task = current;

	return (u32)task->min_flt + (u32)task->maj_flt + (u32)task->nvcsw + (u32)task->nivcsw ==
	       mark->events;
}

void pguard_account_between(const struct pguard_mark *mark, const struct pguard_mark *end,
			    u64 since, u64 elapsed, struct pguard_account *ret);
void pguard_account_current(const struct pguard_mark *mark, u64 elapsed,
			    struct pguard_account *ret);
void pguard_account_remote(const struct pguard_mark *mark, u64 elapsed,
			   struct task_struct *task, struct pguard_account *ret);

u64 pguard_account_run_delay(const struct task_struct *task);
u32 pguard_account_stop_cause(struct task_struct *task);
u32 pguard_account_mark_stop(struct task_struct *task, struct pguard_stop_mark *ret);
bool pguard_account_is_stopped_still(struct task_struct *task,
				     const struct pguard_stop_mark *mark);
u64 pguard_account_since_stop(const struct pguard_stop_mark *mark, struct task_struct *task,
			      u64 *queued);
void pguard_account_take_stopped(struct pguard_account *account, u64 stopped, u64 queued);
struct pguard_account pguard_account_without_stops(const struct pguard_account *account);

#endif /* _KMOD_LIB_ACCOUNT_H */
