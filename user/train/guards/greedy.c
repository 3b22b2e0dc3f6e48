// SPDX-License-Identifier: GPL-2.0

#include "train/guards/greedy.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/array.h"
#include "train/guards/partition.h"

/* Added to a guard's price: one that is hardly ever hit is not for free. */
#define FREE_HITS 0.003
/* What a bit of entropy is worth compared with accuracy: it breaks ties. */
#define BIT_WORTH 0.001
/* A guard whose gain is less than this has none. */
#define MIN_GAIN 1e-9

/* A function that may be chosen. */
struct candidate {
	double value;
	uint32_t function;
	uint32_t step; /* in which it was priced */
};

struct run {
	const struct features *features;
	const struct greedy_options *options;
	struct partition partition;
	struct candidate *heap; /* the best first */
	uint32_t nr;
	double *rest; /* by loop: of the budget */
	uint32_t *unit_shares; /* by unit: of all that is chosen */
	uint32_t step;
};

static bool is_before(const struct candidate *a, const struct candidate *b)
{
	if (a->value > b->value || a->value < b->value)
		return a->value > b->value;
	return a->function < b->function;
}

static void swap_candidates(struct candidate *a, struct candidate *b)
{
	struct candidate was = *a;

	*a = *b;
	*b = was;
}

static void sink(struct run *run, uint32_t at)
{
	for (;;) {
		uint32_t first = at;

		for (uint32_t child = 2 * at + 1; child <= 2 * at + 2 && child < run->nr; child++)
			if (is_before(&run->heap[child], &run->heap[first]))
				first = child;
		if (first == at)
			return;
		swap_candidates(&run->heap[at], &run->heap[first]);
		at = first;
	}
}

static void make_heap(struct run *run)
{
	for (uint32_t i = run->nr / 2; i-- > 0;)
		sink(run, i);
}

static void drop_first(struct run *run)
{
	run->heap[0] = run->heap[--run->nr];
	sink(run, 0);
}

static void price(struct run *run, struct candidate *candidate)
{
	struct partition_gain gain = partition_gain(&run->partition, candidate->function);
	double hits = run->features->columns[candidate->function].price + FREE_HITS;
	double value = gain.bits;

	if (run->options->objective == GREEDY_ACCURACY)
		value = gain.right + BIT_WORTH * gain.bits;
	if (value < MIN_GAIN)
		value = 0;
	if (run->options->price == GREEDY_PER_HIT)
		value /= hits;
	else if (run->options->price == GREEDY_PER_ROOT)
		value /= sqrt(hits);
	candidate->value = value;
	candidate->step = run->step;
}

/* What a guard takes of that which the worst unit may have; there is room for one alone. */
static uint32_t unit_share(const struct features_hit *hit)
{
	uint32_t share = 1 + GREEDY_FURTHER_HIT * (hit->count - 1);

	return share < FEATURES_MAX_HITS ? share : FEATURES_MAX_HITS;
}

/* True if each unit has room for @function; @shares: by unit, what was taken. */
static bool has_room(const struct features *features, const uint32_t *shares, uint32_t function)
{
	const struct features_column *column = &features->columns[function];
	const struct features_hit *hits = &features->hits[column->first_hit];

	if (column->most > FEATURES_MAX_HITS)
		return false;
	for (size_t i = 0; i < column->nr_hits; i++)
		if (shares[hits[i].unit] + unit_share(&hits[i]) > GREEDY_WORST_UNIT)
			return false;
	return true;
}

static void take_room(const struct features *features, uint32_t *shares, uint32_t function)
{
	const struct features_column *column = &features->columns[function];
	const struct features_hit *hits = &features->hits[column->first_hit];

	for (size_t i = 0; i < column->nr_hits; i++)
		shares[hits[i].unit] += unit_share(&hits[i]);
}

/* True if the budget, and that of the worst unit, allow for @function. */
static bool is_affordable(const struct run *run, uint32_t function)
{
	uint32_t nr_loops = run->features->signatures->samples->nr_loops;
	const double *price = &run->features->loop_price[(size_t)function * nr_loops];

	for (uint32_t i = 0; i < nr_loops; i++)
		if (price[i] > run->rest[i])
			return false;
	return has_room(run->features, run->unit_shares, function);
}

static void choose(struct run *run, uint32_t function)
{
	uint32_t nr_loops = run->features->signatures->samples->nr_loops;

	for (uint32_t i = 0; i < nr_loops; i++)
		run->rest[i] -= run->features->loop_price[(size_t)function * nr_loops + i];
	take_room(run->features, run->unit_shares, function);
	partition_split(&run->partition, function);
	run->step++;
}

/* The next guard, or SAMPLES_NONE. */
static uint32_t next_guard(struct run *run)
{
	if (run->options->is_eager) {
		for (uint32_t i = 0; i < run->nr; i++)
			price(run, &run->heap[i]);
		make_heap(run);
	}
	while (run->nr) {
		struct candidate *first = &run->heap[0];

		if (!is_affordable(run, first->function)) {
			drop_first(run);
			continue;
		}
		if (first->step != run->step) {
			price(run, first);
			sink(run, 0);
			continue;
		}
		if (first->value <= 0)
			break;
		return first->function;
	}
	return SAMPLES_NONE;
}

static int run_init(struct run *run)
{
	const struct samples *samples = run->features->signatures->samples;
	int ret = partition_init(&run->partition, run->features);

	if (ret)
		return ret;
	run->heap = calloc((size_t)samples->nr_functions + 1, sizeof(*run->heap));
	run->rest = calloc((size_t)samples->nr_loops + 1, sizeof(*run->rest));
	run->unit_shares = calloc((size_t)samples->nr_units + 1, sizeof(*run->unit_shares));
	if (!run->heap || !run->rest || !run->unit_shares)
		return -ENOMEM;
	for (uint32_t i = 0; i < samples->nr_loops; i++)
		run->rest[i] = run->options->budget[i];
	for (uint32_t i = 0; i < samples->nr_functions; i++) {
		const struct features_column *column = &run->features->columns[i];
		struct candidate candidate = { .function = i };

		if (!column->nr_entries || column->most > run->options->max_hits)
			continue;
		price(run, &candidate);
		run->heap[run->nr++] = candidate;
	}
	make_heap(run);
	return 0;
}

static void run_deinit(struct run *run)
{
	partition_deinit(&run->partition);
	free(run->heap);
	free(run->rest);
	free(run->unit_shares);
}

int greedy_allows(const struct features *features, const uint32_t *functions, uint32_t nr)
{
	uint32_t *shares = calloc((size_t)features->signatures->samples->nr_units + 1,
				  sizeof(*shares));
	int ret = 1;

	if (!shares)
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
	struct run run = { .features = features, .options = options };
	int error = run_init(&run);

	*ret_nr = 0;
	while (!error) {
		uint32_t function = next_guard(&run);

		if (function == SAMPLES_NONE)
			break;
		ret[(*ret_nr)++] = function;
		drop_first(&run);
		choose(&run, function);
	}
	run_deinit(&run);
	if (!error)
		qsort(ret, *ret_nr, sizeof(*ret), order_u32);
	return error;
}
