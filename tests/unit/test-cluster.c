// SPDX-License-Identifier: GPL-2.0
/* Clusters of call trees, and the linkage that makes them. */

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "forest.h"
#include "tap.h"
#include "train/types/cluster.h"
#include "train/types/linkage.h"

enum {
	MAX_ITEMS = 40,
};

/* The labels differ in names only. */
static bool is_same_partition(const uint32_t *a, const uint32_t *b, uint32_t nr)
{
	for (uint32_t i = 0; i < nr; i++)
		for (uint32_t j = 0; j < i; j++)
			if ((a[i] == a[j]) != (b[i] == b[j]))
				return false;
	return true;
}

/*
 * Average linkage by definition: in each round, of all pairs of clusters, the
 * mean distance over all pairs of their items.
 */
static void reference(const double *distances, const double *weights, uint32_t n,
		      struct linkage_merge *ret)
{
	uint32_t cluster[MAX_ITEMS];

	for (uint32_t i = 0; i < n; i++)
		cluster[i] = i;
	for (uint32_t round = 0; round + 1 < n; round++) {
		double sum[MAX_ITEMS][MAX_ITEMS] = { 0 }, weight[MAX_ITEMS][MAX_ITEMS] = { 0 };
		struct linkage_merge best = { .height = INFINITY };

		for (uint32_t i = 0; i < n; i++) {
			for (uint32_t j = 0; j < n; j++) {
				double both = weights[i] * weights[j];

				sum[cluster[i]][cluster[j]] += both * distances[i * n + j];
				weight[cluster[i]][cluster[j]] += both;
			}
		}
		for (uint32_t a = 0; a < n; a++)
			for (uint32_t b = a + 1; b < n; b++)
				if (weight[a][b] > 0 && sum[a][b] / weight[a][b] < best.height)
					best = (struct linkage_merge){ a, b,
								       sum[a][b] / weight[a][b] };
		for (uint32_t i = 0; i < n; i++)
			if (cluster[i] == best.b)
				cluster[i] = best.a;
		ret[round] = best;
	}
}

static void random_distances(double *distances, double *weights, uint32_t n, uint32_t values)
{
	for (uint32_t i = 0; i < n; i++) {
		weights[i] = 1 + forest_random(50);
		distances[i * n + i] = 0;
		for (uint32_t j = i + 1; j < n; j++)
			distances[i * n + j] = distances[j * n + i] =
				(1. + forest_random(values)) / values;
	}
}

static void test_linkage(void)
{
	enum { SEEDS = 300 };
	uint32_t wrong_merges = 0, wrong_heights = 0;

	for (uint32_t seed = 0; seed < SEEDS; seed++) {
		double distances[MAX_ITEMS * MAX_ITEMS], weights[MAX_ITEMS];
		struct linkage_merge expected[MAX_ITEMS], got[MAX_ITEMS];
		uint32_t n;

		forest_seed(seed);
		n = 2 + forest_random(MAX_ITEMS - 1);
		random_distances(distances, weights, n, 1 << 30); /* practically no ties */
		reference(distances, weights, n, expected);
		if (linkage_average(distances, weights, n, got))
			exit(1);
		for (uint32_t i = 0; i + 1 < n; i++) {
			wrong_merges += got[i].a != expected[i].a || got[i].b != expected[i].b;
			wrong_heights += fabs(got[i].height - expected[i].height) > 1e-12;
		}
	}
	ok(!wrong_merges, "merges of %u weighted inputs are those of the definition", SEEDS);
	ok(!wrong_heights, "so are their heights");
}

/*
 * True if each merge is one of two nearest clusters, by definition.  There may be
 * several such pairs.
 */
