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

int tally_init(struct tally *tally, uint32_t nr_loops)
{
	*tally = (struct tally){
		.nr_loops = nr_loops,
		.nr_key_slots = FIRST_SLOTS,
		.nr_tree_slots = FIRST_SLOTS,
		.nr_variant_slots = FIRST_SLOTS,
		.epoch = 1,
	};
	tally->key_slots = calloc(FIRST_SLOTS, sizeof(uint32_t));
	tally->tree_slots = calloc(FIRST_SLOTS, sizeof(uint32_t));
	tally->variant_slots = calloc(FIRST_SLOTS, sizeof(uint32_t));
	return tally->key_slots && tally->tree_slots && tally->variant_slots ? 0 : -ENOMEM;
}

void tally_deinit(struct tally *tally)
{
	for (uint32_t i = 0; i < tally->nr_trees; i++)
		free(tally->trees[i].leaves);
	for (uint32_t i = 0; i < tally->nr_variants; i++)
		free(tally->variants[i].hits);
	free(tally->keys);
	free(tally->key_slots);
	free(tally->met);
	free(tally->trees);
	free(tally->tree_slots);
	free(tally->variants);
	free(tally->variant_slots);
	free(tally->units);
	*tally = (struct tally){ 0 };
}

/*
 * Slots hold index + 1.  @hash_of and @is_same know the arrays; the table is
 * kept at most half full.
 */
struct slots {
	uint32_t **slots;
	uint32_t *nr_slots;
	uint32_t nr; /* entries */
	uint64_t (*hash_of)(const struct tally *tally, uint32_t index);
};

