// SPDX-License-Identifier: GPL-2.0

#include "train/guards/greedy.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/array.h"
#include "train/guards/partition.h"

/* What a bit of entropy is worth compared with accuracy: it breaks ties. */
#define BIT_WORTH 0.001
/*
 * What the variance of levels is worth: a type in which one unit of twenty takes eight times
 * as long as the others can have no limit below that.  Compared with bits, and with accuracy.
 */
#define SPREAD_BITS 4.0
#define SPREAD_ACCURACY 2.0
/* A guard whose gain is less than this has none. */
#define MIN_GAIN 1e-9

/* A function that may be chosen. */
struct guard_candidate {
	double value;
	uint32_t function;
	uint32_t step; /* in which it was priced */
};

struct greedy {
	const struct features *features;
	const struct greedy_options *options;
	struct partition partition;
	struct guard_candidate *heap; /* the best first */
	uint32_t nr;
	double *rest; /* by loop: of the budget */
	uint32_t *unit_shares; /* by unit: parts of hits of all that is chosen */
	uint32_t step;
};

static bool is_before(const struct guard_candidate *a, const struct guard_candidate *b)
{
	if (a->value > b->value || a->value < b->value)
		return a->value > b->value;
	return a->function < b->function;
}

static void swap_candidates(struct guard_candidate *a, struct guard_candidate *b)
{
	struct guard_candidate was = *a;

	*a = *b;
	*b = was;
}

static void sink(struct greedy *greedy, uint32_t at)
{
	for (;;) {
		uint32_t first = at;

		for (uint32_t child = 2 * at + 1; child <= 2 * at + 2 && child < greedy->nr; child++)
			if (is_before(&greedy->heap[child], &greedy->heap[first]))
				first = child;
		if (first == at)
			return;
		swap_candidates(&greedy->heap[at], &greedy->heap[first]);
		at = first;
	}
}

static void make_heap(struct greedy *greedy)
{
	for (uint32_t i = greedy->nr / 2; i-- > 0;)
		sink(greedy, i);
}

static void drop_first(struct greedy *greedy)
{
	greedy->heap[0] = greedy->heap[--greedy->nr];
	sink(greedy, 0);
}

static void price(struct greedy *greedy, struct guard_candidate *candidate)
{
	struct partition_gain gain = partition_gain(&greedy->partition, candidate->function);
	double hits = greedy->features->columns[candidate->function].price + GREEDY_FREE_HITS;
	double value = gain.bits + SPREAD_BITS * gain.spread;

	if (greedy->options->objective == GREEDY_ACCURACY)
		value = gain.right + BIT_WORTH * gain.bits + SPREAD_ACCURACY * gain.spread;
	if (value < MIN_GAIN)
		value = 0;
	if (greedy->options->price == GREEDY_PER_HIT)
		value /= hits;
	else if (greedy->options->price == GREEDY_PER_ROOT)
		value /= sqrt(hits);
	candidate->value = value;
	candidate->step = greedy->step;
}

/* What a guard takes of the parts that the worst unit may have; there is room for one alone. */
static uint32_t unit_share(const struct features_column *column, const struct features_hit *hit)
{
	uint32_t share = column->parts * (1 + GREEDY_FURTHER_HIT * (hit->count - 1));

	return share < FEATURES_MAX_HITS * FEATURES_PARTS ? share
							  : FEATURES_MAX_HITS * FEATURES_PARTS;
}

/* True if each unit has room for @function; @shares: by unit, what was taken. */
static bool has_room(const struct features *features, const uint32_t *shares, uint32_t function)
{
	const struct features_column *column = &features->columns[function];
	const struct features_hit *hits = &features->hits[column->first_hit];

	if (column->most > FEATURES_MAX_HITS * FEATURES_PARTS)
		return false;
	for (size_t i = 0; i < column->nr_hits; i++)
		if (shares[hits[i].unit] + unit_share(column, &hits[i]) >
		    GREEDY_WORST_UNIT * FEATURES_PARTS)
			return false;
	return true;
}