static bool are_nearest(const double *distances, const double *weights, uint32_t n,
			const struct linkage_merge *merges)
{
	uint32_t cluster[MAX_ITEMS];

	for (uint32_t i = 0; i < n; i++)
		cluster[i] = i;
	for (uint32_t round = 0; round + 1 < n; round++) {
		double sum[MAX_ITEMS][MAX_ITEMS] = { 0 }, weight[MAX_ITEMS][MAX_ITEMS] = { 0 };
		const struct linkage_merge *merge = &merges[round];
		double least = INFINITY;

		for (uint32_t i = 0; i < n; i++) {
			for (uint32_t j = 0; j < n; j++) {
				double both = weights[i] * weights[j];

				sum[cluster[i]][cluster[j]] += both * distances[i * n + j];
				weight[cluster[i]][cluster[j]] += both;
			}
		}
		for (uint32_t a = 0; a < n; a++)
			for (uint32_t b = 0; b < n; b++)
				if (a != b && weight[a][b] > 0)
					least = fmin(least, sum[a][b] / weight[a][b]);
		if (merge->a >= merge->b || cluster[merge->a] != merge->a ||
		    cluster[merge->b] != merge->b || fabs(merge->height - least) > 1e-12 ||
		    fabs(sum[merge->a][merge->b] / weight[merge->a][merge->b] - least) > 1e-12 ||
		    (round && merge->height < merges[round - 1].height))
			return false;
		for (uint32_t i = 0; i < n; i++)
			if (cluster[i] == merge->b)
				cluster[i] = merge->a;
	}
	return true;
}

/* Multiples of 1/7 do not add up exactly, and what is equal gets nearly so. */
static void test_many_ties(void)
{
	enum { SEEDS = 2500 };
	uint32_t wrong = 0;

	for (uint32_t seed = 0; seed < SEEDS; seed++) {
		double distances[MAX_ITEMS * MAX_ITEMS], again[MAX_ITEMS * MAX_ITEMS];
		double weights[MAX_ITEMS];
		struct linkage_merge merges[MAX_ITEMS];
		uint32_t n;

		forest_seed(seed);
		n = 2 + forest_random(MAX_ITEMS - 1);
		random_distances(distances, weights, n, 1 + forest_random(4));
		for (uint32_t i = 0; i < n * n; i++)
			distances[i] /= 7;
		memcpy(again, distances, sizeof(again));
		if (linkage_average(again, weights, n, merges))
			exit(1);
		wrong += !are_nearest(distances, weights, n, merges);
	}
	ok(!wrong, "with many equal distances each merge is of two nearest, %u inputs", SEEDS);
}

/* Equal distances: no order is the right one, but equal items merge first. */
static void test_ties(void)
{
	double distances[16], again[16], weights[] = { 5, 1, 2, 9 };
	struct linkage_merge merges[3], second[3];
	uint32_t of[4];

	for (uint32_t i = 0; i < 16; i++)
		distances[i] = i % 5 ? 1 : 0;
	distances[1 * 4 + 3] = distances[3 * 4 + 1] = 0;
	memcpy(again, distances, sizeof(again));
	linkage_average(distances, weights, 4, merges);
	linkage_average(again, weights, 4, second);
	ok(merges[0].a == 1 && merges[0].b == 3 && merges[0].height == 0,
	   "items without a distance merge first");
	ok(merges[1].a == 0 && merges[1].b == 1 && merges[2].b == 2 && merges[2].height == 1,
	   "of equal distances the smallest items go first");
	ok(!memcmp(merges, second, sizeof(merges)), "the same again");
	ok(linkage_cut(merges, 4, 0, of) == 3 && of[0] == 0 && of[1] == 1 && of[2] == 2 &&
	   of[3] == 1, "a cut at 0 joins only these");
	ok(linkage_cut(merges, 4, 1, of) == 1, "a cut at the top joins all");
	ok(linkage_cut(merges, 4, -1, of) == 4, "a cut below 0 joins none");
	ok(linkage_cut(NULL, 1, 1, of) == 1 && of[0] == 0, "a single item is a cluster");
	ok(linkage_average(NULL, NULL, 0, NULL) == 0, "no items, no merges");
}

static void test_gap(void)
{
	const double heights[] = { 0, 1, 2, 3, 7, 8, 20, 21 };
	struct linkage_merge merges[8] = { 0 };

	for (uint32_t i = 0; i < 8; i++)
		merges[i].height = heights[i];
	ok(linkage_gap(merges, 9, 0.5, 10) == 5, "the widest gap is between 3 and 7");
	ok(linkage_gap(merges, 9, 0.5, 40) == 30.5, "the end of the range counts as a height");
	ok(linkage_gap(merges, 9, 4, 7.5) == 5.5, "so does its beginning");
	ok(linkage_gap(merges, 9, 10, 18) == 14, "without merges it is the middle");
	ok(linkage_gap(merges, 9, 0, 3) == 0.5, "of equal gaps the lowest is taken");
	ok(linkage_gap(NULL, 1, 2, 4) == 3 && linkage_gap(NULL, 0, 2, 4) == 2,
	   "a single item, and none");
}

