/* SPDX-License-Identifier: GPL-2.0 */
/* What a profile keeps of its budget, and of what guarding by it took; see kmod/budget. */
#ifndef _KMOD_PROFILE_BUDGET_STATE_H
#define _KMOD_PROFILE_BUDGET_STATE_H

#include <linux/atomic.h>

#include <linux/perfguard.h>
#include <perfguard/budget.h>

enum { PGUARD_GUARD_WAYS = PERFGUARD_STEP_MODE_STEPPED + 1 };

/**
 * struct pguard_cost_model - what the steps of guarding cost on this machine, ns
 * @hit: a hit without its handler, by way of the guard
 * @call: a hooked call
 * @unit: a unit, in addition to the call
 * @assumed: enum perfguard_unit_cost: those that userland could not measure
 */
struct pguard_cost_model {
	u32 hit[PGUARD_GUARD_WAYS];
	u32 call;
	u32 unit;
	u32 assumed;
};

/**
 * struct pguard_cost - what guarding a target took, ns where nothing else is said
 * @cpu: the target's CPU time so far
 * @units: number of units that ended in the profile's loops
 * @hits: number of hits
 * @check: handlers of hits
 * @guards: hits, with their handlers
 * @boundaries: what cannot be shed
 * @reports: reports of late units, by the target's threads and for them
 */
struct pguard_cost {
	u64 cpu;
	u64 units;
	u64 hits;
	u64 check;
	u64 guards;
	u64 boundaries;
	u64 reports;
};

/**
 * struct pguard_budget_state - how guarding keeps to its budget
 * @model: does not change once the profile is armed
 * @base: the cost when the profile was armed; the same
 * @last: the cost in the last whole sample window; the target lock for writing,
 *	READ_ONCE
 * @allowance: ns that may be spent until the governor looks; by CPUs, see guard.c
 * @batch: hits that a CPU counts before it takes them off the allowance; the lock,
 *	READ_ONCE
 * @budget: its @ppm does not change once the profile is armed
 */
struct pguard_budget_state {
	struct pguard_cost_model model;
	struct pguard_cost base;
	struct pguard_cost last;
	atomic64_t allowance;
	s32 batch;
	struct budget budget;
	/* private: the governor's */
	struct pguard_cost settled;	/* in all when it was settled last, and */
	struct pguard_cost begun;	/* when the sample window began, */
	unsigned long since;		/* in jiffies */
	unsigned long armed;		/* the same: when the profile was */
	bool is_trying;			/* a guard that was shed: */
	u32 tried;
};

#endif /* _KMOD_PROFILE_BUDGET_STATE_H */
