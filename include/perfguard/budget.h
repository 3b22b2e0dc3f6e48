/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How guarding keeps to its budget: the arithmetic, for the module and the tests.
 *
 * A budget is a share of the target's CPU time.  It is earned as the target
 * runs and spent by what guarding takes; what is left over is kept, as much as
 * a second earns.  So over any time guarding takes its share of it and what was
 * kept, and when it took more at once, less afterwards.
 *
 * Whoever keeps to it looks when a second is over (a whole sample window), and
 * early when the allowance is used up.  An early window is short: what costs much
 * shows in it, but what is near the limit may be on either side of it by chance;
 * so it only finds fault with twice the budget.
 */
#ifndef _PERFGUARD_BUDGET_H
#define _PERFGUARD_BUDGET_H

#include <linux/types.h>

enum {
	BUDGET_ALL = 1000000,		/* millionths */
	/* What is spent is taken off the allowance in batches of so many ns. */
	BUDGET_BATCH_NS = 500000,
};

/**
 * struct budget - a share of CPU time
 * @ppm: the share, in millionths; 0 for no limit
 * @balance_ns: what is left of what was earned; negative if more was spent
 * @capacity_ns: what is kept at most: a second's earnings
 */
struct budget {
	__u32 ppm;
	__s64 balance_ns;
	__s64 capacity_ns;
};

/* @ppm millionths of @ns. */
static inline __u64 budget_scale(__u64 ns, __u64 ppm)
{
	return ns / BUDGET_ALL * ppm + ns % BUDGET_ALL * ppm / BUDGET_ALL;
}

/* @part_ns in millionths of @ns; as much as a word has for too many. */
static inline __u32 budget_ppm(__u64 part_ns, __u64 ns)
{
	__u64 ret;

	while (part_ns >> 44) {
		part_ns >>= 1;
		ns >>= 1;
	}
	if (!ns)
		return part_ns ? ~0u : 0;
	ret = part_ns * BUDGET_ALL / ns;
	return ret < ~0u ? (__u32)ret : ~0u;
}

/* A whole second, or nearly: @cpu_ns of CPU time in @wall_ns. */
static inline void budget_resize(struct budget *budget, __u64 cpu_ns, __u64 wall_ns)
{
	__u64 permille = wall_ns / 1000 ? cpu_ns / (wall_ns / 1000) : 0;

	budget->capacity_ns = (__s64)budget_scale(permille * 1000000, budget->ppm);
}

/**
 * budget_settle() - time has passed
 * @budget: the budget
 * @cpu_ns: CPU time of the target since the last time; may be negative, as when
 *	a process ended that was seen too late
 * @spent_ns: what guarding took of it
 */
static inline void budget_settle(struct budget *budget, __s64 cpu_ns, __s64 spent_ns)
{
	__s64 earned = cpu_ns < 0 ? -(__s64)budget_scale((__u64)-cpu_ns, budget->ppm) :
				    (__s64)budget_scale((__u64)cpu_ns, budget->ppm);

	budget->balance_ns += earned - spent_ns;
	if (budget->balance_ns > budget->capacity_ns)
		budget->balance_ns = budget->capacity_ns;
}

/**
 * budget_excess() - what was spent beyond the budget
 * @budget: settled
 * @cpu_ns: CPU time in the window
 * @spent_ns: what guarding took of it
 * @is_whole: the window is a whole one
 *
 * Return: ns that have to go from what such a window takes; 0 for none.
 */
static inline __u64 budget_excess(const struct budget *budget, __u64 cpu_ns, __u64 spent_ns,
				  int is_whole)
{
	__u64 limit = budget_scale(cpu_ns, budget->ppm);

	if (!is_whole)
		limit = 2 * limit + BUDGET_BATCH_NS;
	else if (budget->balance_ns >= 0)
		return 0;
	return spent_ns > limit ? spent_ns - limit : 0;
}

/**
 * budget_headroom() - what may be added
 * @budget: settled
 * @cpu_ns: CPU time in a whole window
 * @spent_ns: what guarding took of it
 *
 * Not while the balance is low; and an eighth stays free, so that what fits
 * today fits tomorrow.
 *
 * Return: millionths of CPU time that are free.
 */
static inline __u32 budget_headroom(const struct budget *budget, __u64 cpu_ns, __u64 spent_ns)
{
	__u32 spent = budget_ppm(spent_ns, cpu_ns), limit = budget->ppm - budget->ppm / 8;

	if (!cpu_ns || budget->balance_ns < budget->capacity_ns / 2)
		return 0;
	return spent < limit ? limit - spent : 0;
}

/**
 * budget_allowance() - what may be spent until an early look
 * @budget: settled
 * @earned_ns: what a second earns
 * @is_careful: something was added of which it is not known what it takes
 *
 * Return: ns.
 */
static inline __s64 budget_allowance(const struct budget *budget, __u64 earned_ns, int is_careful)
{
	__s64 ret = (__s64)earned_ns;

	if (budget->balance_ns > 0)
		ret += budget->balance_ns;
	if (is_careful)
		ret /= 8;
	return ret > 2 * BUDGET_BATCH_NS ? ret : 2 * BUDGET_BATCH_NS;
}

#endif /* _PERFGUARD_BUDGET_H */
