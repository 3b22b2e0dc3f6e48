/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The clusters of all loops, kept from one model to the next.
 *
 * To cluster large call trees takes most of the time that it takes to learn, and
 * a run that adds only times leaves the trees as they are.
 */
#ifndef _USER_TRAIN_TYPES_CLUSTERING_H
#define _USER_TRAIN_TYPES_CLUSTERING_H

#include <stdint.h>

#include "data/samples.h"
#include "train/types/cluster.h"

/* What a cluster depends on, of each tree; compared byte by byte. */
struct clustering_tree {
	uint64_t hash;
	uint32_t loop;
	uint32_t nr_leaves;
	uint64_t units[2];
};

/* All zero before the first use. */
struct clustering {
	uint32_t *of_tree; /* cluster in its loop, by tree; or SAMPLES_NONE */
	struct clustering_tree *trees;
	uint32_t nr_trees;
	struct cluster_options options;
	uint32_t nr_made; /* how often the trees were others */
};

/*
 * Have in @clustering the clusters of @samples, whose hashes are set: those it
 * has, if they are of the same trees by the same options.  Returns as
 * cluster_trees().
 */
int clustering_find(struct clustering *clustering, const struct samples *samples,
		    const struct cluster_options *options);

void clustering_deinit(struct clustering *clustering);

#endif /* _USER_TRAIN_TYPES_CLUSTERING_H */
