// SPDX-License-Identifier: GPL-2.0

#include "lib/account.h"

#include <linux/cgroup.h>
#include <linux/sched/clock.h>

#include <linux/perfguard.h>

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
	account->stopped = 0;
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

/**
 * pguard_account_run_delay() - for how long a task has waited for a CPU so far
 * @task: referenced or in an RCU section, not current
 *
 * Context: any.
 * Return: ns, with the wait that is under way
 */
u64 pguard_account_run_delay(const struct task_struct *task)
{
	u64 ret = READ_ONCE(task->sched_info.run_delay), now = local_clock();
	u64 since = READ_ONCE(task->sched_info.last_queued);

	/* On 6.12 one that sleeps may have it, see pguard_account_mark_stop(). */
	if (since && task_is_running(task) && !READ_ONCE(task->on_cpu))
		ret += max_t(s64, now - since, 0);
	return ret;
}

/**
 * pguard_account_stop_cause() - is a task stopped
 * @task: referenced
 *
 * The freezer of cgroup v2 and a stop by a signal let a task sleep on its way to user mode; that
 * of cgroup v1 may also freeze it where it waits.
 *
 * Context: any; may be out of date at once.
 * Return: enum perfguard_stop_cause; 0 if it is not.
 */
u32 pguard_account_stop_cause(struct task_struct *task)
{
	u32 state = READ_ONCE(task->__state);

	if (state & __TASK_TRACED)
		return PERFGUARD_STOP_CAUSE_TRACER;
	if (state & __TASK_STOPPED)
		return PERFGUARD_STOP_CAUSE_SIGNAL;
	if (state & TASK_FROZEN)
		return PERFGUARD_STOP_CAUSE_FREEZER;
	/* Who waits for a child of vfork() counts as frozen, too, in another state. */
	if (state & TASK_INTERRUPTIBLE && cgroup_task_frozen(task))
		return PERFGUARD_STOP_CAUSE_FREEZER;
	return 0;
}

/* Returns true if the task has not gone on since the mark was taken.  Context: any. */
bool pguard_account_is_stopped_still(struct task_struct *task,
				     const struct pguard_stop_mark *mark)
{
	return pguard_account_stop_cause(task) && !READ_ONCE(task->on_cpu) &&
	       (u32)READ_ONCE(task->nvcsw) == mark->voluntary;
}

/**
 * pguard_account_mark_stop() - take a mark of a task if it is stopped
 * @task: referenced, not current
 * @ret: filled in
 *
 * Its counters stand still since it left its CPU, which the scheduler's clock of it says when.
 *
 * From 6.12 on a task that goes to sleep may stay in its run queue for a while (kernel commit
 * 152e11f6df29).  That of 6.12 moves such a task to another CPU like one that waits, and from
 * then on counts all its sleep as a wait, which adds to run_delay when it runs again.
 *
 * Context: any.
 * Return: enum perfguard_stop_cause; 0 if it is not stopped, or not off its CPU yet.
 */
u32 pguard_account_mark_stop(struct task_struct *task, struct pguard_stop_mark *ret)
{
	u32 cause = pguard_account_stop_cause(task);
	u64 now = local_clock();

	/* Pairs with the scheduler's release when it has switched to another task. */
	if (!cause || smp_load_acquire(&task->on_cpu))
		return 0;
	ret->voluntary = READ_ONCE(task->nvcsw);
	ret->since = min(READ_ONCE(task->se.exec_start), now);
	ret->cpu = READ_ONCE(task->se.sum_exec_runtime);
	ret->runqueue = READ_ONCE(task->sched_info.run_delay);
	ret->is_queued = READ_ONCE(task->sched_info.last_queued);
	/* All that before it is found to be stopped still. */
	smp_rmb();
	return pguard_account_is_stopped_still(task, ret) ? cause : 0;
}

/**
 * pguard_account_since_stop() - how long a task neither ran nor waited for a CPU since a stop
 * @mark: taken then
 * @task: the task, referenced
 * @queued: set to what the kernel counts of that as a wait for a CPU, ns
 *
 * Context: any.
 * Return: ns
 */
u64 pguard_account_since_stop(const struct pguard_stop_mark *mark, struct task_struct *task,
			      u64 *queued)
{
	u64 now = local_clock(), cpu = READ_ONCE(task->se.sum_exec_runtime);
	u64 runqueue = READ_ONCE(task->sched_info.run_delay) - mark->runqueue;
	struct pguard_mark end;
	s64 ret;

	if (task == current) {
		pguard_account_mark(&end);
		cpu = mark_cpu(&end, now, 0);
	}
	*queued = mark->is_queued ? runqueue : 0;
	ret = now - mark->since - (cpu - mark->cpu) - (runqueue - *queued);
	return max_t(s64, ret, 0);
}

/**
 * pguard_account_take_stopped() - put down a part of a unit's time to stops
 * @account: of the unit
 * @stopped: for how long it was, ns
 * @queued: what of that is not in its blocked time but counted as a wait for a CPU, ns
 *
 * Without times all of its time was its own.
 *
 * Context: any.
 */
void pguard_account_take_stopped(struct pguard_account *account, u64 stopped, u64 queued)
{
	if (!account->has_times) {
		account->stopped = min(stopped, account->elapsed);
		return;
	}
	queued = min(queued, account->runqueue);
	account->runqueue -= queued;
	account->blocked += queued;
	account->stopped = min(stopped, account->blocked);
	account->blocked -= account->stopped;
	account->block_io = min(account->block_io, account->blocked);
}

/* The account of a unit as if it had not been stopped.  Context: any. */
struct pguard_account pguard_account_without_stops(const struct pguard_account *account)
{
	struct pguard_account ret = *account;

	ret.elapsed -= ret.stopped;
	ret.stopped = 0;
	return ret;
}
