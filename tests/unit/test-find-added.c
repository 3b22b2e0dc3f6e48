// SPDX-License-Identifier: GPL-2.0
/* What interrupts and batches add to short units is taken off such units, and off no others. */

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/duration.h"
#include "tap.h"
#include "train/model/threshold.h"
#include "train/samples/find-added.h"
#include "train/samples/times.h"

#define US NSEC_PER_USEC

enum { NR = 20000, KINDS = 3 };
enum { SHORT, OTHER, LONG };
enum { INTERRUPTED = 1 << SAMPLES_INTERRUPT, BATCHED = 1 << SAMPLES_BATCH };

struct run {
	struct timed_unit units[NR];
	struct samples_timing timings[KINDS];
	struct samples samples;
	struct samples_times before, after; /* of the short ones */
	uint32_t seed;
};

static uint32_t number(struct run *run, uint32_t below)
{
	run->seed = run->seed * 1664525 + 1013904223;
	return (uint32_t)((uint64_t)run->seed * below >> 32);
}

/*
 * Units of 20 us and of 30 us that vary by 5 %, of which one in @rare has an interrupt of 6 to
 * 12 us, and units of 5 ms that have one each.
 */
static void make(struct run *run, uint32_t rare)
{
	*run = (struct run){ .samples = { .timings = run->timings, .nr_timings = KINDS },
			     .seed = 1 };
	for (uint32_t i = 0; i < NR; i++) {
		struct timed_unit *unit = &run->units[i];
		uint64_t ns;

		unit->timing = i % KINDS;
		ns = unit->timing == LONG ? 5000 * US : (unit->timing == SHORT ? 20 : 30) * US;
		ns += number(run, (uint32_t)ns / 20);
		if (unit->timing == LONG || !number(run, rare)) {
			unit->causes = INTERRUPTED;
			ns += 6 * US + number(run, 6 * US);
		}
		unit->parts_ns[SAMPLES_OWN] = unit->parts_ns[SAMPLES_CPU] = ns;
	}
}

/* One in @rare of all, or of those without an interrupt, ends a batch of two or three. */
static void add_batches(struct run *run, uint32_t rare)
{
	for (uint32_t i = 0; i < NR; i++) {
		struct timed_unit *unit = &run->units[i];
		uint64_t ns = (12 + 12 * number(run, 2)) * US;

		if (number(run, rare))
			continue;
		unit->causes |= BATCHED;
		unit->parts_ns[SAMPLES_OWN] += ns;
		unit->parts_ns[SAMPLES_CPU] += ns;
	}
}

static void take_off(struct run *run)
{
	for (uint32_t i = 0; i < NR; i += KINDS)
		times_add(&run->before, run->units[i].parts_ns[SAMPLES_OWN]);
	if (find_added(&run->samples, run->units, NR))
		exit(1);
	for (uint32_t i = 0; i < NR; i += KINDS)
		if (!run->units[i].is_left_out)
			times_add(&run->after, run->units[i].parts_ns[SAMPLES_OWN]);
}

static uint64_t limit_of(const struct samples_times *times)
{
	const struct threshold_rule rule = { .kind = THRESHOLD_RATE, .value = 0.001 };

	return threshold_find(&rule, times, times).ns;
}

/* What is added to short units with this cause. */
static uint64_t added(const struct run *run, enum samples_cause cause)
{
	return run->timings[SHORT].times[0].added_ns[cause];
}

static void test_batches(struct run *run)
{
	uint64_t before;

	make(run, 50);
	add_batches(run, 100);
	take_off(run);
	before = limit_of(&run->before);
	ok(added(run, SAMPLES_INTERRUPT) >= 11 * US && added(run, SAMPLES_INTERRUPT) <= 13 * US,
	   "beside batches, too, an interrupt adds up to 12 us: %" PRIu64 " ns",
	   added(run, SAMPLES_INTERRUPT));
	ok(added(run, SAMPLES_BATCH) >= 23 * US && added(run, SAMPLES_BATCH) <= 26 * US,
	   "two other events of a batch add 24 us: %" PRIu64 " ns", added(run, SAMPLES_BATCH));
	ok(before > 40 * US && limit_of(&run->after) <= 23 * US,
	   "the limit of units of 20 us is %" PRIu64 " ns, without that %" PRIu64,
	   limit_of(&run->after), before);
	make(run, 50);
	add_batches(run, 4);
	take_off(run);
	ok(!added(run, SAMPLES_BATCH) && added(run, SAMPLES_INTERRUPT) >= 11 * US,
	   "where one in four is batched limits allow for batches, and interrupts are taken off");
}

/* What the loop's end waits for, for all events of a batch, is added to own time as well. */
static void test_waits(struct run *run)
{
	make(run, UINT32_MAX);
	add_batches(run, 100);
	for (uint32_t i = 0; i < NR; i++)
		if (run->units[i].causes & BATCHED)
			run->units[i].parts_ns[SAMPLES_OWN] += 50 * US;
	take_off(run);
	ok(added(run, SAMPLES_BATCH) >= 73 * US && added(run, SAMPLES_BATCH) <= 76 * US,
	   "a batch that computes 24 us more and waits 50 us adds both: %" PRIu64 " ns",
	   added(run, SAMPLES_BATCH));
	ok(limit_of(&run->after) <= 23 * US, "limits of other units do not allow for that");
}

