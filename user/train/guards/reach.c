// SPDX-License-Identifier: GPL-2.0

#include "train/guards/reach.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash-index.h"
#include "train/guards/timed.h"
#include "train/samples/times.h"

/* Of the power mean. */
#define POWER 6.0

struct reach_kind {
	double units;
	double ns;
	uint64_t hash; /* of its loop, and of what it hit of chosen functions */
};

/* Kinds that are left together: sums over units. */
struct reach_group {
	double units;
	double ns;
	double power;
};

/* Of a function's depths in what a timing hit; 0 if it has none there. */
static uint64_t feature_of(const struct samples_timing *timing, uint32_t function)
{
	uint64_t hash = 0;

	for (uint32_t i = 0; i < timing->nr_hits; i++)
		if (timing->hits[i].function == function)
			hash = hash_mix(hash + 1, timing->hits[i].depth + UINT64_C(1));
	return hash;
}

static bool is_wanted(const struct reach *reach, const struct samples *samples,
		      const struct samples_timing *timing)
{
	return timing->times[0].of[SAMPLES_OWN].nr &&
	       timed_covers(&samples->guards[timing->guards], reach->functions,
			    reach->nr_functions);
}

static void add_kind(struct reach *reach, const struct samples_timing *timing, uint32_t max)
{
	const struct samples_times *own = &timing->times[0].of[SAMPLES_OWN];
	uint32_t at = reach->nr_kinds++;

	/* A stall does not matter to the median. */
	reach->kinds[at] = (struct reach_kind){
		.units = (double)own->nr,
		.ns = (double)times_rank(own, (own->nr + 1) / 2) + 1,
		.hash = hash_mix(0, timing->loop),
	};
	for (uint32_t i = 0; i < reach->nr_functions; i++)
		reach->features[(size_t)i * max + at] = feature_of(timing, reach->functions[i]);
}

int reach_init(struct reach *reach, const struct samples *samples, const uint32_t *functions,
	       uint32_t nr)
{
	uint32_t max = 0;

	*reach = (struct reach){ .functions = functions, .nr_functions = nr };
	for (uint32_t i = 0; i < samples->nr_timings; i++)
		max += is_wanted(reach, samples, &samples->timings[i]);
	if (array_new(reach->kinds, max) || array_new(reach->features, (size_t)nr * max)) {
		reach_deinit(reach);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < samples->nr_timings; i++)
		if (is_wanted(reach, samples, &samples->timings[i]))
			add_kind(reach, &samples->timings[i], max);
	return 0;
}

void reach_deinit(struct reach *reach)
{
	free(reach->kinds);
	free(reach->features);
	memset(reach, 0, sizeof(*reach));
}

/* Of the kind at @at, with its feature among the @features of a function; NULL: none. */
static uint64_t hash_of(const struct reach *reach, const uint64_t *features, uint32_t at)
{
	return features ? hash_mix(reach->kinds[at].hash, features[at]) : reach->kinds[at].hash;
}

static double sum_up(const struct reach_group *groups, uint32_t nr)
{
	double bits = 0, units = 0;

	for (uint32_t i = 0; i < nr; i++) {
		const struct reach_group *group = &groups[i];

		bits += group->units * (log2(group->power / group->units) / POWER -
					log2(group->ns / group->units));
		units += group->units;
	}
	return units > 0 ? bits / units : 0;
}

static int reach_with(const struct reach *reach, const uint64_t *features, double *ret)
{
	struct hash_index index = { 0 };
	struct reach_group *groups;
	int error = array_new(groups, reach->nr_kinds);

	for (uint32_t i = 0; i < reach->nr_kinds && !error; i++) {
		const struct reach_kind *kind = &reach->kinds[i];
		uint64_t hash = hash_of(reach, features, i);
		uint32_t cursor = 0, at = hash_index_next(&index, hash, &cursor);

		if (at == HASH_INDEX_NONE) {
			at = index.nr;
			error = hash_index_add(&index, hash);
		}
		groups[at].units += kind->units;
		groups[at].ns += kind->units * kind->ns;
		groups[at].power += kind->units * pow(kind->ns, POWER);
	}
	if (!error)
		*ret = sum_up(groups, index.nr);
	hash_index_deinit(&index);
	free(groups);
	return error;
}

int reach_try(const struct reach *reach, uint32_t at, double *ret)
{
	return reach_with(reach, &reach->features[(size_t)at * reach->nr_kinds], ret);
}

void reach_choose(struct reach *reach, uint32_t at)
{
	const uint64_t *features = &reach->features[(size_t)at * reach->nr_kinds];

	for (uint32_t i = 0; i < reach->nr_kinds; i++)
		reach->kinds[i].hash = hash_of(reach, features, i);
}

int reach_now(const struct reach *reach, double *ret)
{
	return reach_with(reach, NULL, ret);
}
