// SPDX-License-Identifier: GPL-2.0

#include "train/samples/unify.h"

#include <errno.h>
#include <stdlib.h>

static void limit_units(struct samples *samples)
{
	uint32_t kept = 0, of_loop = 0, loop = SAMPLES_NONE;

	for (uint32_t i = 0; i < samples->nr_units; i++) {
		struct samples_unit *unit = &samples->units[i];

		if (samples->trees[unit->tree].loop != loop)
			of_loop = 0;
		loop = samples->trees[unit->tree].loop;
		if (of_loop++ < SAMPLES_MAX_UNITS)
			samples->units[kept++] = *unit;
		else
			free(unit->hits);
	}
	samples->nr_units = kept;
}

/* What becomes of a tree. */
enum {
	STAYS,
	STAYS_FOR_VARIANT, /* and counts what its variants do */
	GOES,
};

/* @moved: by tree, where it went. */
static void drop_trees(struct samples *samples, uint32_t *moved)
{
	uint32_t kept = 0, of_loop = 0;

	for (uint32_t i = 0; i < samples->nr_trees; i++) {
		struct samples_tree *tree = &samples->trees[i];

		if (i && tree->loop != tree[-1].loop)
			of_loop = 0;
		moved[i] = of_loop++ < SAMPLES_MAX_TREES ? STAYS : GOES;
		if (moved[i] == GOES)
			tree->units[0] = tree->units[1] = 0;
	}
	for (uint32_t i = 0; i < samples->nr_units; i++) {
		const struct samples_unit *unit = &samples->units[i];
		uint64_t *units = samples->trees[unit->tree].units;

		if (moved[unit->tree] == STAYS)
			continue;
		moved[unit->tree] = STAYS_FOR_VARIANT;
		units[0] = sum_saturating(units[0], unit->units[0]);
		units[1] = sum_saturating(units[1], unit->units[1]);
	}
	for (uint32_t i = 0; i < samples->nr_trees; i++) {
		if (moved[i] == GOES) {
			free(samples->trees[i].leaves);
			continue;
		}
		samples->trees[kept] = samples->trees[i];
		moved[i] = kept++;
	}
	samples->nr_trees = kept;
	for (uint32_t i = 0; i < samples->nr_units; i++)
		samples->units[i].tree = moved[samples->units[i].tree];
}

/* The order of those that stay is what it was. */
static void drop_paths(struct samples *samples, uint32_t *moved)
{
	struct samples_node *nodes = samples->nodes;
	uint32_t kept = 0;

	for (uint32_t i = 0; i < samples->nr_nodes; i++)
		moved[i] = SAMPLES_NONE;
	for (uint32_t i = 0; i < samples->nr_trees; i++)
		for (uint32_t j = 0; j < samples->trees[i].nr_leaves; j++)
			moved[samples->trees[i].leaves[j]] = 0;
	for (uint32_t i = samples->nr_nodes; i-- > 1;)
		if (moved[i] != SAMPLES_NONE)
			moved[nodes[i].parent] = 0;
	moved[0] = 0;
	for (uint32_t i = 0; i < samples->nr_nodes; i++) {
		if (moved[i] == SAMPLES_NONE)
			continue;
		nodes[kept].parent = moved[nodes[i].parent];
		nodes[kept].function = nodes[i].function;
		moved[i] = kept++;
	}
	samples->nr_nodes = kept;
	for (uint32_t i = 0; i < samples->nr_trees; i++)
		for (uint32_t j = 0; j < samples->trees[i].nr_leaves; j++)
			samples->trees[i].leaves[j] = moved[samples->trees[i].leaves[j]];
}

int samples_limit(struct samples *samples)
{
	uint32_t nr = samples->nr_trees > samples->nr_nodes ? samples->nr_trees : samples->nr_nodes;
	uint32_t *moved = calloc((size_t)nr + 1, sizeof(*moved));

	if (!moved)
		return -ENOMEM;
	limit_units(samples);
	drop_trees(samples, moved);
	drop_paths(samples, moved);
	free(moved);
	return 0;
}
