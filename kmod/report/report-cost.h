/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The CPU time that reports of late units take.
 *
 * A report takes as much as twenty hits and more: a record, a copy of the
 * stack, and further ones while the unit stays late.  Where many units are late
 * that is most of what guarding takes, and no guard can be shed for it.  So
 * under a budget reports have a share of it, which the target earns and spends
 * as guards do theirs (budget.c).  Beyond that share a few are made whatever
 * they cost: a target that is nearly idle earns nearly nothing, and its late
 * units are the ones that are waited for.
 */
#ifndef _KMOD_REPORT_REPORT_COST_H
#define _KMOD_REPORT_REPORT_COST_H

#include "lib/account.h"
#include "lib/clock.h"
#include "target/target.h"

/* While something is reported; on the stack of who does it. */
struct pguard_report_cost {
	struct pguard_mark mark;
	u64 begun;	/* pguard_clock() */
};

/* Charge a target for so many ns.  Context: any. */
static inline void pguard_report_cost_add(struct pguard_target *target, u64 ns)
{
	atomic64_add(ns, &target->report_ns);
	atomic64_sub(ns, &target->report_left);
}

/* Context: any task; the thread itself, or the watchdog for it. */
static inline void pguard_report_cost_begin(struct pguard_report_cost *cost)
{
	cost->begun = pguard_clock();
	pguard_account_mark(&cost->mark);
}

/*
 * Charge the target, which is referenced, for the CPU time since the begin; not
 * for what current slept meanwhile.  Context: as above, of the same task.
 */
static inline void pguard_report_cost_end(const struct pguard_report_cost *cost,
					  struct pguard_target *target)
{
	struct pguard_account account;

	pguard_account_current(&cost->mark, pguard_clock_ns(pguard_clock() - cost->begun),
			       &account);
	pguard_report_cost_add(target, account.cpu);
}

#endif /* _KMOD_REPORT_REPORT_COST_H */
