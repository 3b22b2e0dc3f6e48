// SPDX-License-Identifier: GPL-2.0

#include "train/samples/count.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	FIRST_SLOTS = 4096,
	QUARTERS = 4,
};

static uint64_t mix(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
	return hash ^ (hash >> 29);
}

/* Make room for one more in an array that doubles; NULL if no memory. */
static void *grow(void *array, uint32_t nr, uint32_t *max, size_t size)
{
	uint32_t wanted = *max ? *max : 256;
	void *grown;

	if (array && nr < *max)
		return array;
	if (array)
		wanted *= 2;
	grown = reallocarray(array, wanted, size);
	if (grown)
		*max = wanted;
	return grown;
}

int count_init(struct unit_counts *counts, uint32_t nr_loops)
{
	*counts = (struct unit_counts){
		.nr_loops = nr_loops,
		.nr_key_slots = FIRST_SLOTS,
		.nr_tree_slots = FIRST_SLOTS,
		.nr_variant_slots = FIRST_SLOTS,
		.epoch = 1,
	};
	counts->key_slots = calloc(FIRST_SLOTS, sizeof(uint32_t));
	counts->tree_slots = calloc(FIRST_SLOTS, sizeof(uint32_t));
	counts->variant_slots = calloc(FIRST_SLOTS, sizeof(uint32_t));
	return counts->key_slots && counts->tree_slots && counts->variant_slots ? 0 : -ENOMEM;
}

void count_deinit(struct unit_counts *counts)
{
	for (uint32_t i = 0; i < counts->nr_trees; i++)
		free(counts->trees[i].leaves);
	for (uint32_t i = 0; i < counts->nr_variants; i++)
		free(counts->variants[i].hits);
	free(counts->keys);
	free(counts->key_slots);
	free(counts->met);
	free(counts->trees);
	free(counts->tree_slots);
	free(counts->variants);
	free(counts->variant_slots);
	free(counts->units);
	*counts = (struct unit_counts){ 0 };
}

/*
 * Slots hold index + 1.  @hash_of and @is_same know the arrays; the table is
 * kept at most half full.
 */
struct slots {
	uint32_t **slots;
	uint32_t *nr_slots;
	uint32_t nr; /* entries */
	uint64_t (*hash_of)(const struct unit_counts *counts, uint32_t index);
};

