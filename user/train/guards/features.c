// SPDX-License-Identifier: GPL-2.0

#include "train/guards/features.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash-index.h"
#include "train/guards/levels.h"

/* An entry while it is collected. */
struct raw_entry {
	uint32_t function;
	uint32_t row;
	uint64_t feature; /* hash of the contexts */
};

struct build {
	struct features *features;
	const struct types *types;
	const struct features_options *options;
	double *levels; /* by type */
	double share[FEATURES_QUARTERS]; /* of the prefixes */
	double units; /* of training */
	uint64_t *feature; /* by function, of the unit at hand; 0: not hit */
	uint32_t *count; /* the same, hits */
	uint32_t *touched; /* functions that are hit */
	uint32_t nr_touched;
	struct raw_entry *raw;
	size_t nr_raw;
	size_t room_raw;
	struct hash_index row_index;
};

static uint64_t mix(uint64_t x)
{
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
	return x ^ (x >> 31);
}

/* Collect what @unit hits in its first quarters, up to @last. */
static void touch(struct build *build, uint32_t unit, uint32_t last)
{
	const struct signatures *signatures = build->features->signatures;

	for (uint32_t i = 0; i < build->nr_touched; i++) {
		build->feature[build->touched[i]] = 0;
		build->count[build->touched[i]] = 0;
	}
	build->nr_touched = 0;
	for (size_t i = signatures->first_hit[unit]; i < signatures->first_hit[unit + 1]; i++) {
		const struct signature_hit *hit = &signatures->hits[i];
		uint32_t function = signatures->contexts[hit->context].function;

		if (hit->quarter > last)
			continue;
		if (!build->feature[function])
			build->touched[build->nr_touched++] = function;
		/* a sum, for the order does not matter */
		build->feature[function] += mix(hit->context + 1) | 1;
		build->count[function] += hit->count;
	}
}

uint32_t features_parts(const struct samples_function *function, bool is_inline)
{
	return is_inline && function->cost & SAMPLES_COST_WINDOW ? FEATURES_JUMP_PARTS
								 : FEATURES_PARTS;
}

double features_cost(const struct samples_function *function, bool is_inline)
{
	uint32_t parts = features_parts(function, is_inline);

	if (parts == FEATURES_PARTS && function->cost & SAMPLES_COST_STEPPED)
		return FEATURES_STEPPED;
	return (double)parts / FEATURES_PARTS;
}

static void add_price(const struct build *build, uint32_t function, uint32_t unit, double hits)
{
	struct features *features = build->features;
	const struct samples *samples = features->signatures->samples;
	uint32_t loop = signatures_loop(features->signatures, unit);

	hits *= features_cost(&samples->functions[function], build->options->is_inline);
	features->columns[function].price += hits / build->units;
	features->loop_price[(size_t)function * samples->nr_loops + loop] +=
		hits / (double)features->signatures->loop_units[loop];
}

/*
 * What each function costs, and which units hit it how often.  Of a rare unit that
 * takes many hits there may be one alone, and that held back: so all units count for how
 * often a function may be hit, while its mean cost and its information are
 * learnt from the first half.
 */
static int collect_hits(struct build *build)
{
	struct features *features = build->features;
	const struct signatures *signatures = features->signatures;
	const struct samples *samples = signatures->samples;
	size_t nr = 0;

	for (uint32_t i = 0; i < samples->nr_units; i++) {
		uint64_t units = types_learnt(build->types, samples, i);

		touch(build, i, FEATURES_QUARTERS - 1);
		for (uint32_t j = 0; j < build->nr_touched; j++) {
			uint32_t function = build->touched[j], count = build->count[function];
			struct features_column *column = &features->columns[function];

			if (units)
				add_price(build, function, i, (double)count * (double)units);
			if (column->parts * count > column->most)
				column->most = column->parts * count;
			column->nr_hits++;
		}
	}
	for (uint32_t i = 0; i < samples->nr_functions; i++) {
		features->columns[i].first_hit = nr;
		nr += features->columns[i].nr_hits;
		features->columns[i].nr_hits = 0;
	}
	if (array_new(features->hits, nr))
		return -ENOMEM;
	for (uint32_t i = 0; i < samples->nr_units; i++) {
		touch(build, i, FEATURES_QUARTERS - 1);
		for (uint32_t j = 0; j < build->nr_touched; j++) {
			struct features_column *column = &features->columns[build->touched[j]];

			features->hits[column->first_hit + column->nr_hits++] =
				(struct features_hit){ i, build->count[build->touched[j]] };
		}
	}
	return 0;
}

