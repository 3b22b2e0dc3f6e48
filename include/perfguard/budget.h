/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The arithmetic of the budget of guarding, for the module and the tests.
 *
 * A budget is a share of the target's CPU time.  It is earned as the target
 * runs and spent by guarding; the rest is saved, up to the earnings of a second.
 * So over any time guarding takes at most its share and the savings; if it took
 * more at once, it takes less afterwards.
 *
 * Spending is checked after each second (a whole window), and early when the
 * allowance is used up.  An early check covers a short window: it shows
 * guards that are far too expensive, but a cost near the limit may be on either
 * side of it by chance; so an early check only objects to twice the budget.
 */
#ifndef _PERFGUARD_BUDGET_H
#define _PERFGUARD_BUDGET_H

#include <linux/types.h>

enum {
	BUDGET_ALL = 1000000,		/* millionths */
	/* Spending is accounted in batches of so many ns. */
	BUDGET_BATCH_NS = 500000,
};

/**
 * struct budget - a share of CPU time
 * @ppm: the share, in millionths; 0 for no limit
 * @balance_ns: earnings less spending; negative if more was spent
 * @capacity_ns: the most that is saved: a second's earnings
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
 * budget_settle() - account for CPU time that has passed
 * @budget: the budget
 * @cpu_ns: CPU time of the target since the last time; may be negative, as when
 *	the end of a process was noticed late
 * @spent_ns: of this, time that guarding took
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
 * budget_excess() - how much more is spent than the budget allows
 * @budget: settled
 * @cpu_ns: CPU time in the window
 * @spent_ns: of this, time that guarding took
 * @is_whole: it is a whole window
 *
 * Return: ns to remove from the spending of such a window; 0 for none.
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
 * budget_headroom() - how much CPU time is free for more guards
 * @budget: settled
 * @cpu_ns: CPU time in a whole window
 * @spent_ns: of this, time that guarding took
 *
 * None while the balance is low; and an eighth stays free, so that guards
 * that fit now fit later.
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
 * budget_allowance() - the spending allowed until the next check
 * @budget: settled
 * @earned_ns: earnings of a second
 * @is_careful: a guard of unknown cost was added
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
