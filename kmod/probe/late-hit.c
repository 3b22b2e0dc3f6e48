// SPDX-License-Identifier: GPL-2.0

/*
 * A report takes memory and a copy of the stack, for which a handler must not wait (probe.c).
 * So the handler claims the unit, notes where it was, and leaves the report to task work: the
 * thread comes by it on its way from the breakpoint to user mode, outside of the kernel's
 * section for uprobes.
 *
 * Between the two a thread runs nothing else, so there are about as many such hits as CPUs,
 * and a fixed number of places serves all.
 */

#include "probe/late-hit.h"

#include "profile/inference.h"
#include "report/late-unit.h"
#include "target/thread.h"
#include "unit/unit.h"

#include <linux/bitmap.h>
#include <linux/delay.h>
#include <linux/ptrace.h>
#include <linux/task_work.h>

enum { NR_LATE_HITS = 32 };

/**
 * struct late_hit - a hit between handler and report
 * @thread: of the task that hit; referenced
 * @word: pguard_thread.unit of the late unit, claimed
 * @elapsed: its time at the hit, ns
 * @regs: the user registers at the hit
 */
struct late_hit {
	struct callback_head work;
	struct pguard_thread *thread;
	u64 word;
	u64 elapsed;
	struct pt_regs regs;
};

static struct late_hit late_hits[NR_LATE_HITS];
static DECLARE_BITMAP(taken, NR_LATE_HITS);

/* NULL if all are taken. */
static struct late_hit *late_hit_get(void)
{
	u32 i;

	do {
		i = find_first_zero_bit(taken, NR_LATE_HITS);
		if (i >= NR_LATE_HITS)
			return NULL;
	} while (test_and_set_bit_lock(i, taken));
	return &late_hits[i];
}

static void late_hit_put(struct late_hit *hit)
{
	clear_bit_unlock(hit - late_hits, taken);
}

/* What it takes is neither the unit's time nor that of its guards: reports have their own. */
static void report(const struct late_hit *hit)
{
	struct pguard_inference *inference = pguard_thread_inference(hit->thread);
	u64 begun = pguard_clock(), ticks;

	pguard_late_unit_report(hit->thread, hit->word, &hit->regs, hit->elapsed);
	ticks = pguard_clock() - begun;
	inference->checks += ticks;
	pguard_unit_count_checks(inference->profile, -ticks);
}

/* Runs in the thread, on its way to user mode or in its exit. */
static void late_hit_run(struct callback_head *work)
{
	struct late_hit *hit = container_of(work, struct late_hit, work);

	if (pguard_unit_runs(hit->thread, hit->word))
		report(hit);
	pguard_thread_put(hit->thread);
	late_hit_put(hit);
}

/**
 * pguard_late_hit() - a guard found its unit late
 * @thread: of current
 * @word: pguard_thread.unit; not LATE
 * @regs: current's user registers
 * @elapsed: the unit's time, ns
 *
 * Context: current, in the handler of a probe; does not sleep or fault.
 * Return: 0 if the unit will be reported; -EBUSY if it must not be now, -EAGAIN if somebody
 *	else found it late meanwhile; see pguard_late_unit_claim().
 */
int pguard_late_hit(struct pguard_thread *thread, u64 word, const struct pt_regs *regs,
		    u64 elapsed)
{
	struct late_hit *hit = late_hit_get();
	int ret;

	if (!hit)
		return -EBUSY;
	ret = pguard_late_unit_claim(thread, &word, PGUARD_PHASE_GUARD);
	if (ret)
		goto err_put;
	refcount_inc(&thread->refs);
	hit->thread = thread;
	hit->word = word;
	hit->elapsed = elapsed;
	hit->regs = *regs;
	init_task_work(&hit->work, late_hit_run);
	/* It is refused only to a task that has exited. */
	if (!task_work_add(current, &hit->work, TWA_RESUME))
		return 0;
	pguard_thread_put(thread);
err_put:
	late_hit_put(hit);
	return ret;
}

/* No handler runs any more; wait for the reports on their way. */
void pguard_late_hit_deinit(void)
{
	while (!bitmap_empty(taken, NR_LATE_HITS))
		msleep(20);
}