static void take_room(const struct features *features, uint32_t *shares, uint32_t function)
{
	const struct features_column *column = &features->columns[function];
	const struct features_hit *hits = &features->hits[column->first_hit];

	for (size_t i = 0; i < column->nr_hits; i++)
		shares[hits[i].unit] += unit_share(column, &hits[i]);
}

/* True if the budget, and that of the worst unit, allow for @function. */
static bool is_affordable(const struct greedy *greedy, uint32_t function)
{
	uint32_t nr_loops = greedy->features->signatures->samples->nr_loops;
	const double *price = &greedy->features->loop_price[(size_t)function * nr_loops];

	for (uint32_t i = 0; i < nr_loops; i++)
		if (price[i] > greedy->rest[i])
			return false;
	return has_room(greedy->features, greedy->unit_shares, function);
}

/* Returns 0 or -ENOMEM. */
static int choose(struct greedy *greedy, uint32_t function)
{
	uint32_t nr_loops = greedy->features->signatures->samples->nr_loops;

	for (uint32_t i = 0; i < nr_loops; i++)
		greedy->rest[i] -= greedy->features->loop_price[(size_t)function * nr_loops + i];
	take_room(greedy->features, greedy->unit_shares, function);
	greedy->step++;
	return partition_split(&greedy->partition, function);
}

/* The next guard, or SAMPLES_NONE. */
static uint32_t next_guard(struct greedy *greedy)
{
	if (greedy->options->is_eager) {
		for (uint32_t i = 0; i < greedy->nr; i++)
			price(greedy, &greedy->heap[i]);
		make_heap(greedy);
	}
	while (greedy->nr) {
		struct guard_candidate *first = &greedy->heap[0];

		if (!is_affordable(greedy, first->function)) {
			drop_first(greedy);
			continue;
		}
		if (first->step != greedy->step) {
			price(greedy, first);
			sink(greedy, 0);
			continue;
		}
		if (first->value <= 0)
			break;
		return first->function;
	}
	return SAMPLES_NONE;
}

static int greedy_init(struct greedy *greedy)
{
	const struct samples *samples = greedy->features->signatures->samples;
	int ret = partition_init(&greedy->partition, greedy->features);

	if (ret)
		return ret;
	if (array_new(greedy->heap, samples->nr_functions) ||
	    array_new(greedy->rest, samples->nr_loops) ||
	    array_new(greedy->unit_shares, samples->nr_units))
		return -ENOMEM;
	for (uint32_t i = 0; i < samples->nr_loops; i++)
		greedy->rest[i] = greedy->options->budget[i];
	for (uint32_t i = 0; i < samples->nr_functions; i++) {
		const struct features_column *column = &greedy->features->columns[i];
		struct guard_candidate candidate = { .function = i };

		if (!column->nr_entries || column->most > greedy->options->max_hits * FEATURES_PARTS)
			continue;
		price(greedy, &candidate);
		greedy->heap[greedy->nr++] = candidate;
	}
	make_heap(greedy);
	return 0;
}

static void greedy_deinit(struct greedy *greedy)
{
	partition_deinit(&greedy->partition);
	free(greedy->heap);
	free(greedy->rest);
	free(greedy->unit_shares);
}

int greedy_allows(const struct features *features, const uint32_t *functions, uint32_t nr)
{
	uint32_t *shares;
	int ret = 1;

	if (array_new(shares, features->signatures->samples->nr_units))
		return -ENOMEM;
	for (uint32_t i = 0; i < nr && ret; i++) {
		ret = has_room(features, shares, functions[i]);
		take_room(features, shares, functions[i]);
	}
	free(shares);
	return ret;
}

int greedy_choose(const struct features *features, const struct greedy_options *options,
		  uint32_t *ret, uint32_t *ret_nr)
{
	struct greedy greedy = { .features = features, .options = options };
	int error = greedy_init(&greedy);

	*ret_nr = 0;
	while (!error) {
		uint32_t function = next_guard(&greedy);

		if (function == SAMPLES_NONE)
			break;
		ret[(*ret_nr)++] = function;
		drop_first(&greedy);
		error = choose(&greedy, function);
	}
	greedy_deinit(&greedy);
	if (!error)
		qsort(ret, *ret_nr, sizeof(*ret), order_u32);
	return error;
}
