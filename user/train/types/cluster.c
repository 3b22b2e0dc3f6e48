// SPDX-License-Identifier: GPL-2.0

#include "train/types/cluster.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

/* A tree while it is decided which ones are clustered. */
struct merge_candidate {
	uint32_t tree;
	uint64_t hash;
	uint64_t units; /* that count */
};

void cluster_options_init(struct cluster_options *options)
{
	*options = (struct cluster_options){ .distance = DISTANCE_ENERGY, .cut = CLUSTER_CUT };
}

/* An order that does not depend on the order in which runs were joined. */
static int compare_candidates(const void *left, const void *right)
{
	const struct merge_candidate *a = left, *b = right;

	return order_of(b->units, a->units) ?: order_of(a->hash, b->hash) ?:
	       order_of(a->tree, b->tree);
}

/* The trees of a loop, those with the most units first. */
static struct merge_candidate *list_trees(const struct samples *samples, uint32_t loop,
				    bool training_half, uint32_t *nr)
{
	struct merge_candidate *list;

	*nr = 0;
	if (array_new(list, samples->nr_trees))
		return NULL;
	for (uint32_t i = 0; i < samples->nr_trees; i++) {
		const struct samples_tree *tree = &samples->trees[i];

		if (tree->loop != loop)
			continue;
		list[(*nr)++] = (struct merge_candidate){
			.tree = i,
			.hash = tree->hash,
			.units = tree->units[0] + (training_half ? 0 : tree->units[1]),
		};
	}
	qsort(list, *nr, sizeof(*list), compare_candidates);
	return list;
}

static int alloc_clusters(struct clusters *clusters, const struct samples *samples, uint32_t n)
{
	if (array_new(clusters->of_tree, samples->nr_trees) || array_new(clusters->members, n) ||
	    array_new(clusters->weights, n) || array_new(clusters->selfs, n) ||
	    array_new(clusters->merges, n))
		return -ENOMEM;
	memset(clusters->of_tree, 0xff, (samples->nr_trees + 1UL) * sizeof(*clusters->of_tree));
	clusters->nr_members = n;
	return 0;
}

/* Trees without units that count are no members, unless there are no others. */
static uint32_t count_members(const struct merge_candidate *list, uint32_t nr, uint32_t max)
{
	uint32_t n = 0;

	while (n < nr && n < max && list[n].units)
		n++;
	if (!n)
		n = nr < max ? nr : max;
	return n;
}

static int compute_distances(struct clusters *clusters, const struct samples *samples,
			     const struct cluster_options *options, double *distances)
{
	double usual = clusters->distance == DISTANCE_PAPER ? CLUSTER_MAX_WORK_PAPER :
							      CLUSTER_MAX_WORK;
	double max_work = options->max_work > 0 ? options->max_work : usual;
	struct distance_options how = {
		.progress = options->progress,
		.context = options->context,
	};
	uint32_t n = clusters->nr_members;
	int ret;

	ret = distance_max_paths(samples, clusters->members, n, max_work, &how.max_paths);
	if (ret)
		return ret;
	clusters->max_paths = how.max_paths;
	ret = distance_mean(samples, NULL, 0, clusters->members, n, &how, distances);
	if (ret)
		return ret;
	for (size_t i = 0; i < n; i++)
		clusters->selfs[i] = distances[i * n + i];
	if (clusters->distance == DISTANCE_ENERGY)
		distance_to_energy(distances, n);
	return 0;
}

struct order {
	uint32_t cluster;
	double units;
};

static int compare_order(const void *left, const void *right)
{
	const struct order *a = left, *b = right;

	if (a->units > b->units || a->units < b->units)
		return a->units > b->units ? -1 : 1;
	return order_of(a->cluster, b->cluster);
}

/* Number the clusters again, those of more units first. */
static int sort_clusters(struct clusters *clusters, uint32_t *of_member)
{
	struct order *order = calloc(clusters->nr + 1UL, sizeof(*order));
	uint32_t *rank = malloc((clusters->nr + 1UL) * sizeof(*rank));

	if (order && rank) {
		for (uint32_t i = 0; i < clusters->nr; i++)
			order[i].cluster = i;
		for (uint32_t i = 0; i < clusters->nr_members; i++)
			order[of_member[i]].units += clusters->weights[i];
		qsort(order, clusters->nr, sizeof(*order), compare_order);
		for (uint32_t i = 0; i < clusters->nr; i++)
			rank[order[i].cluster] = i;
		for (uint32_t i = 0; i < clusters->nr_members; i++)
			clusters->of_tree[clusters->members[i]] = rank[of_member[i]];
	}
	free(order);
	free(rank);
	return order && rank ? 0 : -ENOMEM;
}

static double choose_cut(const struct clusters *clusters)
{
	bool energy = clusters->distance == DISTANCE_ENERGY;

	if (clusters->cut >= 0)
		return clusters->cut;
	return linkage_gap(clusters->merges, clusters->nr_members, energy ? 0.0005 : 0.05,
			   energy ? 0.01 : 0.95);
}

