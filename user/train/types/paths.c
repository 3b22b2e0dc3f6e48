// SPDX-License-Identifier: GPL-2.0

#include "train/types/paths.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash-index.h"

/* The trie of the samples, while its part that is used is brought into preorder. */
struct scratch {
	uint32_t *leaves; /* of the trees, one tree after the other, those that count */
	uint32_t *nr_leaves; /* by tree */
	uint64_t *hash; /* of the path to a node, by offsets */
	uint32_t *depth; /* by node of the samples */
	uint32_t *head; /* where what counts of the path to a node ends */
	uint32_t *child; /* first used one, 0 if there is none */
	uint32_t *sibling; /* next used one, 0 if there is none */
	uint32_t *path; /* that ends at a node; ENDS until it has its number */
};

enum {
	ENDS = SAMPLES_NONE - 1,
};

static int scratch_init(struct scratch *scratch, uint32_t nr)
{
	if (array_new(scratch->hash, nr) || array_new(scratch->depth, nr) ||
	    array_new(scratch->head, nr) || array_new(scratch->child, nr) ||
	    array_new(scratch->sibling, nr) || array_new(scratch->path, nr))
		return -ENOMEM;
	memset(scratch->path, 0xff, (nr + 1UL) * sizeof(*scratch->path));
	return 0;
}

static void scratch_deinit(struct scratch *scratch)
{
	free(scratch->leaves);
	free(scratch->nr_leaves);
	free(scratch->hash);
	free(scratch->depth);
	free(scratch->head);
	free(scratch->child);
	free(scratch->sibling);
	free(scratch->path);
}

/* All depths in one pass, for parents come first. */
static int measure_nodes(const struct samples *samples, struct scratch *scratch)
{
	scratch->hash[0] = 1;
	scratch->depth[0] = 0;
	scratch->head[0] = 0;
	for (uint32_t i = 1; i < samples->nr_nodes; i++) {
		const struct samples_node *node = &samples->nodes[i];

		if (node->parent >= i || node->function >= samples->nr_functions)
			return -EINVAL;
		scratch->hash[i] = hash_mix(scratch->hash[node->parent],
					    samples->functions[node->function].offset);
		scratch->depth[i] = scratch->depth[node->parent] + 1;
		scratch->head[i] = scratch->depth[i] <= PATHS_MAX_LENGTH ?
					   i : scratch->head[node->parent];
	}
	return 0;
}

struct path_choice {
	uint64_t hash;
	uint32_t node;
};

static int compare_choices(const void *left, const void *right)
{
	const struct path_choice *a = left, *b = right;

	return order_of(a->hash, b->hash) ?: order_of(a->node, b->node);
}

/*
 * Of too many leaves keep those with the smallest hashes: of what two trees
 * have in common, both keep the same.
 */
static int64_t choose_leaves(const struct samples_tree *tree, const struct scratch *scratch,
			     uint32_t max, uint32_t *ret)
{
	struct path_choice *choices = malloc(tree->nr_leaves * sizeof(*choices));

	if (!choices)
		return -ENOMEM;
	for (uint32_t i = 0; i < tree->nr_leaves; i++) {
		uint32_t node = scratch->head[tree->leaves[i]];

		choices[i] = (struct path_choice){ scratch->hash[node], node };
	}
	qsort(choices, tree->nr_leaves, sizeof(*choices), compare_choices);
	for (uint32_t i = 0; i < max; i++)
		ret[i] = choices[i].node;
	free(choices);
	return max;
}

/* Returns how many leaves of a tree count, at least one, or an error. */
static int64_t take_leaves(const struct samples *samples, const struct samples_tree *tree,
			   const struct scratch *scratch, uint32_t max, uint32_t *ret)
{
	for (uint32_t i = 0; i < tree->nr_leaves; i++)
		if (tree->leaves[i] >= samples->nr_nodes)
			return -EINVAL;
	if (max && tree->nr_leaves > max)
		return choose_leaves(tree, scratch, max, ret);
	for (uint32_t i = 0; i < tree->nr_leaves; i++)
		ret[i] = scratch->head[tree->leaves[i]];
	if (tree->nr_leaves)
		return tree->nr_leaves;
	ret[0] = 0; /* the loop itself: the empty path */
	return 1;
}

