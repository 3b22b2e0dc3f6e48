// SPDX-License-Identifier: GPL-2.0

#include "train/types/clustering.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

static struct clustering_tree describe(const struct samples_tree *tree)
{
	return (struct clustering_tree){
		.hash = tree->hash,
		.loop = tree->loop,
		.nr_leaves = tree->nr_leaves,
		.units = { tree->units[0], tree->units[1] },
	};
}

static bool are_same_options(const struct cluster_options *a, const struct cluster_options *b)
{
	return a->distance == b->distance && !(a->cut < b->cut) && !(a->cut > b->cut) &&
	       a->training_half == b->training_half && a->max_trees == b->max_trees &&
	       !(a->max_work < b->max_work) && !(a->max_work > b->max_work);
}

static bool is_known(const struct clustering *clustering, const struct samples *samples,
		     const struct cluster_options *options)
{
	if (!clustering->of_tree || clustering->nr_trees != samples->nr_trees ||
	    !are_same_options(&clustering->options, options))
		return false;
	for (uint32_t i = 0; i < samples->nr_trees; i++) {
		const struct clustering_tree tree = describe(&samples->trees[i]);

		if (memcmp(&clustering->trees[i], &tree, sizeof(tree)))
			return false;
	}
	return true;
}

static int alloc(struct clustering *clustering, const struct samples *samples)
{
	uint32_t nr_made = clustering->nr_made;

	clustering_deinit(clustering);
	clustering->nr_made = nr_made;
	if (array_new(clustering->of_tree, samples->nr_trees) ||
	    array_new(clustering->trees, samples->nr_trees))
		return -ENOMEM;
	for (uint32_t i = 0; i < samples->nr_trees; i++) {
		clustering->of_tree[i] = SAMPLES_NONE;
		clustering->trees[i] = describe(&samples->trees[i]);
	}
	return 0;
}

static int make(struct clustering *clustering, const struct samples *samples,
		const struct cluster_options *options)
{
	int ret = alloc(clustering, samples);

	for (uint32_t loop = 0; loop < samples->nr_loops && !ret; loop++) {
		struct clusters clusters;

		ret = cluster_trees(samples, loop, options, &clusters);
		if (ret)
			break;
		for (uint32_t i = 0; i < samples->nr_trees; i++)
			if (samples->trees[i].loop == loop)
				clustering->of_tree[i] = clusters.of_tree[i];
		clusters_deinit(&clusters);
	}
	if (ret)
		return ret;
	clustering->nr_trees = samples->nr_trees;
	clustering->options = *options;
	clustering->nr_made++;
	return 0;
}

int clustering_find(struct clustering *clustering, const struct samples *samples,
		    const struct cluster_options *options)
{
	int ret;

	if (is_known(clustering, samples, options))
		return 0;
	ret = make(clustering, samples, options);
	if (ret)
		clustering_deinit(clustering);
	return ret;
}

void clustering_deinit(struct clustering *clustering)
{
	free(clustering->of_tree);
	free(clustering->trees);
	*clustering = (struct clustering){ 0 };
}
