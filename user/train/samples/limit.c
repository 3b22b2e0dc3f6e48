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

/* What the variants that stay count in each tree. */
struct share {
	uint32_t nr; /* variants */
	uint64_t units[2];
};

static void add_shares(const struct samples *samples, struct share *shares)
{
	for (uint32_t i = 0; i < samples->nr_units; i++) {
		struct share *share = &shares[samples->units[i].tree];

		share->nr++;
		for (int half = 0; half < 2; half++)
			share->units[half] = sum_saturating(share->units[half],
							    samples->units[i].units[half]);
	}
}

/* @moved: by tree, where it went. */
static void drop_trees(struct samples *samples, const struct share *shares, uint32_t *moved)
{
	uint32_t kept = 0, of_loop = 0, loop = SAMPLES_NONE;

	for (uint32_t i = 0; i < samples->nr_trees; i++) {
		struct samples_tree *tree = &samples->trees[i];

		if (tree->loop != loop)
			of_loop = 0;
		loop = tree->loop;
		moved[i] = kept;
		if (of_loop++ >= SAMPLES_MAX_TREES) {
			tree->units[0] = shares[i].units[0];
			tree->units[1] = shares[i].units[1];
			if (!shares[i].nr) {
				free(tree->leaves);
				continue;
			}
		}
		samples->trees[kept++] = *tree;
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
	size_t nr_trees = (size_t)samples->nr_trees + 1, nr_nodes = (size_t)samples->nr_nodes + 1;
	struct share *shares = calloc(nr_trees, sizeof(*shares));
	uint32_t *moved = calloc(nr_trees > nr_nodes ? nr_trees : nr_nodes, sizeof(*moved));
	int ret = -ENOMEM;

	if (shares && moved) {
		limit_units(samples);
		add_shares(samples, shares);
		drop_trees(samples, shares, moved);
		drop_paths(samples, moved);
		ret = 0;
	}
	free(shares);
	free(moved);
	return ret;
}
