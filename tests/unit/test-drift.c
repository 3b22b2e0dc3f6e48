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
	struct drift drift;
	struct drift_sums sums;
	uint64_t now_ns;
	unsigned int begun, over;
};

/* A second with @nr units of @elapsed_ns, and then a sample. */
static enum drift_change second(struct type *type, uint64_t nr, uint64_t elapsed_ns)
{
	enum drift_change change;

	if (elapsed_ns > THRESHOLD) {
		type->sums.late += nr;
		type->sums.late_elapsed_ns += nr * elapsed_ns;
	} else {
		type->sums.units += nr;
		type->sums.elapsed_ns += nr * elapsed_ns;
	}
	type->now_ns += S;
	change = drift_look(&type->drift, &type->sums, type->now_ns, 0);
	type->begun += change == DRIFT_BEGUN;
	type->over += change == DRIFT_OVER;
	return change;
}

static void test_level(void)
{
	struct type type = { 0 };

	for (int i = 0; i < 10; i++)
		second(&type, 100, 3200000);
	ok(!type.begun && !drift_covers(&type.drift, 12 * MS, THRESHOLD), "as usual: nothing");
	ok(second(&type, 100, 12 * MS) == DRIFT_NONE, "one window of late units is no level");
	ok(second(&type, 100, 12 * MS) == DRIFT_BEGUN, "two are");
	ok(type.drift.since_ns == 10 * S, "it began with the first of them");
	ok(type.drift.level_ns == 12 * MS && type.drift.before_ns == 3200000,
	   "its units take so long, and took so long before");
	ok(type.drift.units == 200 && type.drift.late == 200, "of so many, so many were late");
	ok(drift_covers(&type.drift, 13 * MS, THRESHOLD), "a late unit is a part of it");
	ok(drift_covers(&type.drift, 60 * MS, THRESHOLD) &&
		   !drift_covers(&type.drift, 100 * MS, THRESHOLD) &&
		   !drift_covers(&type.drift, 10 * S, THRESHOLD),
	   "but one far out is not");
	for (int i = 0; i < 99; i++)
		second(&type, 100, i % 3 ? 13 * MS : 8 * MS);
	ok(type.begun == 1 && !type.over, "a regression is reported once, even if it hovers");
	ok(type.drift.late == 200 + 6600, "and counts on");
	second(&type, 100, 3 * MS);
	ok(!type.over && second(&type, 100, 3 * MS) == DRIFT_OVER, "it is back after two windows");
	ok(type.drift.level_ns == 3 * MS && type.drift.since_ns == 111 * S,
	   "since when, and what they take now");
	ok(!drift_covers(&type.drift, 13 * MS, THRESHOLD), "late units are news again");
	second(&type, 50, 12 * MS);
	ok(second(&type, 50, 12 * MS) == DRIFT_BEGUN, "a second regression is reported again");
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
	struct drift_sums none = { 0 };

	second(&type, 10, 3 * MS);
	for (int i = 0; i < 19; i++)
		second(&type, 1, 12 * MS);
	ok(!type.begun, "a rare type waits for 20 units");
	for (int i = 0; i < 30; i++)
		second(&type, 1, 12 * MS);
	ok(type.begun == 1, "and has its level, too");
	ok(drift_look(&type.drift, &none, 99 * S, 0) == DRIFT_NONE && !type.drift.is_on,
	   "sums that begin again are another profile's");

	memset(&type, 0, sizeof(type));
	drift_look(&type.drift, &type.sums, 0, 3 * MS);
	type.sums = (struct drift_sums){ .late = 30, .late_elapsed_ns = 30 * 4 * MS };
	drift_look(&type.drift, &type.sums, S, 3 * MS);
	type.sums = (struct drift_sums){ .late = 60, .late_elapsed_ns = 60 * 4 * MS };
	ok(drift_look(&type.drift, &type.sums, 2 * S, 3 * MS) == DRIFT_NONE,
	   "where none was in time, the trained mean serves");
	type.sums = (struct drift_sums){ .late = 90, .late_elapsed_ns = 60 * 4 * MS + 30 * 9 * MS };
	drift_look(&type.drift, &type.sums, 3 * S, 3 * MS);
	type.sums = (struct drift_sums){ .late = 120, .late_elapsed_ns = 60 * 4 * MS + 60 * 9 * MS };
	ok(drift_look(&type.drift, &type.sums, 4 * S, 3 * MS) == DRIFT_BEGUN &&
		   type.drift.before_ns == 3 * MS,
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