/* True if @function can be chosen.  If not, rows do not differ by it. */
static bool is_column(const struct build *build, uint32_t function)
{
	return build->features->columns[function].most <= FEATURES_MAX_HITS * FEATURES_PARTS &&
	       (!build->options->allowed || build->options->allowed[function]);
}

/* Row @row is new: remember what is hit in it. */
static int add_raw(struct build *build, uint32_t row)
{
	for (uint32_t i = 0; i < build->nr_touched; i++) {
		uint32_t function = build->touched[i];

		if (!is_column(build, function))
			continue;
		if (array_grow(build->raw, build->nr_raw, build->room_raw))
			return -ENOMEM;
		build->raw[build->nr_raw++] = (struct raw_entry){ function, row,
								  build->feature[function] };
	}
	return 0;
}

static int add_row(struct build *build, uint32_t start, uint32_t type, double share)
{
	struct features *features = build->features;
	uint64_t hash = mix((uint64_t)start << 32 | type);
	uint32_t cursor = 0, row;

	for (uint32_t i = 0; i < build->nr_touched; i++)
		if (is_column(build, build->touched[i]))
			hash += mix(build->feature[build->touched[i]] ^ build->touched[i]);
	row = hash_index_next(&build->row_index, hash, &cursor);
	if (row != HASH_INDEX_NONE) {
		features->rows[row].share += share;
		return 0;
	}
	if (hash_index_add(&build->row_index, hash))
		return -ENOMEM;
	features->rows[features->nr_rows] = (struct features_row){
		start, type, share, build->levels[type]
	};
	return add_raw(build, features->nr_rows++);
}

static int collect_rows(struct build *build)
{
	const struct signatures *signatures = build->features->signatures;
	const struct samples *samples = signatures->samples;

	for (uint32_t i = 0; i < samples->nr_units; i++) {
		uint32_t loop = signatures_loop(signatures, i);
		double share = (double)types_learnt(build->types, samples, i) / build->units;

		for (uint32_t j = 0; j < FEATURES_QUARTERS && share > 0; j++) {
			int ret;

			if (build->share[j] <= 0)
				continue;
			touch(build, i, j);
			ret = add_row(build, loop * FEATURES_QUARTERS + j,
				      build->types->of_tree[samples->units[i].tree],
				      share * build->share[j]);
			if (ret)
				return ret;
		}
	}
	return 0;
}

static int compare_raw(const void *a, const void *b)
{
	const struct raw_entry *x = a, *y = b;

	return order_of(x->function, y->function) ?: order_of(x->feature, y->feature) ?:
	       order_of(x->row, y->row);
}

static int make_columns(struct build *build)
{
	struct features *features = build->features;

	if (build->nr_raw)
		qsort(build->raw, build->nr_raw, sizeof(*build->raw), compare_raw);
	if (array_new(features->entries, build->nr_raw))
		return -ENOMEM;
	for (size_t i = 0; i < build->nr_raw; i++) {
		const struct raw_entry *raw = &build->raw[i];
		struct features_column *column = &features->columns[raw->function];
		bool goes_on = column->nr_entries && raw[-1].feature == raw->feature;

		if (!column->nr_entries++)
			column->first_entry = i;
		features->entries[i].row = raw->row;
		features->entries[i].feature = goes_on ? features->entries[i - 1].feature :
							 raw->row;
	}
	features->nr_entries = build->nr_raw;
	return 0;
}

static bool is_cheaper(const struct features_column *a, const struct features_column *b)
{
	if (a->price < b->price || a->price > b->price)
		return a->price < b->price;
	return a->most < b->most;
}

