// SPDX-License-Identifier: GPL-2.0
/* A type that becomes slower as a whole, be it by a twentieth, is reported once, as is its end. */

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/duration.h"
#include "out/alert/regression.h"
#include "tap.h"

#define S NSEC_PER_SEC
#define MS ((double)NSEC_PER_MSEC)
#define US ((double)NSEC_PER_USEC)
#define LIMIT (8 * MS)

struct type {
	struct regression regression;
	struct regression_sums sums;
	struct regression_trained trained;
	uint64_t now_ns, seed;
	unsigned int begun, over;
};

/* Above 0, at most 1. */
static double uniform(struct type *type)
{
	type->seed = type->seed * 6364136223846793005u + 1442695040888963407u;
	return ((double)(type->seed >> 11) + 1) / 9007199254740992.0;
}

/* Times that vary by @spread about 1; one of a thousand by up to ten times as much again. */
static double vary(struct type *type, double spread)
{
	double normal = sqrt(-2 * log(uniform(type))) * cos(6.283185307179586 * uniform(type));
	double time = exp(spread * normal - spread * spread / 2);

	return uniform(type) < 0.001 ? time * (1 + 9 * uniform(type)) : time;
}

static void end_unit(struct type *type, double cpu_ns, double blocked_ns)
{
	type->sums.units++;
	type->sums.late += cpu_ns + blocked_ns > LIMIT;
	type->sums.cpu_ns += (uint64_t)cpu_ns;
	type->sums.blocked_ns += (uint64_t)blocked_ns;
}

static enum regression_change reading_after(struct type *type, uint64_t ns)
{
	enum regression_change change;

	type->now_ns += ns;
	change = regression_update(&type->regression, &type->sums, type->now_ns, &type->trained);
	type->begun += change == REGRESSION_BEGUN;
	type->over += change == REGRESSION_OVER;
	return change;
}

static enum regression_change reading(struct type *type)
{
	return reading_after(type, S);
}

/* A second with @nr units that compute so long, about, and then a reading. */
static enum regression_change second(struct type *type, uint32_t nr, double cpu_ns, double spread)
{
	while (nr--)
		end_unit(type, cpu_ns * vary(type, spread), 0);
	return reading(type);
}

/* How many units it takes until a change is found; 0 if it is not within @most. */
static uint32_t found_after(struct type *type, double cpu_ns, double spread, uint32_t most)
{
	uint32_t nr = 0;

	while (nr < most) {
		nr += 200;
		if (second(type, 200, cpu_ns, spread) == REGRESSION_BEGUN)
			return nr;
	}
	return 0;
}

static void test_twentieth(double spread, uint32_t within)
{
	uint32_t found = 0, most = 0, after;
	struct type type;

	for (uint64_t seed = 1; seed <= 20; seed++) {
		type = (struct type){ .seed = seed };
		for (int i = 0; i < 200; i++)
			second(&type, 200, 2 * MS, spread);
		after = type.begun ? 0 : found_after(&type, 2.1 * MS, spread, within);
		found += after != 0;
		if (after > most)
			most = after;
		found -= after && !(fabs(type.regression.before_ns / MS - 2) < 0.05 &&
				    type.regression.level_ns > 2.04 * MS &&
				    type.regression.since_ns <= 201 * S &&
				    type.regression.since_ns >= 190 * S);
	}
	ok(found == 20, "5 %% of times that vary by %.0f %%: %u of 20, within %u units",
	   100 * spread, found, most);
}

static void test_calm(double spread)
{
	struct type type = { .seed = 77 };

	for (int i = 0; i < 5000; i++)
		second(&type, 200, 2 * MS, spread);
	ok(!type.begun,
	   "a million units that vary by %.0f %%: no change", 100 * spread);
}