static int slots_grow(const struct tally *tally, const struct slots *table)
{
	uint32_t nr = *table->nr_slots * 2;
	uint32_t *grown;

	if (table->nr < *table->nr_slots / 2)
		return 0;
	grown = calloc(nr, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	for (uint32_t i = 0; i < table->nr; i++) {
		uint32_t slot = (uint32_t)(table->hash_of(tally, i) >> 32) & (nr - 1);

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

static uint64_t hash_of_key(const struct tally *tally, uint32_t index)
{
	return key_hash(tally->keys[index].function, tally->keys[index].depth);
}

static uint64_t hash_of_tree(const struct tally *tally, uint32_t index)
{
	return tally->trees[index].hash;
}

static uint64_t hash_of_variant(const struct tally *tally, uint32_t index)
{
	return tally->variants[index].hash;
}

static struct tally_key *key_get(struct tally *tally, uint32_t function, uint32_t depth)
{
	uint32_t slot = (uint32_t)(key_hash(function, depth) >> 32) & (tally->nr_key_slots - 1);
	struct slots table = {
		.slots = &tally->key_slots,
		.nr_slots = &tally->nr_key_slots,
		.hash_of = hash_of_key,
	};
	struct tally_key *keys;

	for (; tally->key_slots[slot]; slot = (slot + 1) & (tally->nr_key_slots - 1)) {
		struct tally_key *key = &tally->keys[tally->key_slots[slot] - 1];

		if (key->function == function && key->depth == depth)
			return key;
	}
	keys = grow(tally->keys, tally->nr_keys, &tally->max_keys, sizeof(*keys));
	if (!keys)
		return NULL;
	tally->keys = keys;
	keys[tally->nr_keys] = (struct tally_key){
		.function = function,
		.depth = depth,
		.node = SAMPLES_NONE,
	};
	tally->key_slots[slot] = ++tally->nr_keys;
	table.nr = tally->nr_keys;
	return slots_grow(tally, &table) ? NULL : &keys[tally->nr_keys - 1];
}

int tally_hit(struct tally *tally, uint32_t function, uint32_t depth, uint32_t node)
{
	struct tally_key *key = key_get(tally, function, depth);
	uint32_t *met;

	if (!key)
		return -ENOMEM;
	if (key->epoch != tally->epoch) {
		met = grow(tally->met, tally->nr_met, &tally->max_met, sizeof(*met));
		if (!met)
			return -ENOMEM;
		tally->met = met;
		met[tally->nr_met++] = (uint32_t)(key - tally->keys);
		key->epoch = tally->epoch;
		key->count = 0;
		key->first = tally->hits;
	}
	key->count++;
	key->calls++;
	if (key->node == SAMPLES_NONE)
		key->node = node;
	else if (key->node != node)
		key->is_ambiguous = true;
	tally->hits++;
	return 0;
}

void tally_forget_hits(struct tally *tally)
{
	tally->nr_met = 0;
	tally->hits = 0;
	tally->epoch++;
}

static int tree_get(struct tally *tally, uint32_t loop, const uint32_t *leaves, uint32_t nr,
		    uint32_t *ret)
{
	uint64_t hash = mix(0, loop);
	struct slots table = {
		.slots = &tally->tree_slots,
		.nr_slots = &tally->nr_tree_slots,
		.hash_of = hash_of_tree,
	};
	struct samples_tree *trees;
	uint32_t slot, *copy;

	for (uint32_t i = 0; i < nr; i++)
		hash = mix(hash, leaves[i]);
	slot = (uint32_t)(hash >> 32) & (tally->nr_tree_slots - 1);
	for (; tally->tree_slots[slot]; slot = (slot + 1) & (tally->nr_tree_slots - 1)) {
		const struct samples_tree *tree = &tally->trees[tally->tree_slots[slot] - 1];

		if (tree->hash != hash || tree->loop != loop || tree->nr_leaves != nr ||
		    (nr && memcmp(tree->leaves, leaves, nr * sizeof(*leaves)) != 0))
			continue;
		*ret = tally->tree_slots[slot] - 1;
		return 0;
	}
	trees = grow(tally->trees, tally->nr_trees, &tally->max_trees, sizeof(*trees));
	copy = malloc((nr ? nr : 1) * sizeof(*copy));
	if (trees)
		tally->trees = trees;
	if (!trees || !copy) {
		free(copy);
		return -ENOMEM;
	}
	if (nr)
		memcpy(copy, leaves, nr * sizeof(*copy));
	*ret = tally->nr_trees++;
	trees[*ret] = (struct samples_tree){
		.hash = hash,
		.loop = loop,
		.leaves = copy,
		.nr_leaves = nr,
	};
	tally->tree_slots[slot] = *ret + 1;
	table.nr = tally->nr_trees;
	return slots_grow(tally, &table);
}

/* The hits of the unit at hand, as samples have them. */
static struct samples_hit *copy_hits(const struct tally *tally)
{
	struct samples_hit *hits = calloc(tally->nr_met ? tally->nr_met : 1, sizeof(*hits));

	for (uint32_t i = 0; hits && i < tally->nr_met; i++) {
		const struct tally_key *key = &tally->keys[tally->met[i]];

		hits[i].function = key->function;
		hits[i].depth = key->depth;
		hits[i].count = key->count < UINT16_MAX ? (uint16_t)key->count : UINT16_MAX;
		hits[i].quarter = (uint8_t)((uint64_t)key->first * QUARTERS / tally->hits);
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

static int variant_get(struct tally *tally, uint32_t tree, uint32_t *ret)
{
	struct samples_hit *hits = copy_hits(tally);
	struct slots table = {
		.slots = &tally->variant_slots,
		.nr_slots = &tally->nr_variant_slots,
		.hash_of = hash_of_variant,
	};
	struct samples_unit *variants;
	uint64_t hash = mix(1, tree);
	uint32_t slot;

	if (!hits)
		return -ENOMEM;
	for (uint32_t i = 0; i < tally->nr_met; i++)
		hash = mix(mix(hash, ((uint64_t)hits[i].function << 32) | hits[i].depth),
			   ((uint64_t)hits[i].count << 8) | hits[i].quarter);
	slot = (uint32_t)(hash >> 32) & (tally->nr_variant_slots - 1);
	for (; tally->variant_slots[slot]; slot = (slot + 1) & (tally->nr_variant_slots - 1)) {
		const struct samples_unit *known =
			&tally->variants[tally->variant_slots[slot] - 1];

		if (known->hash != hash || known->tree != tree ||
		    known->nr_hits != tally->nr_met ||
		    !is_same_hits(known->hits, hits, known->nr_hits))
			continue;
		free(hits);
		*ret = tally->variant_slots[slot] - 1;
		return 0;
	}
	variants = grow(tally->variants, tally->nr_variants, &tally->max_variants,
			sizeof(*variants));
	if (!variants) {
		free(hits);
		return -ENOMEM;
	}
	tally->variants = variants;
	*ret = tally->nr_variants++;
	variants[*ret] = (struct samples_unit){
		.hash = hash,
		.tree = tree,
		.hits = hits,
		.nr_hits = tally->nr_met,
	};
	tally->variant_slots[slot] = *ret + 1;
	table.nr = tally->nr_variants;
	return slots_grow(tally, &table);
}

int tally_unit(struct tally *tally, const struct gather_unit *unit, const uint32_t *leaves,
	       uint32_t nr_leaves)
{
	struct gather_unit *units = tally->units;
	struct gather_unit counted = *unit;
	int error;

	if (tally->nr_units == tally->max_units) {
		uint64_t max = tally->max_units ? tally->max_units * 2 : 4096;

		units = reallocarray(units, max, sizeof(*units));
		if (!units)
			return -ENOMEM;
		tally->units = units;
		tally->max_units = max;
	}
	error = tree_get(tally, unit->loop, leaves, nr_leaves, &counted.tree);
	if (!error)
		error = variant_get(tally, counted.tree, &counted.variant);
	if (error)
		return error;
	counted.hits = tally->hits;
	units[tally->nr_units++] = counted;
	tally_forget_hits(tally);
	return 0;
}

static int by_loop_and_begin(const void *a, const void *b)
{
	const struct gather_unit *left = a, *right = b;

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
static void count_halves(struct tally *tally, struct samples *samples)
{
	uint64_t begin = 0, end;

	qsort(tally->units, tally->nr_units, sizeof(*tally->units), by_loop_and_begin);
	for (; begin < tally->nr_units; begin = end) {
		uint32_t loop = tally->units[begin].loop;

		for (end = begin; end < tally->nr_units && tally->units[end].loop == loop; end++)
			;
		samples->loops[loop].units = end - begin;
		for (uint64_t i = begin; i < end; i++) {
			struct gather_unit *unit = &tally->units[i];

			unit->half = samples_half(i - begin, end - begin);
			tally->trees[unit->tree].units[unit->half]++;
			tally->variants[unit->variant].units[unit->half]++;
		}
	}
}

int tally_finish(struct tally *tally, struct samples *samples)
{
	if (tally->nr_units)
		count_halves(tally, samples);
	samples->trees = tally->trees;
	samples->nr_trees = tally->nr_trees;
	samples->units = tally->variants;
	samples->nr_units = tally->nr_variants;
	tally->trees = NULL;
	tally->variants = NULL;
	tally->nr_trees = 0;
	tally->nr_variants = 0;
	return 0;
}

void tally_give_units(struct tally *tally, struct gather_result *result)
{
	result->units = tally->units;
	result->nr_units = tally->nr_units;
	tally->units = NULL;
	tally->nr_units = 0;
	result->contexts.pairs = tally->nr_keys;
	for (uint32_t i = 0; i < tally->nr_keys; i++) {
		result->contexts.calls += tally->keys[i].calls;
		if (tally->keys[i].is_ambiguous)
			continue;
		result->contexts.chain_known += tally->keys[i].calls;
		result->contexts.pairs_known++;
	}
}
