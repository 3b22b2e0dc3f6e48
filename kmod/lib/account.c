// SPDX-License-Identifier: GPL-2.0

#include "lib/account.h"

#include <linux/sched/clock.h>

/*
 * The CPU time at the mark.  It was taken @elapsed ago, and since the
 * scheduler's clock runs at the same rate as ours, the clock's value then is
 * known now: it need not be read when the mark is taken.
 */
static u64 mark_cpu(const struct pguard_mark *mark, u64 now, u64 elapsed)
{
	s64 since = now - elapsed - mark->exec_start;

	/*
	 * Clocks of two CPUs may differ a little; and where the scheduler's
	 * leaves out stolen time it lags behind.  A running task is brought up
	 * to date at each tick.
	 */
	return mark->sum_exec + clamp_t(s64, since, 0, 2 * TICK_NSEC);
}

static u32 mark_involuntary(const struct pguard_mark *mark)
{
	return mark->events - mark->min_faults - mark->maj_faults - mark->voluntary;
}

static bool has_left(const struct pguard_account *account)
{
	return account->voluntary || account->involuntary;
}

/* Counters that tick for themselves may run ahead of our clock a little. */
static void account_close(struct pguard_account *account, u64 elapsed)
{
	account->elapsed = elapsed;
	if ((s64)account->cpu < 0)
		account->cpu = 0;
	account->cpu = min(account->cpu, elapsed);
	account->runqueue = min(account->runqueue, elapsed - account->cpu);
	account->blocked = elapsed - account->cpu - account->runqueue;
	account->block_io = min(account->block_io, account->blocked);
	account->has_times = true;
}

static void account_counts(const struct pguard_mark *mark, const struct task_struct *task,
			   struct pguard_account *account)
{
	account->runqueue = READ_ONCE(task->sched_info.run_delay) - mark->runqueue;
	/* The mark does not have it where it is not accounted. */
	account->has_block_io = pguard_account_has_block_io(task);
	account->block_io = account->has_block_io ?
				    pguard_account_block_io(task) - mark->block_io : 0;
	account->min_faults = (u32)READ_ONCE(task->min_flt) - mark->min_faults;
	account->maj_faults = (u32)READ_ONCE(task->maj_flt) - mark->maj_faults;
	account->voluntary = (u32)READ_ONCE(task->nvcsw) - mark->voluntary;
	account->involuntary = (u32)READ_ONCE(task->nivcsw) - mark_involuntary(mark);
}

/**
 * pguard_account_between() - the account of a unit of current that ended before now
 * @mark: taken when the unit began
 * @end: taken when it ended
 * @since: ns since then
 * @elapsed: ns between the two
 * @ret: filled in
 *
 * Context: the task itself, any.
 */
void pguard_account_between(const struct pguard_mark *mark, const struct pguard_mark *end,
			    u64 since, u64 elapsed, struct pguard_account *ret)
{
	u64 now = local_clock();

	ret->runqueue = end->runqueue - mark->runqueue;
	ret->has_block_io = pguard_account_has_block_io(current);
	ret->block_io = ret->has_block_io ? end->block_io - mark->block_io : 0;
	ret->min_faults = end->min_faults - mark->min_faults;
	ret->maj_faults = end->maj_faults - mark->maj_faults;
	ret->voluntary = end->voluntary - mark->voluntary;
	ret->involuntary = mark_involuntary(end) - mark_involuntary(mark);
	ret->interrupted = end->interrupts != mark->interrupts;
	ret->cpu = elapsed;
	if (has_left(ret))
		ret->cpu = mark_cpu(end, now, since) - mark_cpu(mark, now, since + elapsed);
	account_close(ret, elapsed);
}

/**
 * pguard_account_current() - the account of current's unit
 * @mark: taken when the unit began
 * @elapsed: ns since
 * @ret: filled in
 *
 * Context: the task itself, any.
 */
void pguard_account_current(const struct pguard_mark *mark, u64 elapsed,
			    struct pguard_account *ret)
{
	struct pguard_mark end;
	u64 now;

	account_counts(mark, current, ret);
	ret->interrupted = pguard_interrupts() != mark->interrupts;
	if (!has_left(ret)) {
		ret->cpu = elapsed;
	} else {
		pguard_account_mark(&end);
		now = local_clock();
		ret->cpu = mark_cpu(&end, now, 0) - mark_cpu(mark, now, elapsed);
	}
	account_close(ret, elapsed);
}

/**
 * pguard_account_remote() - the account so far of another task's unit
 * @mark: taken when the unit began; may be torn when the unit ends meanwhile,
 *	which the caller finds out
 * @elapsed: ns since
 * @task: the task, referenced
 * @ret: filled in
 *
 * The counters lag behind for as long as the task is in its present state, since the last
 * tick or switch; the scheduler knows since when, by its own clock.  Of a task that never
 * gave up the CPU itself all the rest is put down to the state.
 *
 * Context: any.
 */
void pguard_account_remote(const struct pguard_mark *mark, u64 elapsed,
			   struct task_struct *task, struct pguard_account *ret)
{
	u64 now = local_clock(), since, rest;
	bool is_on_cpu;

	account_counts(mark, task, ret);
	/* While it runs it is looked at by interrupts. */
	ret->interrupted = true;
	ret->cpu = READ_ONCE(task->se.sum_exec_runtime) - mark_cpu(mark, now, elapsed);
	account_close(ret, elapsed);
	/* On its way into a wait it still computes. */
	is_on_cpu = READ_ONCE(task->on_cpu);
	if (!is_on_cpu && !task_is_running(task))
		return;
	since = is_on_cpu ? READ_ONCE(task->se.exec_start)
			  : READ_ONCE(task->sched_info.last_queued);
	rest = ret->blocked;
	if (ret->voluntary)
		rest = since ? clamp_t(s64, now - since, 0, rest) : 0;
	if (is_on_cpu)
		ret->cpu += rest;
	else
		ret->runqueue += rest;
	ret->blocked -= rest;
	ret->block_io = min(ret->block_io, ret->blocked);
}
