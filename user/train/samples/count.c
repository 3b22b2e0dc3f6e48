// SPDX-License-Identifier: GPL-2.0

#include "train/samples/count.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

enum {
	QUARTERS = 4,
};

void count_deinit(struct unit_counts *counts)
{
	for (uint32_t i = 0; counts->trees && i < counts->tree_index.nr; i++)
		free(counts->trees[i].leaves);
	for (uint32_t i = 0; counts->variants && i < counts->variant_index.nr; i++)
		free(counts->variants[i].hits);
	free(counts->keys);
	free(counts->met);
	free(counts->trees);
	free(counts->variants);
	free(counts->units);
	hash_index_deinit(&counts->key_index);
	hash_index_deinit(&counts->tree_index);
	hash_index_deinit(&counts->variant_index);
	*counts = (struct unit_counts){ 0 };
}

static struct unit_counts_key *key_get(struct unit_counts *counts, uint32_t function,
				       uint32_t depth)
{
	uint64_t hash = hash_mix(hash_mix(0, function), depth);
	uint32_t cursor = 0, at;

	while ((at = hash_index_next(&counts->key_index, hash, &cursor)) != HASH_INDEX_NONE)
		if (counts->keys[at].function == function && counts->keys[at].depth == depth)
			return &counts->keys[at];
	at = counts->key_index.nr;
	if (array_grow(counts->keys, at, counts->max_keys) ||
	    hash_index_add(&counts->key_index, hash))
		return NULL;
	counts->keys[at] = (struct unit_counts_key){
		.function = function,
		.depth = depth,
		.node = SAMPLES_NONE,
	};
	return &counts->keys[at];
}

int count_hit(struct unit_counts *counts, uint32_t function, uint32_t depth, uint32_t node)
{
	struct unit_counts_key *key = key_get(counts, function, depth);

	if (!key)
		return -ENOMEM;
	if (key->epoch != counts->epoch) {
		if (array_grow(counts->met, counts->nr_met, counts->max_met))
			return -ENOMEM;
		counts->met[counts->nr_met++] = (uint32_t)(key - counts->keys);
		key->epoch = counts->epoch;
		key->count = 0;
		key->first = counts->hits;
	}
	key->count++;
	key->calls++;
	if (key->node == SAMPLES_NONE)
		key->node = node;
	else if (key->node != node)
		key->is_ambiguous = true;
	counts->hits++;
	return 0;
}

void count_forget_hits(struct unit_counts *counts)
{
	counts->nr_met = 0;
	counts->hits = 0;
	counts->epoch++;
}

static int tree_get(struct unit_counts *counts, uint32_t loop, const uint32_t *leaves, uint32_t nr,
		    uint32_t *ret)
{
	uint64_t hash = hash_mix(0, loop);
	uint32_t cursor = 0, *copy;

	for (uint32_t i = 0; i < nr; i++)
		hash = hash_mix(hash, leaves[i]);
	while ((*ret = hash_index_next(&counts->tree_index, hash, &cursor)) != HASH_INDEX_NONE) {
		const struct samples_tree *tree = &counts->trees[*ret];

		if (tree->loop == loop && tree->nr_leaves == nr &&
		    (!nr || !memcmp(tree->leaves, leaves, nr * sizeof(*leaves))))
			return 0;
	}
	*ret = counts->tree_index.nr;
	copy = malloc((nr + 1UL) * sizeof(*copy));
	if (!copy || array_grow(counts->trees, *ret, counts->max_trees) ||
	    hash_index_add(&counts->tree_index, hash)) {
		free(copy);
		return -ENOMEM;
	}
	if (nr)
		memcpy(copy, leaves, nr * sizeof(*copy));
	counts->trees[*ret] = (struct samples_tree){
		.loop = loop,
		.leaves = copy,
		.nr_leaves = nr,
	};
	return 0;
}

/* The hits of the unit at hand, as samples have them. */
static struct samples_hit *copy_hits(const struct unit_counts *counts)
{
	struct samples_hit *hits = calloc(counts->nr_met ? counts->nr_met : 1, sizeof(*hits));

	for (uint32_t i = 0; hits && i < counts->nr_met; i++) {
		const struct unit_counts_key *key = &counts->keys[counts->met[i]];

		hits[i].function = key->function;
		hits[i].depth = key->depth;
		hits[i].count = key->count < UINT16_MAX ? (uint16_t)key->count : UINT16_MAX;
		hits[i].quarter = (uint8_t)((uint64_t)key->first * QUARTERS / counts->hits);
	}
	return hits;
}

