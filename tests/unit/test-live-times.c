// SPDX-License-Identifier: GPL-2.0
/* What the module counts of a type becomes times; windows that are not usual are left out. */

#include <string.h>

#include "data/histogram.h"
#include "tap.h"
#include "train/samples/live-times.h"
#include "train/samples/times.h"

#define US 1000u
#define MS 1000000u

enum { NR = 12 };

static uint32_t bucket_of(const struct armed_times *times, uint64_t ns)
{
	return histogram_bucket(ns) / 2 - times->first;
}

/* So many units, of which one of ten was blocked for a tenth of its time. */
static struct live_window window(uint64_t ns, uint32_t units)
{
	struct live_window window = {
		.units = units,
		.sum_ns = ns * units,
		.times.first = histogram_bucket(100 * US) / 2 - 40,
		.times.request_first[0] = histogram_bucket(100 * MS) / 2 - 40,
	};
	struct armed_times *times = &window.times;

	times->nr[PERFGUARD_TIMES_OWN - 1][bucket_of(times, ns)] = units;
	times->nr[PERFGUARD_TIMES_CPU - 1][bucket_of(times, ns)] = units - units / 10;
	times->nr[PERFGUARD_TIMES_CPU - 1][bucket_of(times, ns * 9 / 10)] += units / 10;
	times->nr[PERFGUARD_TIMES_BLOCKED - 1][0] = units - units / 10;
	times->nr[PERFGUARD_TIMES_BLOCKED - 1][bucket_of(times, ns / 10)] = units / 10;
	times->nr[PERFGUARD_TIMES_REQUEST - 1][histogram_bucket(60 * MS) / 2 -
					       times->request_first[0]] = units;
	return window;
}

static struct live_omitted sum(const struct live_window *windows, struct samples_parts *ret)
{
	struct samples_parts halves[2];
	struct live_omitted omitted = live_times_sum(windows, NR, halves);

	times_merge_parts(&halves[0], &halves[1]);
	*ret = halves[0];
	return omitted;
}

static bool is_near(double value, double wanted)
{
	return value > 0.93 * wanted && value < 1.07 * wanted;
}

static void test_usual(void)
{
	struct live_window windows[NR];
	struct samples_parts halves[2], parts;
	struct live_omitted omitted;

	for (int i = 0; i < NR; i++)
		windows[i] = window(50 * US, 100);
	live_times_sum(windows, NR, halves);
	ok(halves[0].of[SAMPLES_OWN].nr == 600 && halves[1].of[SAMPLES_OWN].nr == 600,
	   "a half is held back");
	omitted = sum(windows, &parts);
	ok(!omitted.degraded && !omitted.starved && !omitted.slow, "no window is left out");
	ok(parts.of[SAMPLES_OWN].nr == 1200 && parts.of[SAMPLES_CPU].nr == 1200 &&
		   parts.of[SAMPLES_BLOCKED].nr == 1200 && !parts.of[SAMPLES_BLOCK_IO].nr,
	   "each unit is in each part");
	ok(is_near(times_mean(&parts.of[SAMPLES_OWN]), 50 * US) &&
		   is_near(times_mean(&parts.of[SAMPLES_CPU]), 49.5 * US) &&
		   is_near(times_mean(&parts.of[SAMPLES_BLOCKED]), 0.5 * US),
	   "with its mean");
	ok(times_largest(&parts.of[SAMPLES_OWN]) < 55 * US, "and its largest time");
	ok(parts.requests[0].nr == 1200 && is_near(times_mean(&parts.requests[0]), 60 * MS),
	   "so are the requests that they read");
}

static void test_unusual(void)
{
	struct live_window windows[NR];
	struct live_omitted omitted;
	struct samples_parts parts;

	for (int i = 0; i < NR; i++)
		windows[i] = window(50 * US, 100);
	windows[1].is_degraded = true;
	windows[3].starved = 40;
	for (int i = 6; i < 9; i++)
		windows[i] = window(100 * US, 100);
	omitted = sum(windows, &parts);
	ok(omitted.degraded == 1 && omitted.starved == 1 && omitted.slow == 7,
	   "windows without guards, with starved units, that are slow, or next to those");
	ok(parts.of[SAMPLES_OWN].nr == 300 && times_largest(&parts.of[SAMPLES_OWN]) < 55 * US,
	   "are left out");
	windows[11] = window(90 * US, 5);
	omitted = sum(windows, &parts);
	ok(omitted.slow == 7, "five units do not make a window slow");
}

static void test_edges(void)
{
	struct armed_times before = { .first = 100 }, after = before, since;
	struct live_window windows[NR] = { 0 };
	struct samples_parts parts;

	before.nr[0][3] = UINT32_MAX - 1;
	after.nr[0][3] = 4;
	live_times_since(&before, &after, &since);
	ok(since.nr[0][3] == 6 && since.first == 100, "counters begin again at 0");
	sum(windows, &parts);
	ok(!parts.of[SAMPLES_OWN].nr, "no unit, no times");
	windows[0].times.first = UINT32_MAX / 2;
	windows[0].times.nr[0][PERFGUARD_TIMES_BUCKETS - 1] = 1;
	sum(windows, &parts);
	ok(parts.of[SAMPLES_OWN].nr == 1, "nor does a bucket beyond all others do harm");
}

static void test_scale(void)
{
	struct samples_times times = { 0 };

	for (uint64_t ns = 1; ns <= 1000; ns++)
		times_add(&times, ns * US);
	times_scale(&times, 2);
	ok(times.nr == 1000 && times_largest(&times) == 2000 * US &&
		   is_near(times_mean(&times), 1001 * US) &&
		   is_near((double)times_rank(&times, 500), 1000 * US) &&
		   is_near(times_deviation(&times), 577 * US),
	   "times of a machine of half the speed");
}

int main(void)
{
	plan(13);
	test_usual();
	test_unusual();
	test_edges();
	test_scale();
	return tap_status();
}