static void test_gross(void)
{
	struct type type = { .seed = 1 };

	for (int i = 0; i < 40; i++)
		second(&type, 100, 3.2 * MS, 0.1);
	ok(!type.begun && !regression_covers(&type.regression, 12000000, 8000000),
	   "as usual: nothing");
	ok(second(&type, 100, 12 * MS, 0.1) == REGRESSION_NONE &&
		   second(&type, 100, 12 * MS, 0.1) == REGRESSION_NONE,
	   "two batches of late units are no level");
	ok(second(&type, 100, 12 * MS, 0.1) == REGRESSION_BEGUN, "three are");
	ok(type.regression.since_ns == 40 * S && type.regression.part == REGRESSION_CPU,
	   "it began with the first of them, in what they compute");
	ok(fabs(type.regression.level_ns / MS - 12) < 0.5 &&
		   fabs(type.regression.before_ns / MS - 3.2) < 0.1,
	   "its units take so long, and took so long before");
	ok(type.regression.units == 300 && type.regression.late > 290,
	   "of so many, so many were late");
	ok(regression_covers(&type.regression, 60000000, 8000000) &&
		   !regression_covers(&type.regression, 120000000, 8000000),
	   "a late unit is a part of it, but one far out is not");
	for (int i = 0; i < 99; i++)
		second(&type, 100, i % 3 ? 13 * MS : 8 * MS, 0.1);
	ok(type.begun == 1 && !type.over, "a regression is reported once, even if it hovers");
	for (int i = 0; i < 3; i++)
		second(&type, 100, 3 * MS, 0.1);
	ok(type.over == 1 && fabs(type.regression.level_ns / MS - 3) < 0.2 &&
		   type.regression.since_ns == 142 * S,
	   "it is back after three batches, and since when");
	ok(!regression_covers(&type.regression, 13000000, 8000000), "late units are news again");
	for (int i = 0; i < 3; i++)
		second(&type, 50, 12 * MS, 0.1);
	ok(type.begun == 2, "a second regression is reported again");
}

static void test_no_level(void)
{
	struct type type = { .seed = 1 };

	for (int i = 0; i < 1000; i++)
		/* In one second of ten all units are late, by a stall. */
		second(&type, 100, i > 60 && i % 10 == 0 ? 500 * MS : 3 * MS, 0.1);
	ok(!type.begun, "stalls are no level, however long");

	type = (struct type){ .seed = 1 };
	for (int i = 0; i < 100; i++)
		second(&type, 100, 3 * MS, 0.1);
	for (int i = 0; i < 20; i++) {
		second(&type, 19, 50 * MS, 0.1);
		for (int j = 0; j < 4; j++)
			second(&type, 100, 3 * MS, 0.1);
	}
	ok(!type.begun, "nor are bursts of late units now and then");

	type = (struct type){ .seed = 1 };
	for (int i = 0; i < 1000; i++)
		second(&type, 100, i % 2 ? 3 * MS : 2 * MS, 0.1);
	ok(!type.begun, "nor a type that changes all the time");

	for (int i = 0; i < 200; i++)
		second(&type, 100, 1 * MS, 0.1);
	ok(!type.begun, "nor one that becomes faster");
	for (int i = 0; i < 60; i++)
		second(&type, 100, 1.3 * MS, 0.1);
	ok(type.begun == 1 && fabs(type.regression.before_ns / MS - 1) < 0.1,
	   "but what it is compared with is how fast it was then");
}

static void test_blocked(void)
{
	struct type type = { .seed = 1 };

	for (int i = 0; i < 1000; i++) {
		/* A thousandth of what it takes, that varies: not worth a word. */
		for (int j = 0; j < 50; j++)
			end_unit(&type, 2 * MS, (i >= 500 ? 8 : 2) * US * uniform(&type));
		reading(&type);
	}
	ok(!type.begun, "a part that is next to nothing may be many times as much");
	for (int i = 0; i < 10; i++) {
		for (int j = 0; j < 50; j++)
			end_unit(&type, 2 * MS, 100 * US);
		reading(&type);
	}
	ok(type.begun == 1 && type.regression.part == REGRESSION_BLOCKED,
	   "but not more than a twentieth of the whole");
	ok(!regression_covers(&type.regression, 12000000, 8000000),
	   "late units are news where the level is within the limits");
}

static void test_training(void)
{
	struct type type = { .seed = 1, .trained.ns = { 3 * MS, 0 } };

	reading(&type);
	for (int i = 0; i < 8; i++)
		second(&type, 30, 4.5 * MS, 0.1);
	ok(!type.begun, "without a reference, half as long as in training is not enough");
	for (int i = 0; i < 3; i++)
		second(&type, 30, 9 * MS, 0.02);
	ok(type.begun == 1 && type.regression.before_ns == 3 * MS,
	   "if most are late, training is what it is compared with");
	for (int i = 0; i < 5; i++)
		second(&type, 30, 3 * MS, 0.1);
	ok(type.over == 1, "also when it is back");

	type = (struct type){ .seed = 1, .trained.ns = { 3 * MS, 0 } };
	reading(&type);
	for (int i = 0; i < 3; i++) {
		for (int j = 0; j < 30; j++)
			end_unit(&type, 3 * MS, 6 * MS);
		reading(&type);
	}
	ok(type.begun == 1 && type.regression.part == REGRESSION_BLOCKED &&
		   !type.regression.before_ns,
	   "one that never was blocked may be so now");
}