static int slots_grow(const struct unit_counts *counts, const struct slots *table)
{
	uint32_t nr = *table->nr_slots * 2;
	uint32_t *grown;

	if (table->nr < *table->nr_slots / 2)
		return 0;
	grown = calloc(nr, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	for (uint32_t i = 0; i < table->nr; i++) {
		uint32_t slot = (uint32_t)(table->hash_of(counts, i) >> 32) & (nr - 1);

		while (grown[slot])
			slot = (slot + 1) & (nr - 1);
		grown[slot] = i + 1;
	}
	free(*table->slots);
	*table->slots = grown;
	*table->nr_slots = nr;
	return 0;
}

static uint64_t key_hash(uint32_t function, uint32_t depth)
{
	return mix(mix(0, function), depth);
}

static uint64_t hash_of_key(const struct unit_counts *counts, uint32_t index)
{
	return key_hash(counts->keys[index].function, counts->keys[index].depth);
}

static uint64_t hash_of_tree(const struct unit_counts *counts, uint32_t index)
{
	return counts->trees[index].hash;
}

static uint64_t hash_of_variant(const struct unit_counts *counts, uint32_t index)
{
	return counts->variants[index].hash;
}

static struct unit_counts_key *key_get(struct unit_counts *counts, uint32_t function,
				       uint32_t depth)
{
	uint32_t slot = (uint32_t)(key_hash(function, depth) >> 32) & (counts->nr_key_slots - 1);
	struct slots table = {
		.slots = &counts->key_slots,
		.nr_slots = &counts->nr_key_slots,
		.hash_of = hash_of_key,
	};
	struct unit_counts_key *keys;

	for (; counts->key_slots[slot]; slot = (slot + 1) & (counts->nr_key_slots - 1)) {
		struct unit_counts_key *key = &counts->keys[counts->key_slots[slot] - 1];

		if (key->function == function && key->depth == depth)
			return key;
	}
	keys = grow(counts->keys, counts->nr_keys, &counts->max_keys, sizeof(*keys));
	if (!keys)
		return NULL;
	counts->keys = keys;
	keys[counts->nr_keys] = (struct unit_counts_key){
		.function = function,
		.depth = depth,
		.node = SAMPLES_NONE,
	};
	counts->key_slots[slot] = ++counts->nr_keys;
	table.nr = counts->nr_keys;
	return slots_grow(counts, &table) ? NULL : &keys[counts->nr_keys - 1];
}

int count_hit(struct unit_counts *counts, uint32_t function, uint32_t depth, uint32_t node)
{
	struct unit_counts_key *key = key_get(counts, function, depth);
	uint32_t *met;

	if (!key)
		return -ENOMEM;
	if (key->epoch != counts->epoch) {
		met = grow(counts->met, counts->nr_met, &counts->max_met, sizeof(*met));
		if (!met)
			return -ENOMEM;
		counts->met = met;
		met[counts->nr_met++] = (uint32_t)(key - counts->keys);
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
	uint64_t hash = mix(0, loop);
	struct slots table = {
		.slots = &counts->tree_slots,
		.nr_slots = &counts->nr_tree_slots,
		.hash_of = hash_of_tree,
	};
	struct samples_tree *trees;
	uint32_t slot, *copy;

	for (uint32_t i = 0; i < nr; i++)
		hash = mix(hash, leaves[i]);
	slot = (uint32_t)(hash >> 32) & (counts->nr_tree_slots - 1);
	for (; counts->tree_slots[slot]; slot = (slot + 1) & (counts->nr_tree_slots - 1)) {
		const struct samples_tree *tree = &counts->trees[counts->tree_slots[slot] - 1];

		if (tree->hash != hash || tree->loop != loop || tree->nr_leaves != nr ||
		    (nr && memcmp(tree->leaves, leaves, nr * sizeof(*leaves)) != 0))
			continue;
		*ret = counts->tree_slots[slot] - 1;
		return 0;
	}
	trees = grow(counts->trees, counts->nr_trees, &counts->max_trees, sizeof(*trees));
	copy = malloc((nr ? nr : 1) * sizeof(*copy));
	if (trees)
		counts->trees = trees;
	if (!trees || !copy) {
		free(copy);
		return -ENOMEM;
	}
	if (nr)
		memcpy(copy, leaves, nr * sizeof(*copy));
	*ret = counts->nr_trees++;
	trees[*ret] = (struct samples_tree){
		.hash = hash,
		.loop = loop,
		.leaves = copy,
		.nr_leaves = nr,
	};
	counts->tree_slots[slot] = *ret + 1;
	table.nr = counts->nr_trees;
	return slots_grow(counts, &table);
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
	struct slots table = {
		.slots = &counts->variant_slots,
		.nr_slots = &counts->nr_variant_slots,
		.hash_of = hash_of_variant,
	};
	struct samples_unit *variants;
	uint64_t hash = mix(1, tree);
	uint32_t slot;

	if (!hits)
		return -ENOMEM;
	for (uint32_t i = 0; i < counts->nr_met; i++)
		hash = mix(mix(hash, ((uint64_t)hits[i].function << 32) | hits[i].depth),
			   ((uint64_t)hits[i].count << 8) | hits[i].quarter);
	slot = (uint32_t)(hash >> 32) & (counts->nr_variant_slots - 1);
	for (; counts->variant_slots[slot]; slot = (slot + 1) & (counts->nr_variant_slots - 1)) {
		const struct samples_unit *known =
			&counts->variants[counts->variant_slots[slot] - 1];

		if (known->hash != hash || known->tree != tree ||
		    known->nr_hits != counts->nr_met ||
		    !is_same_hits(known->hits, hits, known->nr_hits))
			continue;
		free(hits);
		*ret = counts->variant_slots[slot] - 1;
		return 0;
	}
	variants = grow(counts->variants, counts->nr_variants, &counts->max_variants,
			sizeof(*variants));
	if (!variants) {
		free(hits);
		return -ENOMEM;
	}
	counts->variants = variants;
	*ret = counts->nr_variants++;
	variants[*ret] = (struct samples_unit){
		.hash = hash,
		.tree = tree,
		.hits = hits,
		.nr_hits = counts->nr_met,
	};
	counts->variant_slots[slot] = *ret + 1;
	table.nr = counts->nr_variants;
	return slots_grow(counts, &table);
}

int count_unit(struct unit_counts *counts, const struct extract_unit *unit, const uint32_t *leaves,
	       uint32_t nr_leaves)
{
	struct extract_unit *units = counts->units;
	struct extract_unit counted = *unit;
	int error;

	if (counts->nr_units == counts->max_units) {
		uint64_t max = counts->max_units ? counts->max_units * 2 : 4096;

		units = reallocarray(units, max, sizeof(*units));
		if (!units)
			return -ENOMEM;
		counts->units = units;
		counts->max_units = max;
	}
	error = tree_get(counts, unit->loop, leaves, nr_leaves, &counted.tree);
	if (!error)
		error = variant_get(counts, counted.tree, &counted.variant);
	if (error)
		return error;
	counted.hits = counts->hits;
	units[counts->nr_units++] = counted;
	count_forget_hits(counts);
	return 0;
}

static int by_loop_and_begin(const void *a, const void *b)
{
	const struct extract_unit *left = a, *right = b;

	if (left->loop != right->loop)
		return left->loop < right->loop ? -1 : 1;
	if (left->start_ns != right->start_ns)
		return left->start_ns < right->start_ns ? -1 : 1;
	return left->tid < right->tid ? -1 : left->tid > right->tid;
}

/*
 * Every second one of so many slices of a loop's time is held back, so that
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
		}
	}
}

int count_finish(struct unit_counts *counts, struct samples *samples)
{
	if (counts->nr_units)
		count_halves(counts, samples);
	samples->trees = counts->trees;
	samples->nr_trees = counts->nr_trees;
	samples->units = counts->variants;
	samples->nr_units = counts->nr_variants;
	counts->trees = NULL;
	counts->variants = NULL;
	counts->nr_trees = 0;
	counts->nr_variants = 0;
	return 0;
}

void count_give_units(struct unit_counts *counts, struct extract_result *result)
{
	result->units = counts->units;
	result->nr_units = counts->nr_units;
	counts->units = NULL;
	counts->nr_units = 0;
	result->contexts.pairs = counts->nr_keys;
	for (uint32_t i = 0; i < counts->nr_keys; i++) {
		result->contexts.calls += counts->keys[i].calls;
		if (counts->keys[i].is_ambiguous)
			continue;
		result->contexts.calls_known += counts->keys[i].calls;
		result->contexts.pairs_known++;
	}
}