static int join_members(struct clusters *clusters, const struct samples *samples,
			const struct cluster_options *options)
{
	size_t n = clusters->nr_members;
	double *distances = malloc((n * n + 1) * sizeof(*distances));
	uint32_t *of_member = malloc((n + 1) * sizeof(*of_member));
	int ret = -ENOMEM;

	if (distances && of_member)
		ret = compute_distances(clusters, samples, options, distances);
	if (!ret)
		ret = linkage_average(distances, clusters->weights, n, clusters->merges);
	if (!ret) {
		clusters->cut = choose_cut(clusters);
		clusters->nr = linkage_cut(clusters->merges, n, clusters->cut, of_member);
		ret = sort_clusters(clusters, of_member);
	}
	free(distances);
	free(of_member);
	return ret;
}

static int assign_others(struct clusters *clusters, const struct samples *samples,
			 const struct merge_candidate *others, uint32_t nr)
{
	uint32_t *trees, *assigned = NULL;
	int ret = array_new(trees, nr) ?: array_new(assigned, nr);

	clusters->nr_assigned = nr;
	for (uint32_t i = 0; !ret && i < nr; i++)
		trees[i] = others[i].tree;
	if (!ret)
		ret = cluster_assign(clusters, samples, trees, nr, assigned, NULL);
	for (uint32_t i = 0; !ret && i < nr; i++)
		clusters->of_tree[trees[i]] = assigned[i];
	free(trees);
	free(assigned);
	return ret;
}

int cluster_trees(const struct samples *samples, uint32_t loop,
		  const struct cluster_options *options, struct clusters *ret)
{
	uint32_t max = options->max_trees ? options->max_trees : CLUSTER_MAX_TREES;
	uint32_t nr, n;
	struct merge_candidate *list = list_trees(samples, loop, options->training_half, &nr);
	int err;

	*ret = (struct clusters){ .distance = options->distance, .cut = options->cut };
	if (!list)
		return -ENOMEM;
	n = count_members(list, nr, max);
	err = alloc_clusters(ret, samples, n);
	if (!err && n) {
		for (uint32_t i = 0; i < n; i++) {
			ret->members[i] = list[i].tree;
			ret->weights[i] = list[i].units ? list[i].units : 1;
		}
		err = join_members(ret, samples, options);
	}
	if (!err && nr > n)
		err = assign_others(ret, samples, list + n, nr - n);
	if (err)
		clusters_deinit(ret);
	free(list);
	return err;
}

void clusters_deinit(struct clusters *clusters)
{
	free(clusters->of_tree);
	free(clusters->members);
	free(clusters->weights);
	free(clusters->merges);
	free(clusters->selfs);
	memset(clusters, 0, sizeof(*clusters));
}

/* Sums over the members of a cluster, of one row of distances to members. */
struct member_sums {
	double units;
	double distance;
	double self;
};

static uint32_t nearest_cluster(const struct clusters *clusters, const double *row, double self,
				struct member_sums *sums, double *distance)
{
	uint32_t best = 0;

	memset(sums, 0, clusters->nr * sizeof(*sums));
	for (uint32_t i = 0; i < clusters->nr_members; i++) {
		struct member_sums *to = &sums[clusters->of_tree[clusters->members[i]]];

		to->units += clusters->weights[i];
		to->distance += clusters->weights[i] * row[i];
		to->self += clusters->weights[i] * clusters->selfs[i];
	}
	for (uint32_t i = 0; i < clusters->nr; i++) {
		double here = sums[i].distance / sums[i].units;

		if (clusters->distance == DISTANCE_ENERGY)
			here = 2 * here - self - sums[i].self / sums[i].units;
		if (!i || here < *distance) {
			*distance = here;
			best = i;
		}
	}
	return best;
}

/* As many trees as share the comparison with all members. */
static int assign_some(const struct clusters *clusters, const struct samples *samples,
		       const uint32_t *trees, uint32_t nr, double *rows, struct member_sums *sums,
		       uint32_t *ret, double *distances)
{
	const struct distance_options how = { .max_paths = clusters->max_paths };
	int err;

	err = distance_mean(samples, trees, nr, clusters->members, clusters->nr_members, &how,
			    rows);
	for (uint32_t i = 0; !err && i < nr; i++) {
		double self = 0, distance = 0;

		if (distances && clusters->distance == DISTANCE_ENERGY)
			err = distance_mean(samples, NULL, 0, &trees[i], 1, &how, &self);
		ret[i] = nearest_cluster(clusters, rows + (size_t)i * clusters->nr_members, self,
					 sums, &distance);
		if (distances)
			distances[i] = distance;
	}
	return err;
}

int cluster_assign(const struct clusters *clusters, const struct samples *samples,
		   const uint32_t *trees, uint32_t nr, uint32_t *ret, double *distances)
{
	enum { AT_ONCE = 1000 };
	size_t at_once = nr < AT_ONCE ? nr : AT_ONCE;
	struct member_sums *sums;
	double *rows = NULL;
	int err;

	if (!clusters->nr)
		return -ENOENT;
	err = array_new(sums, clusters->nr) ?: array_new(rows, at_once * clusters->nr_members);
	for (uint32_t i = 0; !err && i < nr; i += AT_ONCE)
		err = assign_some(clusters, samples, trees + i,
				  nr - i < AT_ONCE ? nr - i : AT_ONCE, rows, sums, ret + i,
				  distances ? distances + i : NULL);
	free(sums);
	free(rows);
	return err;
}
