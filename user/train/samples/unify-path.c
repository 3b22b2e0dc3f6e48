// SPDX-License-Identifier: GPL-2.0

#include "train/samples/unify.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "train/samples/rank.h"

struct path_keys {
	uint64_t *keys; /* parent's rank, function; of the level in work */
	uint32_t *of; /* nodes of that level */
};

static int compare_paths(const void *context, uint32_t a, uint32_t b)
{
	const struct path_keys *paths = context;

	return order_of(paths->keys[a], paths->keys[b]);
}

/* Nodes by level: those of level l are order[first[l]] to order[first[l + 1]]. */
static uint32_t sort_by_level(const struct samples *samples, uint32_t *level, uint32_t *order,
			      uint32_t *first)
{
	uint32_t nr_levels = 0;

	for (uint32_t i = 0; i < samples->nr_nodes; i++) {
		level[i] = i ? level[samples->nodes[i].parent] + 1 : 0;
		first[level[i] + 1]++;
		if (level[i] >= nr_levels)
			nr_levels = level[i] + 1;
	}
	for (uint32_t l = 0; l < nr_levels; l++)
		first[l + 1] += first[l];
	/* Fill each level from its end; then its start is where it should be. */
	for (uint32_t i = samples->nr_nodes; i-- > 0;)
		order[--first[level[i] + 1]] = i;
	for (uint32_t l = 0; l < nr_levels; l++)
		first[l] = first[l + 1];
	first[nr_levels] = samples->nr_nodes;
	return nr_levels;
}

/* Give @nr nodes of one level their ranks from @next on; returns the next. */
static int rank_level(const struct samples *samples, struct path_keys *paths, uint32_t nr,
		      uint32_t *rank, struct samples_node *to, uint32_t *next)
{
	struct ranks ranks;
	int ret;

	for (uint32_t i = 0; i < nr; i++) {
		const struct samples_node *node = &samples->nodes[paths->of[i]];

		paths->keys[i] = (uint64_t)rank[node->parent] << 32 | node->function;
	}
	ret = ranks_init(&ranks, nr, compare_paths, paths);
	if (ret)
		return ret;
	for (uint32_t i = 0; i < nr; i++) {
		uint32_t node = *next + ranks.rank[i];

		rank[paths->of[i]] = node;
		to[node].parent = (uint32_t)(paths->keys[i] >> 32);
		to[node].function = (uint32_t)paths->keys[i];
	}
	*next += ranks.nr;
	ranks_deinit(&ranks);
	return 0;
}

int samples_unify_paths(struct samples *samples, uint32_t *rank)
{
	size_t nr = (size_t)samples->nr_nodes + 2;
	struct samples_node *to = calloc(nr, sizeof(*to));
	uint32_t *level = calloc(nr, sizeof(*level));
	uint32_t *order = calloc(nr, sizeof(*order));
	uint32_t *first = calloc(nr, sizeof(*first));
	struct path_keys paths = { .keys = calloc(nr, sizeof(*paths.keys)) };
	uint32_t nr_levels, next = 1;
	int ret = -ENOMEM;

	if (to && level && order && first && paths.keys) {
		ret = 0;
		to[0].function = SAMPLES_NONE;
		nr_levels = sort_by_level(samples, level, order, first);
		for (uint32_t l = 1; l < nr_levels && !ret; l++) {
			paths.of = order + first[l];
			ret = rank_level(samples, &paths, first[l + 1] - first[l], rank, to, &next);
		}
	}
	free(level);
	free(order);
	free(first);
	free(paths.keys);
	if (ret) {
		free(to);
		return ret;
	}
	free(samples->nodes);
	samples->nodes = to;
	samples->nr_nodes = next;
	return 0;
}
