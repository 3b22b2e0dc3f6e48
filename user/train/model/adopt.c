// SPDX-License-Identifier: GPL-2.0

#include "train/model/adopt.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "train/guards/timed.h"
#include "train/samples/times.h"

/* A type that takes so many times as long as the pace of all lets expect is slow by itself. */
#define SLOW_FACTOR 1.5

/* What is at hand while times are taken. */
struct adoption {
	struct samples *samples;
	const struct model *model;
	uint32_t *type_of_timing;
};

static uint64_t units_of(const struct adopt_type *seen)
{
	return seen->times[0].of[SAMPLES_OWN].nr + seen->times[1].of[SAMPLES_OWN].nr;
}

static double seen_mean(const struct adopt_type *seen, int part)
{
	double nr = 0, sum = 0;

	for (int half = 0; half < 2; half++) {
		nr += (double)seen->times[half].of[part].nr;
		sum += (double)seen->times[half].of[part].sum_ns;
	}
	return nr > 0 ? sum / nr : 0;
}

/* A type's own pace; 0 if it cannot be told. */
static double pace_of(const struct model_type *type, const struct adopt_type *seen, int part)
{
	if (units_of(seen) < ADOPT_MIN_UNITS || type->mean_ns[part] < 1)
		return 0;
	return seen_mean(seen, part) / type->mean_ns[part];
}

struct weighed_pace {
	double pace;
	double units;
};

static int compare_paces(const void *left, const void *right)
{
	const struct weighed_pace *a = left, *b = right;

	return (a->pace > b->pace) - (a->pace < b->pace);
}

/* The median of the types' paces, by the root of their units: one type alone decides nothing. */
static double median_pace(struct weighed_pace *paces, uint32_t nr)
{
	double half = 0;

	qsort(paces, nr, sizeof(*paces), compare_paces);
	for (uint32_t i = 0; i < nr; i++)
		half += paces[i].units / 2;
	for (uint32_t i = 0; i < nr; i++) {
		half -= paces[i].units;
		if (half <= 0)
			return paces[i].pace;
	}
	return 1;
}

static int find_pace(const struct model *model, const struct adopt_type *seen,
		     struct adopt_pace *ret)
{
	struct weighed_pace *paces;

	if (array_new(paces, model->nr_types))
		return -ENOMEM;
	for (int part = 0; part < SAMPLES_NR_PARTS; part++) {
		uint32_t nr = 0;

		ret->of[part] = 1;
		/* What they wait for is not this machine's CPU. */
		if (part != SAMPLES_OWN && part != SAMPLES_CPU)
			continue;
		for (uint32_t i = 0; i < model->nr_types; i++) {
			paces[nr].pace = pace_of(&model->types[i], &seen[i], part);
			paces[nr].units = sqrt((double)units_of(&seen[i]));
			nr += paces[nr].pace > 0;
		}
		ret->of[part] = median_pace(paces, nr);
	}
	free(paces);
	return 0;
}

/* The timing of the type with the most units; SAMPLES_NONE if it has none. */
static uint32_t main_timing(const struct adoption *adoption, uint32_t type)
{
	uint32_t best = SAMPLES_NONE;
	uint64_t most = 0;

	for (uint32_t i = 0; i < adoption->samples->nr_timings; i++) {
		const struct samples_timing *timing = &adoption->samples->timings[i];
		uint64_t units = timing->times[0].of[SAMPLES_OWN].nr +
				 timing->times[1].of[SAMPLES_OWN].nr;

		if (adoption->type_of_timing[i] != type || (best != SAMPLES_NONE && units <= most))
			continue;
		best = i;
		most = units;
	}
	return best;
}

static bool is_guard(const struct samples_guards *guards, uint32_t function)
{
	uint32_t at = (uint32_t)array_bisect(i, guards->nr, guards->functions[i] >= function);

	return at < guards->nr && guards->functions[at] == function;
}

/* What the type's most frequent unit hits of those guards. */
static int copy_hits(const struct adoption *adoption, uint32_t type,
		     const struct samples_guards *guards, struct samples_timing *ret)
{
	const struct samples_unit *best = NULL;
	uint64_t most = 0;

	for (uint32_t i = 0; i < adoption->samples->nr_units; i++) {
		const struct samples_unit *unit = &adoption->samples->units[i];

		if (adoption->model->type_of_tree[unit->tree] != type ||
		    (best && unit->units[0] <= most))
			continue;
		best = unit;
		most = unit->units[0];
	}
	if (!best)
		return -ENOENT;
	if (array_new(ret->hits, best->nr_hits))
		return -ENOMEM;
	for (uint32_t i = 0; i < best->nr_hits; i++)
		if (is_guard(guards, best->hits[i].function))
			ret->hits[ret->nr_hits++] = (struct samples_hit){
				.function = best->hits[i].function,
				.depth = best->hits[i].depth,
			};
	return 0;
}