/* The next reading, as soon as it is worth it, with so many units a second. */
static enum regression_change next(struct type *type, uint32_t rate, double cpu_ns, double spread)
{
	uint64_t step = regression_step_ns(&type->regression);

	for (uint64_t nr = rate * step / S; nr--;)
		end_unit(type, cpu_ns * vary(type, spread), 0);
	return reading_after(type, step);
}

static void test_steps(void)
{
	struct type type = { .seed = 1 };

	ok(regression_step_ns(&type.regression) == 5 * S, "a reading each 5 s does at first");
	for (int i = 0; i < 40; i++)
		second(&type, 10, 1 * MS, 0.1);
	ok(regression_step_ns(&type.regression) == 5 * S, "and where few units end");
	type = (struct type){ .seed = 1 };
	for (int i = 0; i < 20; i++)
		second(&type, 600, 1 * MS, 0.1);
	ok(regression_step_ns(&type.regression) == S, "where many do, the reference is of seconds");
	for (int i = 0; i < 20; i++)
		second(&type, 600, 1 * MS, 0.1);
	ok(regression_step_ns(&type.regression) == S / 4, "but from then on a quarter does");
	type = (struct type){ .seed = 1 };
	for (int i = 0; i < 80; i++)
		second(&type, 50, 1 * MS, 0.1);
	second(&type, 50, 1.2 * MS, 0.1);
	ok(regression_step_ns(&type.regression) == S,
	   "a type that may just have become slower is read within a second");
}

/* 5 % of a type with so many units a second. */
static void test_fast(uint32_t rate, double spread)
{
	uint64_t found = 0, most = 0;

	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct type type = { .seed = seed };
		uint64_t units;

		for (int i = 0; i < 400; i++)
			next(&type, rate, 1 * MS, spread);
		if (type.begun)
			continue;
		units = type.sums.units;
		for (int i = 0; i < 40 && !type.begun; i++)
			next(&type, rate, 1.05 * MS, spread);
		found += type.begun;
		if (type.sums.units - units > most)
			most = type.sums.units - units;
	}
	ok(found == 20 && most <= (rate < 2000 ? 5000 : 2.5 * rate),
	   "5 %% of times that vary by %.0f %%, %u a second: %" PRIu64 " of 20, within %" PRIu64 " units",
	   100 * spread, rate, found, most);
}

/* Read each quarter of a second, neither chance nor a stall of a second is a level. */
static void test_fast_calm(void)
{
	struct type type = { .seed = 5 };

	for (int i = 0; i < 4000; i++)
		next(&type, 1600, 1 * MS, 0.3);
	ok(!type.begun && regression_step_ns(&type.regression) == S / 4,
	   "a million and more units of a fast type: no change");
	for (int i = 0; i < 400; i++)
		next(&type, 1600, (i % 40 < 4 ? 5 : 1) * MS, 0.1);
	ok(!type.begun, "nor is a second in which all take five times as long");
}

static void test_sums(void)
{
	struct type type = { .seed = 1, .trained.ns = { 3 * MS, 0 } };
	struct regression_sums none = { 0 };

	second(&type, 10, 3 * MS, 0.1);
	for (int i = 0; i < 59; i++)
		second(&type, 1, 12 * MS, 0.1);
	ok(!type.begun, "a rare type waits for 20 units each time");
	for (int i = 0; i < 3; i++)
		second(&type, 1, 12 * MS, 0.1);
	ok(type.begun == 1, "and has its level, too");
	ok(regression_update(&type.regression, &none, 99 * S, &type.trained) == REGRESSION_NONE &&
		   !type.regression.is_on,
	   "sums that begin again are another profile's");
}

int main(void)
{
	plan(42);
	test_twentieth(0.05, 5000);
	test_twentieth(0.2, 5000);
	test_twentieth(0.3, 10000);
	test_calm(0.05);
	test_calm(0.3);
	test_calm(1);
	test_gross();
	test_no_level();
	test_blocked();
	test_training();
	test_steps();
	test_fast(1600, 0.05);
	test_fast(1600, 0.2);
	test_fast(20000, 0.2);
	test_fast_calm();
	test_sums();
	return tap_status();
}