/* Short units that are late by the limit they were learnt for. */
static uint32_t late(const struct run *run, const struct run *before)
{
	uint64_t limit_ns = limit_of(&run->after);
	uint32_t nr = 0;

	for (uint32_t i = 0; i < NR; i += KINDS) {
		const struct timed_unit *unit = &before->units[i];
		bool is_batched = unit->causes & BATCHED;

		nr += unit->parts_ns[SAMPLES_OWN] >
		      limit_ns + (is_batched ? added(run, SAMPLES_BATCH) : 0);
	}
	return nr;
}

/* Batches that add 60 us, but 75 us to one in 60 of the short ones. */
static void test_longer(struct run *run, struct run *before)
{
	uint32_t left_out = 0, batched = 0, nr_late;

	make(run, UINT32_MAX);
	for (uint32_t i = 0; i < NR; i++) {
		struct timed_unit *unit = &run->units[i];
		uint64_t ns = 60 * US;

		if (unit->timing == LONG || number(run, 10))
			continue;
		if (unit->timing == SHORT && ++batched % 60 == 0)
			ns = 75 * US;
		unit->causes |= BATCHED;
		unit->parts_ns[SAMPLES_OWN] += ns;
		unit->parts_ns[SAMPLES_CPU] += ns;
	}
	*before = *run;
	take_off(run);
	for (uint32_t i = 0; i < NR; i += KINDS)
		left_out += run->units[i].is_left_out;
	nr_late = late(run, before);
	ok(added(run, SAMPLES_BATCH) <= 63 * US && left_out > batched / 2 && left_out < batched,
	   "of %" PRIu32 " units that take %" PRIu64 " ns more %" PRIu32 " are left out", batched,
	   added(run, SAMPLES_BATCH), left_out);
	ok(nr_late * 1000 <= NR / KINDS, "those longer than that count for limits: %" PRIu32
	   " of %d are late, for one in a thousand", nr_late, NR / KINDS);
}

int main(void)
{
	struct run *run = malloc(sizeof(*run)), *same = malloc(sizeof(*run));
	uint64_t taken, before, after;
	uint32_t different = 0;

	if (!run || !same)
		return 1;
	plan(19);
	make(run, 50);
	*same = *run;
	take_off(run);
	taken = added(run, SAMPLES_INTERRUPT);
	before = limit_of(&run->before);
	after = limit_of(&run->after);
	ok(taken >= 11 * US && taken <= 13 * US, "an interrupt adds up to 12 us: %" PRIu64 " ns",
	   taken);
	ok(run->timings[SHORT].times[1].added_ns[SAMPLES_INTERRUPT] == taken &&
		   run->timings[OTHER].times[0].added_ns[SAMPLES_INTERRUPT] == taken,
	   "the same for all short units, also for those held back");
	for (uint32_t i = 0; i < NR; i++)
		different += run->units[i].timing == LONG && run->units[i].parts_ns[SAMPLES_CPU] +
			     taken != same->units[i].parts_ns[SAMPLES_CPU];
	ok(!different && run->timings[LONG].times[0].added_ns[SAMPLES_INTERRUPT] == taken,
	   "also for long ones, which always have one");
	ok(before > 30 * US && after <= 21 * US,
	   "the limit of units of 20 us is %" PRIu64 " ns, without that %" PRIu64, after, before);
	for (uint32_t i = 0; i < NR; i++)
		different += !run->units[i].causes && run->units[i].parts_ns[SAMPLES_CPU] !=
				     same->units[i].parts_ns[SAMPLES_CPU];
	ok(!different, "units without an interrupt are as they were");
	different = 0;
	for (uint32_t i = 0; i < NR; i++)
		different += run->units[i].parts_ns[SAMPLES_CPU] <
			     same->units[i].parts_ns[SAMPLES_CPU] / 2;
	ok(!different, "none has lost more than its half");

	make(run, 50);
	for (uint32_t i = 0; i < NR; i++)
		if (i / KINDS % 20 == 0)
			run->units[i].parts_ns[SAMPLES_CPU] *= 2;
	take_off(run);
	ok(!added(run, SAMPLES_INTERRUPT),
	   "where one in twenty takes twice as long by itself nothing is known of interrupts");
	make(run, 4);
	take_off(run);
	ok(!added(run, SAMPLES_INTERRUPT) && limit_of(&run->after) == limit_of(&run->before),
	   "where one in four is interrupted limits allow for it");
	make(run, 5000);
	take_off(run);
	ok(added(run, SAMPLES_INTERRUPT) == 20 * US && !added(run, SAMPLES_BATCH),
	   "where hardly a unit was interrupted 20 us are assumed: %" PRIu64 " ns",
	   added(run, SAMPLES_INTERRUPT));
	make(run, 50);
	for (uint32_t i = 0; i < NR; i++) {
		if (run->units[i].timing != SHORT)
			continue;
		run->units[i].parts_ns[SAMPLES_CPU] -= 17 * US;
		run->units[i].parts_ns[SAMPLES_OWN] = run->units[i].parts_ns[SAMPLES_CPU];
	}
	take_off(run);
	different = 0;
	for (uint32_t i = 0; i < NR; i++)
		different += run->units[i].is_left_out != (run->units[i].causes &&
							   run->units[i].timing == SHORT);
	ok(!different, "units of 3 us are left out if they were interrupted");
	test_batches(run);
	test_waits(run);
	test_longer(run, same);
	memset(&run->samples, 0, sizeof(run->samples));
	ok(!find_added(&run->samples, run->units, 0), "without a unit there is nothing to do");
	free(run);
	free(same);
	return tap_status();
}
