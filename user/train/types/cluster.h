/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Unit types: the call trees of a loop, clustered by how much they differ.
 *
 * Trees are already distinct, and each counts as often as units had it, which
 * gives the very result of clustering the units: equal units have no distance
 * and merge first.
 *
 * Up to max_trees trees, those with the most units, are clustered: average
 * linkage, cut at a height.  All other trees of the loop (rarer ones, and those
 * only held back units had, if these do not count) go to the cluster
 * that is nearest by the same mean distance.
 */
#ifndef _USER_TRAIN_TYPES_CLUSTER_H
#define _USER_TRAIN_TYPES_CLUSTER_H

#include <stdbool.h>
#include <stdint.h>

#include "data/samples.h"
#include "train/types/distance.h"
#include "train/types/linkage.h"

enum {
	/* Distances, and the sums they are made of, take 16 bytes a pair: 1 GB. */
	CLUSTER_MAX_TREES = 8000,
};

/*
 * About 2 seconds of a core for energy distances, 10 minutes for the paper's,
 * which are less exact by part of the paths (distance.h).  A file manager's 184
 * trees of thousands of paths give the very same clusters as by all their paths,
 * which take 80 times as long; with less than half of this work 3 of 14,196
 * pairs of trees are together that were not, or the other way round.
 */
#define CLUSTER_MAX_WORK 5e9
#define CLUSTER_MAX_WORK_PAPER 4e12

/*
 * Height of the cut, of energy distances.  At 0.001 the types of five servers
 * agree best with what their clients asked for (make eval-training); at 0.002
 * a pop from the left and one from the right are one type already, at 0.01
 * half of the requests are, from 0.05 on nearly all.
 */
#define CLUSTER_CUT 0.001

/*
 * Or let linkage_gap() choose the height, for energy distances between 0.0005
 * and 0.01.  For the paper's distance, which has no height that suits all
 * programs, this is the only sensible choice: between 0.05 and 0.95.
 */
#define CLUSTER_CUT_GAP (-1.0)

struct cluster_options {
	enum distance distance;
	double cut; /* up to this distance clusters become one; or CLUSTER_CUT_GAP */
	bool training_half; /* only units learnt from count, the rest is assigned */
	uint32_t max_trees; /* 0 for CLUSTER_MAX_TREES */
	double max_work; /* see distance_max_paths(); 0 for the usual, as above */
	void (*progress)(void *context, double done); /* 0 to 1, now and then; or NULL */
	void *context;
};

struct clusters {
	uint32_t nr; /* clusters, those of more units first */
	uint32_t *of_tree; /* by tree of the samples; SAMPLES_NONE outside of the loop */
	uint32_t nr_members;
	uint32_t *members; /* trees that the clusters were made of, as above */
	double *weights; /* by member: units */
	struct linkage_merge *merges; /* of members, nr_members - 1 */
	uint32_t nr_assigned; /* the loop's other trees */
	enum distance distance;
	double cut; /* that was made */
	uint32_t max_paths; /* of a tree that were compared, 0: all */
	double *selfs; /* by member: D of the tree to itself */
};

/* Energy distance, CLUSTER_CUT, all units. */
void cluster_options_init(struct cluster_options *options);

/*
 * Cluster the trees of @loop.  Returns 0, -ENOMEM, -EINVAL if an index in the
 * samples leads nowhere, or -E2BIG.  A loop without trees has no clusters.
 */
int cluster_trees(const struct samples *samples, uint32_t loop,
		  const struct cluster_options *options, struct clusters *ret);
void clusters_deinit(struct clusters *clusters);

/*
 * Assign @nr trees of @samples, in which the members of @clusters have the same
 * indices, to the nearest clusters.  @distances, how near that is, may be NULL.
 * Returns 0 or an error as above; -ENOENT if there are no clusters.
 */
int cluster_assign(const struct clusters *clusters, const struct samples *samples,
		   const uint32_t *trees, uint32_t nr, uint32_t *ret, double *distances);

#endif /* _USER_TRAIN_TYPES_CLUSTER_H */
