/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The distinct call paths of some call trees, as a trie in preorder, and which
 * tree has which paths.
 *
 * Paths are numbered in preorder.  A tree without calls has one path, the empty
 * one.  Of a path longer than PATHS_MAX_LENGTH only so much of its head counts.
 */
#ifndef _USER_TRAIN_TYPES_PATHS_H
#define _USER_TRAIN_TYPES_PATHS_H

#include <stdint.h>

#include "data/samples.h"

enum {
	PATHS_MAX_LENGTH = 4096, /* functions */
};

/* A node in preorder, so that its parent is the last one that is less deep. */
struct paths_node {
	uint32_t function : 31; /* numbered from 0 without gaps, as in paths->number */
	uint32_t is_end : 1; /* of a path, the next in number */
	uint32_t depth; /* 0 for the first node, that of the loop */
};

/* Paths of equal length in a tree: paths->members[first] and on, rising. */
struct paths_run {
	uint32_t length;
	uint32_t first;
	uint32_t nr;
};

struct paths {
	const struct samples *samples;
	struct paths_node *nodes;
	uint32_t nr_nodes;
	uint32_t *number; /* of a function of the samples, or SAMPLES_NONE */
	uint32_t nr_functions; /* that have one */
	uint32_t nr;
	uint32_t *end; /* by path: the node it ends at, in nodes */
	uint32_t *leaf; /* by path: the same in samples->nodes */
	uint32_t max_length;
	uint32_t nr_trees;
	uint64_t nr_members; /* sum of the trees' numbers of paths */
	uint32_t *members; /* paths, by tree */
	uint32_t *first_run; /* by tree, and one more */
	struct paths_run *runs; /* by tree, of rising length */
	uint32_t nr_runs;
	uint64_t *first_tree; /* by path, and one more: index into trees */
	uint32_t *trees; /* those that a path is in, as numbered here */
};

/*
 * Collect the paths of @nr trees of @samples, that must outlive the result.  Of
 * a tree of more than @max_paths, unless that is 0, only so many are taken,
 * those with the smallest hashes.  Returns 0, -EINVAL if an index in the
 * samples leads nowhere, -E2BIG or -ENOMEM.
 */
int paths_init(struct paths *paths, const struct samples *samples, const uint32_t *trees,
	       uint32_t nr, uint32_t max_paths);
void paths_deinit(struct paths *paths);

static inline uint32_t paths_length(const struct paths *paths, uint32_t path)
{
	return paths->nodes[paths->end[path]].depth;
}

/* The number of paths of a tree. */
uint32_t paths_of_tree(const struct paths *paths, uint32_t tree);

/*
 * Write the functions of a path, first called first, as samples number them.
 * @ret has room for its length.
 */
void paths_spell(const struct paths *paths, uint32_t path, uint32_t *ret);

#endif /* _USER_TRAIN_TYPES_PATHS_H */
