// SPDX-License-Identifier: GPL-2.0
/* What is late, and what guarding takes, beyond what was declared, and not by chance. */

#include "app/watch/expectation.h"

#include <stdio.h>

#include "app/watch/status-query.h"
#include "tap.h"

#define CPU_NS UINT64_C(10000000000)

static bool is_late(uint64_t late, uint64_t units, const char *rule, uint64_t objective_ns)
{
	struct armed_type type = { .late = late, .threshold_ns = objective_ns };
	struct armed_profile armed = { .units = units };
	struct status_profile profile = {
		.armed = &armed,
		.types = &type,
		.nr_types = 1,
		.is_known = true,
	};

	snprintf(profile.model.threshold_rule, sizeof(profile.model.threshold_rule), "%s", rule);
	return expectation_is_late(&profile);
}

static bool is_costly(uint32_t budget_ppm, uint64_t cpu_ns, double share)
{
	struct armed_profile armed = {
		.prices.budget_ppm = budget_ppm,
		.cost = { .cpu = cpu_ns, .guards = (uint64_t)((double)cpu_ns * share) },
	};
	const struct status_profile profile = { .armed = &armed };

	return expectation_is_costly(&profile);
}

static bool is_between(double value, double low, double high)
{
	return value >= low && value <= high;
}

static void test_shares(void)
{
	/* Of Poisson's distribution, by sums of 40 digits. */
	static const struct { uint64_t late; double least, most; } known[] = {
		{ 0, 0, 6.908 }, { 1, 0.001, 9.233 }, { 10, 2.961, 24.134 }, { 22, 10.288, 40.7 },
	};
	struct expectation_share few, many;

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		struct expectation_share share = expectation_share(known[i].late, 1000);

		ok(is_between(share.least * 1000, known[i].least - 0.001, known[i].least + 0.001) &&
		   is_between(share.most * 1000, known[i].most - 0.001, known[i].most + 0.001),
		   "%d late: %.4g to %.4g of 1000", (int)known[i].late, share.least * 1000,
		   share.most * 1000);
	}
	few = expectation_share(500, 100000);
	many = expectation_share(501, 100000);
	ok(is_between(many.least / few.least, 0.99, 1.01) &&
	   is_between(many.most / few.most, 0.99, 1.01), "counted and by deviations: no step");
	ok(expectation_share(0, 0).most == 1, "of no unit nothing is known");
}

int main(void)
{
	plan(6 + 9 + 4);
	test_shares();
	ok(!is_late(1, 100, "rate:0.001", 0), "1 late of 100 says nothing");
	ok(is_late(7, 802, "rate:0.001", 0), "7 of 802 are too many");
	ok(is_late(22, 547, "rate:0.001", 0), "22 of 547, too");
	ok(!is_late(7, 802, "rate:0.01", 0), "not where one in a hundred may be");
	ok(!is_late(1040, 1000000, "rate:0.001", 0), "1040 of a million may be by chance");
	ok(is_late(1200, 1000000, "rate:0.001", 0), "1200 are not");
	ok(!is_late(500, 1000, "sigma:4", 0), "a rule without a rate declares none");
	ok(!is_late(500, 1000, "rate:0.001", 1000), "nor does a limit that was set");
	ok(!is_late(0, 0, "rate:0.001", 0), "nothing is said of no unit");
	ok(is_costly(20000, CPU_NS, 0.0397), "3.97 %% is beyond 2 %%");
	ok(!is_costly(20000, CPU_NS, 0.0205), "2.05 %% is not");
	ok(!is_costly(20000, CPU_NS / 10, 0.0397), "nor what the first second took");
	ok(!is_costly(0, CPU_NS, 0.5), "nor anything without a budget");
	return tap_status();
}
