// SPDX-License-Identifier: GPL-2.0
/* A type that becomes slow as a whole is reported once, and once that it is back. */

#include <string.h>

#include "base/duration.h"
#include "out/alert/regression.h"
#include "tap.h"

#define S NSEC_PER_SEC
#define MS NSEC_PER_MSEC
#define THRESHOLD (8 * MS)

struct type {
	struct regression regression;
	struct regression_sums sums;
	uint64_t now_ns;
	unsigned int begun, over;
};

/* A second with @nr units of @elapsed_ns, and then a sample. */
static enum regression_change second(struct type *type, uint64_t nr, uint64_t elapsed_ns)
{
	enum regression_change change;

	if (elapsed_ns > THRESHOLD) {
		type->sums.late += nr;
		type->sums.late_elapsed_ns += nr * elapsed_ns;
	} else {
		type->sums.units += nr;
		type->sums.elapsed_ns += nr * elapsed_ns;
	}
	type->now_ns += S;
	change = regression_update(&type->regression, &type->sums, type->now_ns, 0);
	type->begun += change == REGRESSION_BEGUN;
	type->over += change == REGRESSION_OVER;
	return change;
}

static void test_level(void)
{
	struct type type = { 0 };

	for (int i = 0; i < 10; i++)
		second(&type, 100, 3200000);
	ok(!type.begun && !regression_covers(&type.regression, 12 * MS, THRESHOLD),
	   "as usual: nothing");
	ok(second(&type, 100, 12 * MS) == REGRESSION_NONE, "one window of late units is no level");
	ok(second(&type, 100, 12 * MS) == REGRESSION_BEGUN, "two are");
	ok(type.regression.since_ns == 10 * S, "it began with the first of them");
	ok(type.regression.level_ns == 12 * MS && type.regression.before_ns == 3200000,
	   "its units take so long, and took so long before");
	ok(type.regression.units == 200 && type.regression.late == 200,
	   "of so many, so many were late");
	ok(regression_covers(&type.regression, 13 * MS, THRESHOLD), "a late unit is a part of it");
	ok(regression_covers(&type.regression, 60 * MS, THRESHOLD) &&
		   !regression_covers(&type.regression, 100 * MS, THRESHOLD) &&
		   !regression_covers(&type.regression, 10 * S, THRESHOLD),
	   "but one far out is not");
	for (int i = 0; i < 99; i++)
		second(&type, 100, i % 3 ? 13 * MS : 8 * MS);
	ok(type.begun == 1 && !type.over, "a regression is reported once, even if it hovers");
	ok(type.regression.late == 200 + 6600, "and counts on");
	second(&type, 100, 3 * MS);
	ok(!type.over && second(&type, 100, 3 * MS) == REGRESSION_OVER,
	   "it is back after two windows");
	ok(type.regression.level_ns == 3 * MS && type.regression.since_ns == 111 * S,
	   "since when, and what they take now");
	ok(!regression_covers(&type.regression, 13 * MS, THRESHOLD), "late units are news again");
	second(&type, 50, 12 * MS);
	ok(second(&type, 50, 12 * MS) == REGRESSION_BEGUN, "a second regression is reported again");
}

static void test_no_level(void)
{
	struct type type = { 0 };
	uint64_t seed = 1;

	second(&type, 1000, 3 * MS);
	for (int i = 0; i < 20; i++) {
		second(&type, 19, 50 * MS);
		second(&type, 100, 3 * MS);
	}
	ok(!type.begun, "bursts of less than 20 late units are no level");

	memset(&type, 0, sizeof(type));
	for (int i = 0; i < 1000; i++) {
		/* In one second of ten all units are late, by a stall. */
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		second(&type, 100, i % 10 ? 3 * MS + (seed >> 44) : 500 * MS);
	}
	ok(!type.begun, "nor are stalls, however long");

	memset(&type, 0, sizeof(type));
	for (int i = 0; i < 1000; i++) {
		second(&type, 60, 7 * MS);
		second(&type, 40, 4 * S);
	}
	/* Each second all were in time, or all late. */
	ok(!type.begun, "nor many late ones among those in time");

	memset(&type, 0, sizeof(type));
	second(&type, 100, 8 * MS);
	for (int i = 0; i < 10; i++)
		second(&type, 100, 8 * MS + 1);
	ok(!type.begun, "nor units that are late by a little, where all are close to it");
}

static void test_sums(void)
{
	struct type type = { 0 };
	struct regression_sums none = { 0 };

	second(&type, 10, 3 * MS);
	for (int i = 0; i < 19; i++)
		second(&type, 1, 12 * MS);
	ok(!type.begun, "a rare type waits for 20 units");
	for (int i = 0; i < 30; i++)
		second(&type, 1, 12 * MS);
	ok(type.begun == 1, "and has its level, too");
	ok(regression_update(&type.regression, &none, 99 * S, 0) == REGRESSION_NONE &&
		   !type.regression.is_on,
	   "sums that begin again are another profile's");

	memset(&type, 0, sizeof(type));
	regression_update(&type.regression, &type.sums, 0, 3 * MS);
	type.sums = (struct regression_sums){ .late = 30, .late_elapsed_ns = 30 * 4 * MS };
	regression_update(&type.regression, &type.sums, S, 3 * MS);
	type.sums = (struct regression_sums){ .late = 60, .late_elapsed_ns = 60 * 4 * MS };
	ok(regression_update(&type.regression, &type.sums, 2 * S, 3 * MS) == REGRESSION_NONE,
	   "where none was in time, the trained mean serves");
	type.sums = (struct regression_sums){ .late = 90,
					      .late_elapsed_ns = 60 * 4 * MS + 30 * 9 * MS };
	regression_update(&type.regression, &type.sums, 3 * S, 3 * MS);
	type.sums = (struct regression_sums){ .late = 120,
					      .late_elapsed_ns = 60 * 4 * MS + 60 * 9 * MS };
	ok(regression_update(&type.regression, &type.sums, 4 * S, 3 * MS) == REGRESSION_BEGUN &&
		   type.regression.before_ns == 3 * MS,
	   "and is what it is compared with");
}

int main(void)
{
	plan(23);
	test_level();
	test_no_level();
	test_sums();
	return tap_status();
}
