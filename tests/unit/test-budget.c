// SPDX-License-Identifier: GPL-2.0
/* How guarding keeps to its budget: the arithmetic, and what comes of it over a long time. */

#include <perfguard/budget.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "tap.h"

#define MS 1000000ull
#define SECOND (1000 * MS)

static struct budget budget_of(uint32_t ppm, int64_t balance_ns)
{
	return (struct budget){
		.ppm = ppm,
		.balance_ns = balance_ns,
		.capacity_ns = (int64_t)budget_scale(SECOND, ppm),
	};
}

static void parts(void)
{
	ok(budget_scale(SECOND, 20000) == 20 * MS, "2 %% of a second");
	ok(budget_scale(999999, 500000) == 499999, "half of less than a million");
	ok(budget_scale(1ull << 62, BUDGET_ALL) == 1ull << 62, "all of a century");
	ok(budget_ppm(20 * MS, SECOND) == 20000, "a share");
	ok(budget_ppm(1ull << 62, 1ull << 63) == 500000, "a share of very much");
	ok(budget_ppm(0, 0) == 0 && budget_ppm(1, 0) == ~0u && budget_ppm(1ull << 62, 1) == ~0u,
	   "shares that there are not");
}

static void settling(void)
{
	struct budget budget = budget_of(20000, 0);

	budget_settle(&budget, (int64_t)SECOND / 2, 4 * (int64_t)MS);
	ok(budget.balance_ns == 6 * (int64_t)MS, "earned less spent");
	budget_settle(&budget, 100 * (int64_t)SECOND, 0);
	ok(budget.balance_ns == 20 * (int64_t)MS, "no more is kept than a second earns");
	budget_settle(&budget, -(int64_t)SECOND, 0);
	ok(budget.balance_ns == 0, "what was reported too soon is taken back");
	budget_settle(&budget, 0, 50 * (int64_t)MS);
	ok(budget.balance_ns == -50 * (int64_t)MS, "there may be debts");
	budget_resize(&budget, 8 * SECOND, 2 * SECOND);
	ok(budget.capacity_ns == 80 * (int64_t)MS, "four processors earn four times as much");
	budget_resize(&budget, 8 * SECOND, 0);
	ok(budget.capacity_ns == 0, "in no time nothing is earned");
}

static void judging(void)
{
	struct budget rich = budget_of(20000, 20 * MS), poor = budget_of(20000, -1);

	ok(!budget_excess(&rich, SECOND, 30 * MS, true), "what was saved may be spent");
	ok(budget_excess(&poor, SECOND, 30 * MS, true) == 10 * MS, "and no more");
	ok(!budget_excess(&poor, SECOND, 20 * MS, true), "what is within the budget is none of the debt");
	ok(!budget_excess(&poor, 20 * MS, 800000, false), "an early sample sees only high cost");
	ok(budget_excess(&rich, 20 * MS, 10 * MS, false) == 10 * MS - 800000 - BUDGET_BATCH_NS,
	   "but that at once");
	ok(budget_headroom(&rich, SECOND, 10 * MS) == 7500, "an eighth stays free");
	ok(!budget_headroom(&rich, SECOND, 18 * MS) && !budget_headroom(&poor, SECOND, 0) &&
	   !budget_headroom(&rich, 0, 0), "no room if much is spent, in debt, or at rest");
	ok(budget_allowance(&rich, 20 * MS, false) == 40 * (int64_t)MS &&
	   budget_allowance(&poor, 20 * MS, false) == 20 * (int64_t)MS, "a second's earnings, and what was saved");
	ok(budget_allowance(&rich, 20 * MS, true) == 5 * (int64_t)MS, "less while something is tried");
	ok(budget_allowance(&poor, 0, false) == 2 * BUDGET_BATCH_NS, "always something");
}

/*
 * The way of kmod/budget/budget.c with one guard that takes @share of the time while it is
 * on, and something that takes @rest anyhow, in steps of a millisecond.
 */
struct simulated {
	struct budget budget;
	double spent_ns;
	double cpu_ns;
	double on_ns;
	uint32_t sheds;
};

static struct simulated simulate(uint32_t ppm, double share, double rest, int cpus, int seconds)
{
	struct simulated all = { .budget.ppm = ppm };
	uint64_t window_ms = 0, pause_ms = 5000, off_ms = 0;
	double cpu = 0, spent = 0;
	int64_t allowance = 2 * BUDGET_BATCH_NS;
	bool is_on = true, is_trying = false;

	for (int ms = 0; ms < 1000 * seconds; ms++) {
		double took = (double)MS * cpus * (is_on ? share + rest : rest);
		bool is_whole = ++window_ms >= 1000;

		cpu += (double)MS * cpus;
		spent += took;
		all.cpu_ns += (double)MS * cpus;
		all.spent_ns += took;
		all.on_ns += is_on ? (double)MS : 0;
		allowance -= (int64_t)took;
		off_ms += !is_on;
		budget_settle(&all.budget, (int64_t)MS * cpus, (int64_t)took);
		if (!is_whole && allowance >= 0)
			continue;
		if (is_whole)
			budget_resize(&all.budget, (uint64_t)cpu, window_ms * MS);
		if (is_on && budget_excess(&all.budget, (uint64_t)cpu, (uint64_t)spent, is_whole)) {
			is_on = is_trying = false;
			off_ms = 0;
			all.sheds++;
			pause_ms = pause_ms < 300000 ? 2 * pause_ms : 600000;
		} else if (is_whole) {
			is_trying = false;
			if (!is_on && off_ms >= pause_ms &&
			    budget_headroom(&all.budget, (uint64_t)cpu, (uint64_t)spent))
				is_on = is_trying = true;
		} else {
			goto allow;
		}
		window_ms = 0;
		cpu = spent = 0;
allow:
		allowance = budget_allowance(&all.budget, (uint64_t)all.budget.capacity_ns, is_trying);
	}
	return all;
}

static void keeping(void)
{
	static const double budgets[] = { 0.005, 0.02, 0.1 };
	static const double shares[] = { 0.003, 0.015, 0.021, 0.05, 0.5, 0.95 };

	for (size_t i = 0; i < 3; i++) {
		for (size_t j = 0; j < 6; j++) {
			for (int cpus = 1; cpus <= 64; cpus *= 64) {
				double rest = budgets[i] / 4;
				struct simulated all = simulate((uint32_t)(budgets[i] * 1e6 + 0.5),
								shares[j], rest, cpus, 120);
				double took = all.spent_ns / all.cpu_ns;

				ok(took <= budgets[i] + 0.002,
				   "budget %.1f %%, a guard of %.1f %%, %d processors: %.3f %%, shed %u times",
				   100 * budgets[i], 100 * shares[j], cpus, 100 * took, all.sheds);
				if (shares[j] + rest <= budgets[i])
					ok(!all.sheds, "it fits, and stays on");
				else
					ok(all.on_ns < 0.2 * all.cpu_ns / cpus || shares[j] < 0.03,
					   "it does not, and is off");
			}
		}
	}
}

int main(void)
{
	plan(6 + 6 + 10 + 2 * 36);
	parts();
	settling();
	judging();
	keeping();
	return tap_status();
}
