/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Samples with call trees for tests: a trie that grows path by path.
 */
#ifndef _PGUARD_FOREST_H
#define _PGUARD_FOREST_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "data/samples.h"

static uint32_t forest_state = 1;

static inline void forest_seed(uint32_t seed)
{
	forest_state = seed * 2654435761u + 1;
}

/* 0 to @below - 1. */
static inline uint32_t forest_random(uint32_t below)
{
	forest_state ^= forest_state << 13;
	forest_state ^= forest_state >> 17;
	forest_state ^= forest_state << 5;
	return (uint32_t)(((uint64_t)forest_state * below) >> 32);
}

/* Functions are numbers below @nr_functions; only those in nodes are made. */
static inline void forest_init(struct samples *samples, uint32_t nr_functions)
{
	memset(samples, 0, sizeof(*samples));
	samples->nr_functions = nr_functions;
	samples->functions = calloc(nr_functions + 1UL, sizeof(*samples->functions));
	for (uint32_t i = 0; i < nr_functions; i++)
		samples->functions[i].offset = 16 * i;
	samples->nodes = calloc(1, sizeof(*samples->nodes));
	samples->nr_nodes = 1;
}

static inline uint32_t forest_add_node(struct samples *samples, uint32_t parent, uint32_t function)
{
	uint32_t nr = samples->nr_nodes++;

	if (!(nr & (nr - 1)))
		samples->nodes = realloc(samples->nodes, 2UL * nr * sizeof(*samples->nodes));
	samples->nodes[nr] = (struct samples_node){ parent, function };
	return nr;
}

/* The node of a path, found or made. */
static inline uint32_t forest_path(struct samples *samples, const uint32_t *functions, uint32_t nr)
{
	uint32_t at = 0;

	for (uint32_t i = 0; i < nr; i++) {
		uint32_t child = at + 1;

		while (child < samples->nr_nodes &&
		       (samples->nodes[child].parent != at ||
			samples->nodes[child].function != functions[i]))
			child++;
		at = child < samples->nr_nodes ? child :
						 forest_add_node(samples, at, functions[i]);
	}
	return at;
}

static inline int forest_compare(const void *left, const void *right)
{
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;

	return a < b ? -1 : a > b;
}

/* A tree of @leaves, that are sorted and made distinct.  Its hash is its number. */
static inline uint32_t forest_add_tree(struct samples *samples, const uint32_t *leaves, uint32_t nr,
				       uint64_t units)
{
	uint32_t at = samples->nr_trees++, kept = 0;
	struct samples_tree *tree;

	if (!(at & (at - 1)))
		samples->trees = realloc(samples->trees,
					 (at ? 2UL * at : 1) * sizeof(*samples->trees));
	tree = &samples->trees[at];
	*tree = (struct samples_tree){ .hash = at, .units = { units, 0 } };
	tree->leaves = malloc((nr + 1UL) * sizeof(*tree->leaves));
	if (nr)
		memcpy(tree->leaves, leaves, nr * sizeof(*leaves));
	qsort(tree->leaves, nr, sizeof(*leaves), forest_compare);
	for (uint32_t i = 0; i < nr; i++)
		if (!kept || tree->leaves[kept - 1] != tree->leaves[i])
			tree->leaves[kept++] = tree->leaves[i];
	tree->nr_leaves = kept;
	return at;
}

/* A tree from text: paths of letters, parted by blanks. */
static inline uint32_t forest_spell(struct samples *samples, const char *text, uint64_t units)
{
	uint32_t leaves[64], path[64], nr = 0, length = 0;

	for (;; text++) {
		if (*text && *text != ' ') {
			path[length++] = *text - 'A';
			continue;
		}
		if (length)
			leaves[nr++] = forest_path(samples, path, length);
		length = 0;
		if (!*text)
			return forest_add_tree(samples, leaves, nr, units);
	}
}

#endif /* _PGUARD_FOREST_H */
