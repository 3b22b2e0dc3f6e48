/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What guarding adds to a call, estimated by a clock that other load disturbs.
 *
 * Load only makes a round of calls longer, so of many short rounds the shortest
 * counts.  Load may also last for longer than all rounds take together, so guards
 * go on and off several times, which puts rounds with guards and without among
 * each other.  A shortest round is confirmed if that of two more times on, or off,
 * is about as short.  Guards go on and off again until what is in doubt is less
 * than half of each estimate, or the time is up.  What is not known by then is
 * assumed, at a multiple of the shortest bare system call that no machine should
 * exceed.
 */
#ifndef _USER_APP_ARM_COST_ESTIMATE_H
#define _USER_APP_ARM_COST_ESTIMATE_H

#include <stdbool.h>
#include <stdint.h>

#include "data/armed.h"

/* What is called: in the order of enum perfguard_unit_cost, and of enum perfguard_step_mode. */
enum cost_subject {
	COST_KERNEL_HIT,
	COST_MODULE_HIT,
	COST_STEPPED_HIT,
	COST_NR_HITS,
	COST_CALL = COST_NR_HITS, /* a system call */
	COST_UNIT, /* a system call, too, which ends a unit */
	COST_NR_SUBJECTS,
};

/* The machine, or one that a test simulates. */
struct cost_machine {
	void *context;
	uint64_t (*now)(void *context); /* ns */
	/* Put guards on or off; returns 0 or a negative errno, as does the last. */
	int (*set_guarded)(void *context, bool is_guarded);
	uint64_t (*round)(void *context, enum cost_subject subject, uint32_t calls); /* ns */
	int (*handler)(void *context, uint64_t *ret_ns); /* since guards are on */
};

/* All but the budget of *@ret.  Returns 0 or the errno of a callback. */
int cost_estimate(const struct cost_machine *machine, struct armed_prices *ret);

/*
 * The same of this machine (hit-benchmark.c).  Returns 0 or an exit code; the error
 * was reported.
 */
int price_measure(struct armed_prices *ret);

#endif /* _USER_APP_ARM_COST_ESTIMATE_H */
