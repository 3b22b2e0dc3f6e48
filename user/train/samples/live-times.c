// SPDX-License-Identifier: GPL-2.0

#include "train/samples/live-times.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "data/histogram.h"
#include "train/samples/times.h"

/* So much more of its units than of the median window's are starved: none to learn from. */
#define STARVED_SHARE 0.25
/* The same of its mean, by that of the median window. */
#define SLOW_FACTOR 1.2

enum {
	NR_POINTS = 8, /* that stand for the times of a bucket */
	MIN_UNITS = 10, /* for a mean that says something */
	NEAR = 2, /* windows */
};

void live_times_since(const struct armed_times *before, const struct armed_times *after,
		      struct armed_times *ret)
{
	*ret = *after;
	for (int kind = 0; kind < PERFGUARD_TIMES_REQUEST_HELD; kind++)
		for (int i = 0; i < PERFGUARD_TIMES_BUCKETS; i++)
			ret->nr[kind][i] -= before->nr[kind][i];
}

/* The times of bucket @at lie from here to where the next begins. */
static uint64_t begin_of(uint32_t first, uint32_t at)
{
	uint32_t bucket = 2 * (first + at);

	if (!bucket)
		return 0;
	return bucket < PERFGUARD_HIST_BUCKETS ? histogram_bucket_max(bucket - 1) + 1 :
						 histogram_bucket_max(PERFGUARD_HIST_BUCKETS - 2);
}

/*
 * Add the @nr units of a bucket, evenly over it.  What is in the first is less than a
 * thirtieth of a limit, and counts as nothing.
 */
static void add_bucket(struct samples_times *to, uint32_t first, uint32_t at, uint32_t nr)
{
	uint64_t begin = begin_of(first, at), width = begin_of(first, at + 1) - begin;
	uint32_t points = nr < NR_POINTS ? nr : NR_POINTS;

	if (!at) {
		times_add_many(to, 0, nr);
		return;
	}
	for (uint32_t i = 0; i < points; i++)
		times_add_many(to, begin + width * (2 * i + 1) / (2 * points),
			       nr / points + (i < nr % points));
}

static void add_kind(struct samples_times *to, const uint32_t nr[PERFGUARD_TIMES_BUCKETS],
		     uint32_t first)
{
	for (uint32_t i = 0; i < PERFGUARD_TIMES_BUCKETS; i++)
		if (nr[i])
			add_bucket(to, first, i, nr[i]);
}

uint64_t live_times_least(const struct armed_times *times)
{
	return begin_of(times->first, 1);
}

void live_times_add(struct samples_parts *to, const struct armed_times *times)
{
	add_kind(&to->of[SAMPLES_OWN], times->nr[PERFGUARD_TIMES_OWN - 1], times->first);
	add_kind(&to->of[SAMPLES_CPU], times->nr[PERFGUARD_TIMES_CPU - 1], times->first);
	add_kind(&to->of[SAMPLES_BLOCKED], times->nr[PERFGUARD_TIMES_BLOCKED - 1], times->first);
	for (int part = 0; part < REQUEST_NR_PARTS; part++)
		add_kind(&to->requests[part], times->nr[PERFGUARD_TIMES_REQUEST - 1 + part],
			 times->request_first[part]);
}

/* Mean time of a window's units, ns; 0 if they are too few. */
static double mean_of(const struct live_window *window)
{
	return window->units < MIN_UNITS ? 0 : (double)window->sum_ns / (double)window->units;
}

static double starved_of(const struct live_window *window)
{
	return window->units ? (double)window->starved / (double)window->units : 0;
}

/* Of windows with enough units, the lower one of two in the middle; 0 without any. */
static double median_of(const struct live_window *windows, uint32_t nr,
			double (*of)(const struct live_window *window))
{
	double *values, median = 0;
	uint32_t nr_values = 0;

	if (array_new(values, nr))
		return 0;
	for (uint32_t i = 0; i < nr; i++)
		if (mean_of(&windows[i]) > 0)
			values[nr_values++] = of(&windows[i]);
	qsort(values, nr_values, sizeof(*values), order_double);
	if (nr_values)
		median = values[(nr_values - 1) / 2];
	free(values);
	return median;
}

/* What is usual: the median windows. */
struct usual {
	double mean;
	double starved;
};

static bool is_slow(const struct live_window *window, double median)
{
	return median > 0 && mean_of(window) > SLOW_FACTOR * median;
}

/* It is slow, or one close to it is: then some of its own units may be, too. */
static bool is_near_slow(const struct live_window *windows, uint32_t nr, uint32_t at, double median)
{
	uint32_t first = at < NEAR ? 0 : at - NEAR;

	for (uint32_t i = first; i < nr && i <= at + NEAR; i++)
		if (is_slow(&windows[i], median))
			return true;
	return false;
}

/* Returns true if a window is as usual, and counts it if not. */
static bool is_usual(const struct live_window *windows, uint32_t nr, uint32_t at,
		     const struct usual *usual, struct live_omitted *omitted)
{
	const struct live_window *window = &windows[at];
	uint32_t *why = NULL;

	if (window->is_degraded)
		why = &omitted->degraded;
	else if (starved_of(window) > usual->starved + STARVED_SHARE)
		why = &omitted->starved;
	else if (is_near_slow(windows, nr, at, usual->mean))
		why = &omitted->slow;
	if (why)
		++*why;
	return !why;
}

struct live_omitted live_times_sum(const struct live_window *windows, uint32_t nr,
				   struct samples_parts ret[2])
{
	const struct usual usual = {
		.mean = median_of(windows, nr, mean_of),
		.starved = median_of(windows, nr, starved_of),
	};
	struct live_omitted omitted = { 0 };
	uint32_t half = 0;

	memset(ret, 0, 2 * sizeof(*ret));
	for (uint32_t i = 0; i < nr; i++)
		if (is_usual(windows, nr, i, &usual, &omitted))
			live_times_add(&ret[half++ % 2], &windows[i].times);
	return omitted;
}