static int take_trees(struct paths *paths, const uint32_t *trees, uint32_t max,
		      struct scratch *scratch)
{
	const struct samples *samples = paths->samples;
	uint64_t room = 1;

	for (uint32_t i = 0; i < paths->nr_trees; i++) {
		uint32_t nr = samples->trees[trees[i]].nr_leaves;

		room += max && nr > max ? max : nr ? nr : 1;
	}
	if (room >= UINT32_MAX)
		return -E2BIG;
	if (array_new(scratch->leaves, room) || array_new(scratch->nr_leaves, paths->nr_trees))
		return -ENOMEM;
	for (uint32_t i = 0; i < paths->nr_trees; i++) {
		int64_t nr = take_leaves(samples, &samples->trees[trees[i]], scratch, max,
					 scratch->leaves + paths->nr_members);

		if (nr < 0)
			return nr;
		scratch->nr_leaves[i] = nr;
		paths->nr_members += nr;
	}
	return 0;
}

/* Mark where paths end, and link all nodes above from their parents. */
static int link_nodes(struct paths *paths, struct scratch *scratch)
{
	const struct samples *samples = paths->samples;
	bool *used;

	if (array_new(used, samples->nr_nodes))
		return -ENOMEM;
	for (uint64_t i = 0; i < paths->nr_members; i++) {
		paths->nr += scratch->path[scratch->leaves[i]] != ENDS;
		scratch->path[scratch->leaves[i]] = ENDS;
		used[scratch->leaves[i]] = true;
	}
	paths->nr_nodes = 1;
	for (uint32_t i = samples->nr_nodes; i-- > 1;) {
		uint32_t parent = samples->nodes[i].parent;

		if (!used[i])
			continue;
		used[parent] = true;
		scratch->sibling[i] = scratch->child[parent];
		scratch->child[parent] = i;
		paths->nr_nodes++;
	}
	free(used);
	return 0;
}

static int alloc_nodes(struct paths *paths)
{
	uint32_t nr_functions = paths->samples->nr_functions;

	if (array_new(paths->nodes, paths->nr_nodes) || array_new(paths->number, nr_functions) ||
	    array_new(paths->end, paths->nr) || array_new(paths->leaf, paths->nr))
		return -ENOMEM;
	memset(paths->number, 0xff, (nr_functions + 1UL) * sizeof(*paths->number));
	return 0;
}

static uint32_t number_function(struct paths *paths, uint32_t function)
{
	if (paths->number[function] == SAMPLES_NONE)
		paths->number[function] = paths->nr_functions++;
	return paths->number[function];
}

static uint32_t next_in_preorder(const struct samples *samples, const struct scratch *scratch,
				 uint32_t at)
{
	if (scratch->child[at])
		return scratch->child[at];
	while (at && !scratch->sibling[at])
		at = samples->nodes[at].parent;
	return scratch->sibling[at];
}

static void lay_out(struct paths *paths, struct scratch *scratch)
{
	const struct samples *samples = paths->samples;
	uint32_t at = 0, path = 0;

	for (uint32_t i = 0; i < paths->nr_nodes; i++) {
		struct paths_node *node = &paths->nodes[i];

		node->depth = scratch->depth[at];
		if (at)
			node->function = number_function(paths, samples->nodes[at].function);
		if (scratch->path[at] == ENDS) {
			node->is_end = 1;
			paths->end[path] = i;
			paths->leaf[path] = at;
			scratch->path[at] = path++;
			if (node->depth > paths->max_length)
				paths->max_length = node->depth;
		}
		at = next_in_preorder(samples, scratch, at);
	}
}

static int alloc_members(struct paths *paths)
{
	return array_new(paths->members, paths->nr_members) ?:
	       array_new(paths->trees, paths->nr_members) ?:
	       array_new(paths->first_run, paths->nr_trees) ?:
	       array_new(paths->first_tree, paths->nr + 1UL);
}

