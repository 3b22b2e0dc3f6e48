// SPDX-License-Identifier: GPL-2.0
/* How much longer limits are than means, for guards that leave kinds of units together. */

#include <math.h>
#include <stdlib.h>

#include "tap.h"
#include "train/guards/reach.h"
#include "train/samples/times.h"

#define US 1000u

enum { KINDS = 4, A = 1, B = 2, C = 3 };

/* A run in which three functions had guards, and one in which only the first had one. */
struct run {
	uint32_t functions[3];
	struct samples_guards guards[2];
	struct samples_hit hits[KINDS][2];
	struct samples_timing timings[KINDS + 1];
	struct samples samples;
};

static void add_kind(struct run *run, uint32_t nr_units, uint64_t ns, uint32_t function,
		     uint32_t depth)
{
	struct samples_timing *timing = &run->timings[run->samples.nr_timings];

	timing->hits = run->hits[run->samples.nr_timings++];
	if (function) {
		timing->nr_hits = 1;
		timing->hits[0] = (struct samples_hit){ .function = function, .depth = depth };
	}
	times_add_many(&timing->times[0].of[SAMPLES_OWN], ns, nr_units);
}

static void make(struct run *run)
{
	*run = (struct run){ .functions = { A, B, C } };
	run->guards[0] = (struct samples_guards){ .functions = run->functions, .nr = 3 };
	run->guards[1] = (struct samples_guards){ .functions = run->functions, .nr = 1 };
	run->samples = (struct samples){ .guards = run->guards, .nr_guards = 2,
					 .timings = run->timings };
	add_kind(run, 1998, 20 * US, 0, 0);
	add_kind(run, 1000, 20 * US, A, 64);
	add_kind(run, 3, 200 * US, B, 64);
	add_kind(run, 999, 40 * US, B, 128);
	/* of the other run */
	add_kind(run, 1, 20 * US, 0, 0);
	run->timings[KINDS].guards = 1;
	times_add_many(&run->timings[KINDS].times[0].of[SAMPLES_OWN], 1000000 * US, 1000);
}

static double now(const struct reach *reach)
{
	double bits = NAN;

	return reach_now(reach, &bits) ? NAN : bits;
}

static double with(const struct reach *reach, uint32_t at)
{
	double bits = NAN;

	return reach_try(reach, at, &bits) ? NAN : bits;
}

static void test_kinds(struct run *run)
{
	/* All together: 4000 units, of a mean of (2998 * 20 + 3 * 200 + 999 * 40) / 4000 us. */
	double mean = 25.13, power = pow((2998 * pow(20, 6) + 3 * pow(200, 6) + 999 * pow(40, 6)) /
					 4000, 1.0 / 6);
	struct reach reach;
	double before, wanted = log2(power / mean);

	make(run);
	if (reach_init(&reach, &run->samples, run->functions, 3))
		exit(1);
	ok(reach.nr_kinds == KINDS, "timings of a run with other guards do not count");
	before = now(&reach);
	ok(fabs(before - wanted) < 0.02, "without a guard limits are %.2f bits beyond means: %.2f",
	   wanted, before);
	ok(with(&reach, 0) > 0.7 * before, "a guard that a quarter of equal length hit changes little");
	ok(with(&reach, 1) < 0.01, "one that only longer ones hit, at other depths, all");
	ok(fabs(with(&reach, 2) - before) < 1e-9, "one that none hits, nothing");
	reach_choose(&reach, 1);
	ok(now(&reach) < 0.01 && with(&reach, 0) < 0.01, "so it is when it is chosen");
	reach_deinit(&reach);
}

static void test_stall(struct run *run)
{
	struct reach reach;
	double before, after;

	make(run);
	if (reach_init(&reach, &run->samples, run->functions, 3))
		exit(1);
	before = now(&reach);
	reach_deinit(&reach);
	times_add(&run->timings[0].times[0].of[SAMPLES_OWN], 1000000 * US);
	if (reach_init(&reach, &run->samples, run->functions, 3))
		exit(1);
	after = now(&reach);
	reach_deinit(&reach);
	ok(fabs(before - after) < 0.01, "a stall of one unit is none of its kind's");
}

int main(void)
{
	struct run *run = malloc(sizeof(*run));
	struct samples none = { 0 };
	struct reach reach;

	if (!run)
		return 1;
	plan(8);
	test_kinds(run);
	test_stall(run);
	ok(!reach_init(&reach, &none, NULL, 0) && now(&reach) <= 0, "without timings it is 0");
	reach_deinit(&reach);
	free(run);
	return tap_status();
}