/* Two families of trees with small differences within. */
static void make_families(struct samples *samples)
{
	forest_init(samples, 26);
	forest_spell(samples, "ABC ABD ABE AFG AFH AFI AFJ AFK", 10);
	forest_spell(samples, "ABC ABD ABE AFG AFH AFI AFJ AFL", 3);
	forest_spell(samples, "PQR PQS PQT PUV PUW PUX PUY PUZ", 100);
	forest_spell(samples, "PQR PQS PQT PUV PUW PUX PUY PUA", 1);
	forest_spell(samples, "ABC ABD ABE AFG AFH AFI AFJ AFM", 5);
}

static void test_families(void)
{
	struct cluster_options options;
	struct samples samples;
	struct clusters clusters;
	uint32_t late, cluster;
	double distance;

	make_families(&samples);
	cluster_options_init(&options);
	options.cut = 0.05;
	ok(cluster_trees(&samples, 0, &options, &clusters) == 0 && clusters.nr == 2,
	   "two families are two clusters");
	ok(clusters.of_tree[2] == 0 && clusters.of_tree[3] == 0 && clusters.of_tree[0] == 1 &&
	   clusters.of_tree[1] == 1 && clusters.of_tree[4] == 1,
	   "the one with more units is first");

	late = forest_spell(&samples, "ABC ABD ABE AFG AFH AFI AFO AFP", 0);
	ok(cluster_assign(&clusters, &samples, &late, 1, &cluster, &distance) == 0 &&
	   cluster == 1 && distance > 0 && distance < 0.2,
	   "a tree not seen before goes to its family");
	late = 2;
	ok(cluster_assign(&clusters, &samples, &late, 1, &cluster, &distance) == 0 &&
	   cluster == 0, "a member goes to its own");
	clusters_deinit(&clusters);

	options.cut = 0;
	ok(cluster_trees(&samples, 0, &options, &clusters) == 0 && clusters.nr == 5,
	   "cut at 0, distinct trees are clusters; one without units is none");
	ok(clusters.nr_assigned == 1 && clusters.of_tree[5] != SAMPLES_NONE, "but is assigned");
	clusters_deinit(&clusters);
	options.cut = 2;
	ok(cluster_trees(&samples, 0, &options, &clusters) == 0 && clusters.nr == 1,
	   "cut at 2, all are one");
	clusters_deinit(&clusters);
	options.distance = DISTANCE_PAPER;
	options.cut = 0.7;
	ok(cluster_trees(&samples, 0, &options, &clusters) == 0 && clusters.nr == 2 &&
	   clusters.of_tree[0] == clusters.of_tree[4] && clusters.of_tree[2] == clusters.of_tree[3],
	   "the paper's distance parts them, too, at another height");
	clusters_deinit(&clusters);
	options.cut = CLUSTER_CUT_GAP;
	ok(cluster_trees(&samples, 0, &options, &clusters) == 0 && clusters.nr == 2 &&
	   clusters.cut > 0.05 && clusters.cut < 0.95, "the widest gap is such a height");
	clusters_deinit(&clusters);
	samples_deinit(&samples);
}

/*
 * Trees of many paths in families.  Members differ from each other in one path
 * of @nr_paths, so that a fixed height does not part all kinds of families.
 */
static void test_gap_cut(uint32_t nr_paths, uint32_t nr_fixed)
{
	enum { FAMILIES = 4, MEMBERS = 4, MAX_PATHS = 200 };
	uint32_t labels[FAMILIES * MEMBERS], leaves[MAX_PATHS], path[3];
	struct cluster_options options;
	struct samples samples;
	struct clusters clusters;

	forest_init(&samples, 500);
	for (uint32_t i = 0; i < FAMILIES * MEMBERS; i++) {
		labels[i] = i / MEMBERS;
		path[0] = 1 + i / MEMBERS;
		path[1] = path[0] + FAMILIES;
		for (uint32_t j = 0; j < nr_paths; j++) {
			path[2] = 10 + j + (j ? 0 : nr_paths + i % MEMBERS);
			leaves[j] = forest_path(&samples, path, 3);
		}
		forest_add_tree(&samples, leaves, nr_paths, 1);
	}
	cluster_options_init(&options);
	options.cut = CLUSTER_CUT_GAP;
	ok(cluster_trees(&samples, 0, &options, &clusters) == 0 &&
	   is_same_partition(clusters.of_tree, labels, samples.nr_trees),
	   "the widest gap parts families of %u paths", nr_paths);
	ok(clusters.cut > 0.0005 && clusters.cut < 0.01, "within its range, at %.4f", clusters.cut);
	clusters_deinit(&clusters);
	options.cut = CLUSTER_CUT;
	ok(cluster_trees(&samples, 0, &options, &clusters) == 0 && clusters.nr == nr_fixed,
	   "where the fixed height leaves %u clusters", nr_fixed);
	clusters_deinit(&clusters);
	samples_deinit(&samples);
}