/* By length, and by number within. */
static int compare_members(const void *left, const void *right, void *context)
{
	const uint32_t *a = left, *b = right;

	return order_of(paths_length(context, *a), paths_length(context, *b)) ?: order_of(*a, *b);
}

/* The members of all trees, and the runs among them: both rise with the tree. */
static int collect_members(struct paths *paths, const struct scratch *scratch)
{
	uint64_t first = 0;
	size_t max = 0;

	for (uint32_t i = 0; i < paths->nr_trees; i++) {
		uint64_t end = first + scratch->nr_leaves[i];
		struct paths_run *run = NULL;

		for (uint64_t j = first; j < end; j++) {
			paths->members[j] = scratch->path[scratch->leaves[j]];
			paths->first_tree[paths->members[j] + 2UL]++;
		}
		qsort_r(paths->members + first, scratch->nr_leaves[i], sizeof(*paths->members),
			compare_members, paths);
		paths->first_run[i] = paths->nr_runs;
		for (; first < end; first++) {
			uint32_t length = paths_length(paths, paths->members[first]);

			if (!run || run->length != length) {
				if (array_grow(paths->runs, paths->nr_runs, max))
					return -ENOMEM;
				run = &paths->runs[paths->nr_runs++];
				*run = (struct paths_run){ .length = length, .first = first };
			}
			run->nr++;
		}
	}
	paths->first_run[paths->nr_trees] = paths->nr_runs;
	return 0;
}

/* The trees of each path: counted by collect_members(), two places further on. */
static void invert(struct paths *paths)
{
	for (uint32_t path = 0; path < paths->nr; path++)
		paths->first_tree[path + 2] += paths->first_tree[path + 1];
	for (uint32_t tree = 0; tree < paths->nr_trees; tree++) {
		const struct paths_run *run = &paths->runs[paths->first_run[tree]];
		const uint32_t *member = paths->members + run->first;

		for (uint32_t i = paths_of_tree(paths, tree); i; i--)
			paths->trees[paths->first_tree[*member++ + 1UL]++] = tree;
	}
}

int paths_init(struct paths *paths, const struct samples *samples, const uint32_t *trees,
	       uint32_t nr, uint32_t max_paths)
{
	struct scratch scratch = { 0 };
	int ret;

	*paths = (struct paths){ .samples = samples, .nr_trees = nr };
	ret = scratch_init(&scratch, samples->nr_nodes);
	if (!ret)
		ret = measure_nodes(samples, &scratch);
	if (!ret)
		ret = take_trees(paths, trees, max_paths, &scratch);
	if (!ret)
		ret = link_nodes(paths, &scratch);
	if (!ret)
		ret = alloc_nodes(paths);
	if (!ret) {
		lay_out(paths, &scratch);
		ret = alloc_members(paths);
	}
	if (!ret)
		ret = collect_members(paths, &scratch);
	if (!ret)
		invert(paths);
	else
		paths_deinit(paths);
	scratch_deinit(&scratch);
	return ret;
}

void paths_deinit(struct paths *paths)
{
	free(paths->nodes);
	free(paths->number);
	free(paths->end);
	free(paths->leaf);
	free(paths->members);
	free(paths->first_run);
	free(paths->runs);
	free(paths->first_tree);
	free(paths->trees);
	memset(paths, 0, sizeof(*paths));
}

uint32_t paths_of_tree(const struct paths *paths, uint32_t tree)
{
	uint32_t nr = 0;

	for (uint32_t i = paths->first_run[tree]; i < paths->first_run[tree + 1]; i++)
		nr += paths->runs[i].nr;
	return nr;
}

void paths_spell(const struct paths *paths, uint32_t path, uint32_t *ret)
{
	uint32_t node = paths->leaf[path];

	for (uint32_t i = paths_length(paths, path); i--;) {
		ret[i] = paths->samples->nodes[node].function;
		node = paths->samples->nodes[node].parent;
	}
}