static bool is_same_hits(const struct samples_hit *a, const struct samples_hit *b, uint32_t nr)
{
	for (uint32_t i = 0; i < nr; i++)
		if (a[i].function != b[i].function || a[i].depth != b[i].depth ||
		    a[i].count != b[i].count || a[i].quarter != b[i].quarter)
			return false;
	return true;
}

static int variant_get(struct unit_counts *counts, uint32_t tree, uint32_t *ret)
{
	struct samples_hit *hits = copy_hits(counts);
	uint64_t hash = hash_mix(1, tree);
	uint32_t cursor = 0;

	if (!hits)
		return -ENOMEM;
	for (uint32_t i = 0; i < counts->nr_met; i++)
		hash = hash_mix(hash_mix(hash, ((uint64_t)hits[i].function << 32) | hits[i].depth),
				((uint64_t)hits[i].count << 8) | hits[i].quarter);
	while ((*ret = hash_index_next(&counts->variant_index, hash, &cursor)) != HASH_INDEX_NONE) {
		const struct samples_unit *known = &counts->variants[*ret];

		if (known->tree == tree && known->nr_hits == counts->nr_met &&
		    is_same_hits(known->hits, hits, known->nr_hits)) {
			free(hits);
			return 0;
		}
	}
	*ret = counts->variant_index.nr;
	if (array_grow(counts->variants, *ret, counts->max_variants) ||
	    hash_index_add(&counts->variant_index, hash)) {
		free(hits);
		return -ENOMEM;
	}
	counts->variants[*ret] = (struct samples_unit){
		.tree = tree,
		.hits = hits,
		.nr_hits = counts->nr_met,
	};
	return 0;
}

int count_unit(struct unit_counts *counts, const struct extract_unit *unit, const uint32_t *leaves,
	       uint32_t nr_leaves)
{
	struct extract_unit counted = *unit;
	int error = array_grow(counts->units, counts->nr_units, counts->max_units);

	if (!error)
		error = tree_get(counts, unit->loop, leaves, nr_leaves, &counted.tree);
	if (!error)
		error = variant_get(counts, counted.tree, &counted.variant);
	if (error)
		return error;
	counted.hits = counts->hits;
	counts->units[counts->nr_units++] = counted;
	count_forget_hits(counts);
	return 0;
}

static int by_loop_and_begin(const void *a, const void *b)
{
	const struct extract_unit *left = a, *right = b;

	return order_of(left->loop, right->loop) ?: order_of(left->start_ns, right->start_ns) ?:
	       order_of(left->tid, right->tid);
}

static void note_time(struct samples_unit *variant, const struct extract_unit *unit)
{
	uint64_t ns = unit->is_untimed ? 0 : unit->end_ns - unit->start_ns;

	variant->least_ns = least_time(variant->least_ns, ns);
}

/*
 * Every second one of so many intervals of a loop's time is held back, so that
 * both halves see all that a load that changes does.
 */
static void count_halves(struct unit_counts *counts, struct samples *samples)
{
	uint64_t begin = 0, end;

	qsort(counts->units, counts->nr_units, sizeof(*counts->units), by_loop_and_begin);
	for (; begin < counts->nr_units; begin = end) {
		uint32_t loop = counts->units[begin].loop;

		for (end = begin; end < counts->nr_units && counts->units[end].loop == loop; end++)
			;
		samples->loops[loop].units = end - begin;
		for (uint64_t i = begin; i < end; i++) {
			struct extract_unit *unit = &counts->units[i];

			unit->half = samples_half(i - begin, end - begin);
			counts->trees[unit->tree].units[unit->half]++;
			counts->variants[unit->variant].units[unit->half]++;
			note_time(&counts->variants[unit->variant], unit);
		}
	}
}

static void give_units(struct unit_counts *counts, struct extract_result *result)
{
	result->units = counts->units;
	result->nr_units = counts->nr_units;
	counts->units = NULL;
	counts->nr_units = 0;
	result->contexts.pairs = counts->key_index.nr;
	for (uint32_t i = 0; i < counts->key_index.nr; i++) {
		result->contexts.calls += counts->keys[i].calls;
		if (counts->keys[i].is_ambiguous)
			continue;
		result->contexts.calls_known += counts->keys[i].calls;
		result->contexts.pairs_known++;
	}
}

void count_finish(struct unit_counts *counts, struct samples *samples,
		  struct extract_result *result)
{
	if (counts->nr_units)
		count_halves(counts, samples);
	samples->trees = counts->trees;
	samples->nr_trees = counts->tree_index.nr;
	samples->units = counts->variants;
	samples->nr_units = counts->variant_index.nr;
	counts->trees = NULL;
	counts->variants = NULL;
	if (result)
		give_units(counts, result);
}