/* What is not in the training half, or one too many, is assigned. */
static void test_assigned(void)
{
	struct cluster_options options;
	struct samples samples;
	struct clusters clusters;

	make_families(&samples);
	samples.trees[1].units[1] = samples.trees[1].units[0];
	samples.trees[1].units[0] = 0;
	samples.trees[4].loop = 1;
	cluster_options_init(&options);
	options.cut = 0.05;
	options.training_half = true;
	ok(cluster_trees(&samples, 0, &options, &clusters) == 0 && clusters.nr == 2 &&
	   clusters.nr_members == 3 && clusters.nr_assigned == 1,
	   "only trees of the training half make clusters");
	ok(clusters.of_tree[1] == clusters.of_tree[0], "held back ones are assigned");
	ok(clusters.of_tree[4] == SAMPLES_NONE, "trees of other loops have none");
	clusters_deinit(&clusters);
	options.training_half = false;
	options.max_trees = 2;
	ok(cluster_trees(&samples, 0, &options, &clusters) == 0 && clusters.nr_members == 2 &&
	   clusters.nr_assigned == 2 && clusters.of_tree[1] == clusters.of_tree[0] &&
	   clusters.of_tree[3] == clusters.of_tree[2], "above the cap the rarest are assigned");
	clusters_deinit(&clusters);
	ok(cluster_trees(&samples, 7, &options, &clusters) == 0 && clusters.nr == 0 &&
	   clusters.of_tree[0] == SAMPLES_NONE, "a loop without trees has no clusters");
	ok(cluster_assign(&clusters, &samples, (uint32_t[]){ 0 }, 1, (uint32_t[]){ 0 }, NULL) ==
	   -ENOENT, "and takes none");
	clusters_deinit(&clusters);
	samples_deinit(&samples);
}

/* With too little time for all paths, part of them give the same clusters. */
static void test_max_work(void)
{
	enum { FAMILIES = 3, N = 12, PATHS = 400 };
	uint32_t path[4], leaves[PATHS];
	struct cluster_options options;
	struct clusters all, part;
	struct samples samples;
	uint32_t cluster;
	double distance;
	bool same = true;

	forest_init(&samples, 100);
	for (uint32_t i = 0; i < N; i++) {
		for (uint32_t j = 0; j < PATHS; j++) {
			path[0] = i % FAMILIES;
			path[1] = 10 + j % 20 + 20 * (i % FAMILIES);
			path[2] = 10 + j / 20 + 3 * (i % FAMILIES);
			path[3] = j % 50 ? 5 : 6 + i % 4;
			leaves[j] = forest_path(&samples, path, 4);
		}
		forest_add_tree(&samples, leaves, PATHS, 1 + i);
	}
	cluster_options_init(&options);
	if (cluster_trees(&samples, 0, &options, &all))
		exit(1);
	options.max_work = 1e6;
	options.max_trees = N - 1;
	if (cluster_trees(&samples, 0, &options, &part))
		exit(1);
	for (uint32_t i = 0; i < N; i++)
		same &= all.of_tree[i] == part.of_tree[i];
	ok(all.max_paths == 0 && part.max_paths > 1 && part.max_paths < PATHS,
	   "with less time %u paths of each tree count", part.max_paths);
	ok(all.nr == FAMILIES && part.nr == FAMILIES && same, "which gives the same clusters");
	ok(cluster_assign(&part, &samples, (uint32_t[]){ 4 }, 1, &cluster, NULL) == 0 &&
	   cluster == part.of_tree[4], "and the same assignment");
	clusters_deinit(&all);
	clusters_deinit(&part);
	options.cut = 0;
	if (cluster_trees(&samples, 0, &options, &part))
		exit(1);
	ok(cluster_assign(&part, &samples, (uint32_t[]){ 4 }, 1, &cluster, &distance) == 0 &&
	   cluster == part.of_tree[4] && fabs(distance) < 1e-9,
	   "a tree alone has no distance to its cluster");
	clusters_deinit(&part);
	samples_deinit(&samples);
}

