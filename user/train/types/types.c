// SPDX-License-Identifier: GPL-2.0

#include "train/types/types.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

static int types_alloc(struct types *types, const struct samples *samples, uint32_t nr)
{
	*types = (struct types){ .nr = nr };
	if (!array_new(types->of_tree, samples->nr_trees) && !array_new(types->loop, nr) &&
	    !array_new(types->nr_merged, nr) && !array_new(types->first, samples->nr_loops))
		return 0;
	types_deinit(types);
	return -ENOMEM;
}

void types_deinit(struct types *types)
{
	free(types->of_tree);
	free(types->loop);
	free(types->nr_merged);
	free(types->first);
	memset(types, 0, sizeof(*types));
}

int types_copy(struct types *types, const struct samples *samples, const struct types *from)
{
	int ret = types_alloc(types, samples, from->nr);

	if (ret)
		return ret;
	memcpy(types->of_tree, from->of_tree, samples->nr_trees * sizeof(*types->of_tree));
	memcpy(types->loop, from->loop, from->nr * sizeof(*types->loop));
	memcpy(types->nr_merged, from->nr_merged, from->nr * sizeof(*types->nr_merged));
	memcpy(types->first, from->first, (samples->nr_loops + 1) * sizeof(*types->first));
	return 0;
}

struct cluster {
	uint32_t loop;
	uint32_t number;
	uint32_t tree;
};

static int compare_clusters(const void *a, const void *b)
{
	const struct cluster *x = a, *y = b;

	return order_of(x->loop, y->loop) ?: order_of(x->number, y->number) ?:
	       order_of(x->tree, y->tree);
}

static bool is_same(const struct cluster *a, const struct cluster *b)
{
	return a->loop == b->loop && a->number == b->number;
}

int types_init(struct types *types, const struct samples *samples, const uint32_t *cluster)
{
	uint32_t nr = 0, nr_types = 0, loop = 0, type = 0;
	struct cluster *clusters;
	int ret = array_new(clusters, samples->nr_trees);

	if (ret)
		return ret;
	for (uint32_t i = 0; i < samples->nr_trees; i++)
		if (cluster[i] != SAMPLES_NONE)
			clusters[nr++] = (struct cluster){ samples->trees[i].loop, cluster[i], i };
	qsort(clusters, nr, sizeof(*clusters), compare_clusters);
	for (uint32_t i = 0; i < nr; i++)
		nr_types += !i || !is_same(&clusters[i - 1], &clusters[i]);
	ret = types_alloc(types, samples, nr_types);
	if (ret)
		goto out;
	for (uint32_t i = 0; i < samples->nr_trees; i++)
		types->of_tree[i] = SAMPLES_NONE;
	for (uint32_t i = 0; i < nr; i++) {
		type += i && !is_same(&clusters[i - 1], &clusters[i]);
		while (loop <= clusters[i].loop)
			types->first[loop++] = type;
		types->loop[type] = clusters[i].loop;
		types->nr_merged[type] = 1;
		types->of_tree[clusters[i].tree] = type;
	}
	while (loop <= samples->nr_loops)
		types->first[loop++] = nr_types;
out:
	free(clusters);
	return ret;
}

void types_join(struct types *types, const struct samples *samples, uint32_t a, uint32_t b)
{
	uint32_t from = a > b ? a : b, to = a > b ? b : a;

	for (uint32_t i = 0; i < samples->nr_trees; i++) {
		uint32_t *type = &types->of_tree[i];

		if (*type == SAMPLES_NONE || *type < from)
			continue;
		*type = *type == from ? to : *type - 1;
	}
	for (uint32_t i = types->loop[from] + 1; i <= samples->nr_loops; i++)
		types->first[i]--;
	types->nr--;
	types->nr_merged[to] += types->nr_merged[from];
	memmove(&types->loop[from], &types->loop[from + 1],
		(types->nr - from) * sizeof(*types->loop));
	memmove(&types->nr_merged[from], &types->nr_merged[from + 1],
		(types->nr - from) * sizeof(*types->nr_merged));
}