/* Of columns that distinguish the same rows, only the cheapest keeps its entries. */
static int drop_equal_columns(struct features *features)
{
	uint32_t nr = features->signatures->samples->nr_functions, nr_kept = 0;
	uint32_t *kept; /* by element of the index */
	struct hash_index index = { 0 };
	int ret = array_new(kept, nr);

	for (uint32_t i = 0; i < nr && !ret; i++) {
		struct features_column *column = &features->columns[i], *other;
		uint32_t cursor = 0, at;
		uint64_t hash = 0;

		for (size_t j = 0; j < column->nr_entries; j++) {
			struct features_entry *entry = &features->entries[column->first_entry + j];

			hash += mix((uint64_t)entry->row << 32 | entry->feature);
		}
		if (!column->nr_entries)
			continue;
		at = hash_index_next(&index, hash, &cursor);
		if (at == HASH_INDEX_NONE) {
			kept[nr_kept++] = i;
			ret = hash_index_add(&index, hash);
			continue;
		}
		other = &features->columns[kept[at]];
		if (is_cheaper(column, other)) {
			other->nr_entries = 0;
			kept[at] = i;
		} else {
			column->nr_entries = 0;
		}
	}
	hash_index_deinit(&index);
	free(kept);
	return ret;
}

static int build_alloc(struct build *build)
{
	struct features *features = build->features;
	const struct samples *samples = features->signatures->samples;
	size_t nr = samples->nr_functions;
	int ret = array_new(features->columns, nr) ?:
		  array_new(features->loop_price, nr * samples->nr_loops) ?:
		  array_new(features->rows, (size_t)samples->nr_units * FEATURES_QUARTERS) ?:
		  array_new(build->feature, nr) ?: array_new(build->count, nr) ?:
		  array_new(build->touched, nr) ?: array_new(build->levels, build->types->nr);

	for (size_t i = 0; i < nr && !ret; i++)
		features->columns[i].parts =
			features_parts(&samples->functions[i], build->options->is_inline);
	return ret;
}

static void build_free(struct build *build)
{
	free(build->feature);
	free(build->count);
	free(build->touched);
	free(build->levels);
	free(build->raw);
	hash_index_deinit(&build->row_index);
}

int features_init(struct features *features, const struct signatures *signatures,
		  const struct types *types, const struct features_options *options)
{
	struct build build = { .features = features, .types = types, .options = options };
	int ret;

	*features = (struct features){
		.signatures = signatures,
		.nr_types = types->nr,
		.nr_starts = signatures->samples->nr_loops * FEATURES_QUARTERS,
	};
	for (int i = 0; i < FEATURES_QUARTERS; i++)
		build.share[i] = options->prefix_share / (FEATURES_QUARTERS - 1);
	build.share[FEATURES_QUARTERS - 1] = 1 - options->prefix_share;
	for (uint32_t i = 0; i < signatures->samples->nr_units; i++)
		build.units += (double)types_learnt(types, signatures->samples, i);
	ret = build_alloc(&build);
	if (!ret)
		ret = levels_of_types(signatures->samples, types, build.levels);
	if (!ret)
		ret = collect_hits(&build);
	if (!ret)
		ret = collect_rows(&build);
	if (!ret)
		ret = make_columns(&build);
	if (!ret)
		ret = drop_equal_columns(features);
	build_free(&build);
	if (ret)
		features_deinit(features);
	return ret;
}

bool features_fit(const struct features *features, const double *budget, const uint32_t *functions,
		  uint32_t nr)
{
	uint32_t nr_loops = features->signatures->samples->nr_loops;

	for (uint32_t loop = 0; loop < nr_loops; loop++) {
		double hits = 0;

		for (uint32_t i = 0; i < nr; i++)
			hits += features->loop_price[(size_t)functions[i] * nr_loops + loop];
		if (hits > budget[loop])
			return false;
	}
	return true;
}

void features_deinit(struct features *features)
{
	free(features->columns);
	free(features->loop_price);
	free(features->rows);
	free(features->entries);
	free(features->hits);
	memset(features, 0, sizeof(*features));
}