static double progress;

static void on_progress(void *context, double done)
{
	*(bool *)context &= done >= progress && done <= 1;
	progress = done;
}

static void random_trees(struct samples *samples, uint32_t nr_trees)
{
	uint32_t path[12], leaves[10];

	forest_init(samples, 6);
	for (uint32_t i = 0; i < nr_trees; i++) {
		uint32_t nr = 2 + forest_random(9);

		for (uint32_t j = 0; j < nr; j++) {
			uint32_t length = 1 + forest_random(12);

			for (uint32_t k = 0; k < length; k++)
				path[k] = forest_random(6);
			leaves[j] = forest_path(samples, path, length);
		}
		forest_add_tree(samples, leaves, nr, 1 + forest_random(30));
	}
}

/* Trees in another order, as when runs are joined the other way round. */
static void test_order(void)
{
	enum { N = 60 };
	struct cluster_options options;
	struct clusters first, second;
	struct samples samples;
	bool same = true, rises = true;

	random_trees(&samples, N);
	cluster_options_init(&options);
	options.cut = 0.1;
	options.progress = on_progress;
	options.context = &rises;
	if (cluster_trees(&samples, 0, &options, &first))
		exit(1);
	ok(rises && progress == 1, "progress rises to 1");
	progress = 0;
	for (uint32_t i = 0; i < N / 2; i++) {
		struct samples_tree tree = samples.trees[i];

		samples.trees[i] = samples.trees[N - 1 - i];
		samples.trees[N - 1 - i] = tree;
	}
	if (cluster_trees(&samples, 0, &options, &second))
		exit(1);
	for (uint32_t i = 0; i < N; i++)
		same &= first.of_tree[i] == second.of_tree[N - 1 - i];
	ok(first.nr > 1 && first.nr < N && first.nr == second.nr && same,
	   "the order of the trees does not matter");
	ok(!memcmp(first.merges, second.merges, (N - 1) * sizeof(*first.merges)),
	   "not in a bit of a height");
	clusters_deinit(&first);
	clusters_deinit(&second);
	samples_deinit(&samples);
}

/* A tree of 3 units clusters as three equal trees of one unit each. */
static void test_multiplicity(void)
{
	enum { N = 12 };
	struct cluster_options options;
	struct clusters once, thrice;
	struct samples samples;
	uint32_t zeros = 0;
	bool same = true;

	random_trees(&samples, N);
	for (uint32_t i = 0; i < N; i++)
		samples.trees[i].units[0] = 3 + 3 * (i % 4);
	cluster_options_init(&options);
	options.cut = 0.1;
	if (cluster_trees(&samples, 0, &options, &once))
		exit(1);
	for (uint32_t i = 0; i < N; i++) {
		struct samples_tree tree = samples.trees[i];

		samples.trees[i].units[0] /= 3;
		for (uint32_t j = 0; j < 2; j++) {
			uint32_t at = forest_add_tree(&samples, tree.leaves, tree.nr_leaves,
						      tree.units[0] / 3);

			samples.trees[at].hash = tree.hash;
		}
	}
	if (cluster_trees(&samples, 0, &options, &thrice))
		exit(1);
	for (uint32_t i = 0; i < 2 * N; i++)
		zeros += thrice.merges[i].height == 0;
	for (uint32_t i = 0; i < N - 1; i++)
		same &= fabs(once.merges[i].height - thrice.merges[i + 2 * N].height) < 1e-12;
	ok(zeros == 2 * N, "identical trees merge first, at height 0");
	ok(same, "and then as one tree of all their units");
	for (uint32_t i = 0; i < N; i++)
		same &= once.of_tree[i] == thrice.of_tree[i];
	ok(same, "into the same clusters");
	clusters_deinit(&once);
	clusters_deinit(&thrice);
	samples_deinit(&samples);
}

int main(void)
{
	plan(48);
	test_linkage();
	test_many_ties();
	test_ties();
	test_gap();
	test_families();
	test_gap_cut(12, 16);
	test_gap_cut(120, 4);
	test_assigned();
	test_max_work();
	test_order();
	test_multiplicity();
	return tap_status();
}
