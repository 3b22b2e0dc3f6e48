// SPDX-License-Identifier: GPL-2.0

#include "train/model/tail.h"

#include <math.h>

/* A tail is the upper tenth of the times, except of fewer than 50. */
#define TAIL_SHARE 0.1
/* A time this many times the next one is a stall. */
#define STALL_FACTOR 5
/* No tail is shorter than one with excesses of this mean: clocks and counters vary as much. */
#define LEAST_MEAN 0.02
/* Without any excess: a limit of about six times the only time. */
#define NO_MEAN 0.1

enum {
	MIN_TAIL = 5,
	MIN_STALL_UNITS = 3,
	MIN_WEIGHT = 2,
	MAX_WEIGHT = 50,
	USUAL_WEIGHT = 4,
};

uint32_t tail_stalls(const struct samples_times *times)
{
	const uint64_t *largest_ns = times->largest_ns;

	return times->nr >= MIN_STALL_UNITS && times->nr_largest > 1 && largest_ns[1] &&
	       largest_ns[0] / STALL_FACTOR > largest_ns[1];
}

uint64_t tail_largest(const struct samples_times *times)
{
	return times->nr_largest ? times->largest_ns[tail_stalls(times)] : 0;
}

/* How many of the largest times, without stalls, a tail is made of. */
static uint32_t tail_size(const struct samples_times *times, uint32_t stalls)
{
	double size = ceil(TAIL_SHARE * (double)times->nr);
	uint32_t most = times->nr_largest - stalls;

	if (size < MIN_TAIL)
		size = fmin(MIN_TAIL, ceil((double)times->nr / 2));
	if (size < most)
		most = (uint32_t)size;
	while (most && !times->largest_ns[stalls + most - 1])
		most--;
	return most;
}

struct tail tail_of(const struct samples_times *times)
{
	uint32_t stalls = tail_stalls(times), size;
	const uint64_t *largest_ns = times->largest_ns + stalls;
	struct tail tail = { 0 };

	if (!times->nr_largest)
		return tail;
	size = tail_size(times, stalls);
	tail.largest_ns = largest_ns[0];
	if (!size)
		return tail;
	tail.level_ns = (double)largest_ns[size - 1];
	tail.share = (double)size / ((double)times->nr + 1);
	tail.nr = size - 1;
	for (uint32_t i = 0; i < tail.nr; i++)
		tail.sum += log((double)largest_ns[i] / tail.level_ns);
	return tail;
}

/*
 * How many excesses the common mean is worth: their means vary by chance with 1 / nr
 * of their square, and what is beyond that is how the types differ (the method of
 * moments of DerSimonian and Laird, Controlled Clinical Trials 7, 1986).
 */
static double weight_of(const struct tail *tails, uint32_t nr, double mean, double excesses)
{
	double spread = 0, squares = 0, between, scale;
	uint32_t types = 0;

	for (uint32_t i = 0; i < nr; i++) {
		double ratio, own = tails[i].nr;

		if (!tails[i].nr)
			continue;
		ratio = tails[i].sum / own / mean - 1;
		spread += own * ratio * ratio;
		squares += own * own;
		types++;
	}
	scale = excesses - squares / excesses;
	if (types < 2 || !(scale > 0))
		return USUAL_WEIGHT;
	between = (spread - (types - 1)) / scale;
	return between > 0 ? fmin(fmax(1 / between, MIN_WEIGHT), MAX_WEIGHT) : MAX_WEIGHT;
}

struct tail_shape tail_shape_of(const struct tail *tails, uint32_t nr)
{
	struct tail_shape shape = { .mean = NO_MEAN, .weight = USUAL_WEIGHT };
	double excesses = 0, sum = 0;

	for (uint32_t i = 0; i < nr; i++) {
		excesses += tails[i].nr;
		sum += tails[i].sum;
	}
	if (!(excesses > 0))
		return shape;
	shape.mean = fmax(sum / excesses, LEAST_MEAN);
	shape.weight = weight_of(tails, nr, shape.mean, excesses);
	/* Of few excesses the mean is no more sure than they are. */
	shape.weight = fmin(shape.weight, fmax(excesses, MIN_WEIGHT));
	return shape;
}

uint64_t tail_limit(const struct tail *tail, const struct tail_shape *shape, double rate,
		    double stretch)
{
	double nr = shape->weight + tail->nr, sum = shape->weight * shape->mean + tail->sum;
	double reach = 0, ns;

	if (!(tail->level_ns > 0))
		return 0;
	if (tail->share > rate)
		reach = sum * (pow(tail->share / rate, 1 / nr) - 1);
	ns = tail->level_ns * exp(stretch * reach);
	return ns < 1e19 ? (uint64_t)ceil(ns) : (uint64_t)1e19;
}
