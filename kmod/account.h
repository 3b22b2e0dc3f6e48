/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Where a unit's time went, from what the scheduler counts for the task
 * anyway.  A mark is taken when the unit begins; its difference to the
 * counters now is the account.  No hook in the scheduler, so bystanders pay
 * nothing.
 *
 * What is neither CPU nor run queue is blocked: the rest by definition.
 */
#ifndef _PGUARD_ACCOUNT_H
#define _PGUARD_ACCOUNT_H

#include <linux/sched.h>
#include <linux/sched/clock.h>
#include <linux/spinlock.h>

/* Relies on the ones before it. */
#include <linux/delayacct.h>

/* The task's own counters at one moment; times in ns. */
struct pguard_mark {
	u64 cpu;
	u64 runqueue;
	u64 block_io;
	u64 min_faults;
	u64 maj_faults;
	u64 voluntary;
	u64 involuntary;
};

/**
 * struct pguard_account - where the time of a unit went
 *
 * @elapsed to @block_io in ns; @blocked contains @block_io.
 */
struct pguard_account {
	u64 elapsed;
	u64 cpu;
	u64 runqueue;
	u64 blocked;
	u64 block_io;
	u64 min_faults;
	u64 maj_faults;
	u64 voluntary;
	u64 involuntary;
	bool has_times;		/* a mark was taken */
	bool has_block_io;	/* the kernel accounts it for this task */
};

/* Delay accounting is on for tasks that were forked while the sysctl was. */
static inline bool pguard_account_has_block_io(const struct task_struct *task)
{
#ifdef CONFIG_TASK_DELAY_ACCT
	return task->delays;
#else
	return false;
#endif
}

static inline u64 pguard_account_block_io(const struct task_struct *task)
{
#ifdef CONFIG_TASK_DELAY_ACCT
	if (task->delays)
		return READ_ONCE(task->delays->blkio_delay);
#endif
	return 0;
}

/*
 * The CPU time of current up to now.  The sum is brought up to date at ticks
 * and switches, together with exec_start; what has run since is added.  A tick
 * in between changes exec_start, and we read again.
 */
static inline u64 pguard_account_cpu(void)
{
	const struct sched_entity *se = &current->se;
	u64 start, sum, now;

	do {
		start = READ_ONCE(se->exec_start);
		barrier();
		sum = READ_ONCE(se->sum_exec_runtime);
		now = local_clock();
		barrier();
	} while (unlikely(start != READ_ONCE(se->exec_start)));
	return sum + (now - start);
}

/* Take a mark of current.  Any context of the task itself. */
static inline void pguard_account_mark(struct pguard_mark *mark)
{
	mark->cpu = pguard_account_cpu();
	mark->runqueue = current->sched_info.run_delay;
	mark->block_io = pguard_account_block_io(current);
	mark->min_faults = current->min_flt;
	mark->maj_faults = current->maj_flt;
	mark->voluntary = current->nvcsw;
	mark->involuntary = current->nivcsw;
}

void pguard_account_current(const struct pguard_mark *mark, u64 elapsed,
			    struct pguard_account *ret);
void pguard_account_remote(const struct pguard_mark *mark, u64 elapsed,
			   struct task_struct *task, struct pguard_account *ret);

#endif /* _PGUARD_ACCOUNT_H */