/* A timing of a type of which no unit was timed, in a run with the guards of the model. */
static int new_timing(struct adoption *adoption, uint32_t type, uint32_t *ret)
{
	struct samples *samples = adoption->samples;
	uint32_t nr = samples->nr_timings, like = 0;
	struct samples_timing *timings, *timing;
	int error;

	while (like < nr && adoption->type_of_timing[like] == SAMPLES_NONE)
		like++;
	if (like == nr)
		return -ENOENT;
	timings = reallocarray(samples->timings, nr + 1u, sizeof(*timings));
	if (!timings)
		return -ENOMEM;
	samples->timings = timings;
	timing = &timings[nr];
	*timing = (struct samples_timing){
		.guards = timings[like].guards,
		.loop = adoption->model->types[type].loop,
	};
	error = copy_hits(adoption, type, &samples->guards[timing->guards], timing);
	if (error) {
		free(timing->hits);
		return error;
	}
	*ret = samples->nr_timings++;
	return 0;
}

/* Requests that were seen take the place of those of training, if they are enough. */
static void take_requests(struct adoption *adoption, uint32_t type, const struct adopt_type *seen)
{
	uint32_t at = main_timing(adoption, type);
	struct samples *samples = adoption->samples;

	if (at == SAMPLES_NONE ||
	    seen->times[0].requests[0].nr + seen->times[1].requests[0].nr < ADOPT_MIN_UNITS)
		return;
	for (int half = 0; half < 2; half++) {
		for (uint32_t i = 0; i < samples->nr_timings; i++)
			if (adoption->type_of_timing[i] == type)
				memset(samples->timings[i].times[half].requests, 0,
				       sizeof(samples->timings[i].times[half].requests));
		memcpy(samples->timings[at].times[half].requests, seen->times[half].requests,
		       sizeof(seen->times[half].requests));
	}
}

/* The type's requests are what they are, whatever is taken of its units. */
static void keep_requests(const struct adoption *adoption, uint32_t type, uint32_t nr_timings,
			  struct adopt_type *seen)
{
	for (int half = 0; half < 2; half++) {
		memset(seen->times[half].requests, 0, sizeof(seen->times[half].requests));
		for (uint32_t i = 0; i < nr_timings; i++)
			if (adoption->type_of_timing[i] == type)
				times_merge_requests(&seen->times[half],
						     &adoption->samples->timings[i].times[half]);
	}
}

/* One timing has what was seen, and the type's others nothing. */
static int take(struct adoption *adoption, uint32_t type, struct adopt_type *seen)
{
	uint32_t nr = adoption->samples->nr_timings, at = main_timing(adoption, type);
	int ret = at == SAMPLES_NONE ? new_timing(adoption, type, &at) : 0;

	/* A type that no unit of the structure run shows cannot be told by its hits. */
	if (ret)
		return ret == -ENOENT ? 0 : ret;
	keep_requests(adoption, type, nr, seen);
	for (uint32_t i = 0; i < nr; i++)
		if (adoption->type_of_timing[i] == type) {
			memset(adoption->samples->timings[i].times, 0,
			       sizeof(adoption->samples->timings[i].times));
			adoption->samples->timings[i].nr_contexts_hit = 0;
			adoption->samples->timings[i].is_carried = false;
		}
	memcpy(adoption->samples->timings[at].times, seen->times, sizeof(seen->times));
	for (int half = 0; half < 2; half++) /* the module takes it off, too */
		memcpy(adoption->samples->timings[at].times[half].added_ns,
		       adoption->model->types[type].added_ns,
		       sizeof(adoption->model->types[type].added_ns));
	seen->is_adopted = true;
	return 0;
}

/* What nothing new is known of is as long as the machine makes it. */
static void keep_pace(struct adoption *adoption, const struct adopt_type *seen, uint32_t nr,
		      const struct adopt_pace *pace)
{
	for (uint32_t i = 0; i < nr; i++) {
		struct samples_timing *timing = &adoption->samples->timings[i];

		if (adoption->type_of_timing[i] != SAMPLES_NONE &&
		    seen[adoption->type_of_timing[i]].is_adopted)
			continue;
		for (int part = 0; part < SAMPLES_NR_PARTS; part++)
			for (int half = 0; half < 2; half++)
				if (pace->of[part] < 1 || pace->of[part] > 1)
					times_scale(&timing->times[half].of[part],
						    pace->of[part]);
	}
}

static bool is_slow(const struct model_type *type, const struct adopt_type *seen,
		    const struct adopt_pace *pace)
{
	return pace_of(type, seen, SAMPLES_OWN) > SLOW_FACTOR * pace->of[SAMPLES_OWN];
}

int adopt_times(struct samples *samples, const struct model *model, struct adopt_type *seen,
		struct adopt_pace *pace)
{
	struct adoption adoption = { .samples = samples, .model = model };
	uint32_t nr = samples->nr_timings;
	int ret = array_new(adoption.type_of_timing, nr);

	if (!ret)
		ret = timed_types(samples, model, adoption.type_of_timing);
	if (!ret)
		ret = find_pace(model, seen, pace);
	for (uint32_t i = 0; i < model->nr_types && !ret; i++) {
		take_requests(&adoption, i, &seen[i]);
		seen[i].is_slow = is_slow(&model->types[i], &seen[i], pace);
		if (!seen[i].is_slow && units_of(&seen[i]) >= ADOPT_MIN_UNITS)
			ret = take(&adoption, i, &seen[i]);
	}
	if (!ret)
		keep_pace(&adoption, seen, nr, pace);
	free(adoption.type_of_timing);
	return ret ?: samples_hash_all(samples);
}
