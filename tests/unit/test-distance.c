// SPDX-License-Identifier: GPL-2.0
/* The distance of call trees: by hand, by the plain table, and at the edges. */

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "forest.h"
#include "tap.h"
#include "train/types/distance.h"
#include "train/types/lcs.h"
#include "train/types/paths.h"

static bool is_near(double a, double b)
{
	return fabs(a - b) < 1e-9;
}

/* D of trees @a and @b, alone and so without any help of symmetry. */
static double mean_of(const struct samples *samples, uint32_t a, uint32_t b)
{
	double ret = NAN;

	if (distance_mean(samples, &a, 1, &b, 1, NULL, &ret))
		return NAN;
	return ret;
}

/* d of two paths of the given lengths, by the plain table. */
static double distance_of_paths(const uint32_t *a, uint32_t nr_a, const uint32_t *b, uint32_t nr_b)
{
	uint32_t max = nr_a > nr_b ? nr_a : nr_b;
	uint32_t *row = calloc(nr_b + 1UL, sizeof(*row));
	double ret;

	if (!row)
		return NAN;
	for (uint32_t i = 0; i < nr_a; i++) {
		uint32_t corner = 0;

		for (uint32_t j = 1; j <= nr_b; j++) {
			uint32_t above = row[j];

			if (a[i] == b[j - 1])
				row[j] = corner + 1;
			else if (row[j - 1] > above)
				row[j] = row[j - 1];
			corner = above;
		}
	}
	ret = max ? 1 - (double)row[nr_b] / max : 0;
	free(row);
	return ret;
}

static uint32_t spell(const struct samples *samples, uint32_t leaf, uint32_t **ret)
{
	uint32_t length = 0, at = leaf;

	for (; at; at = samples->nodes[at].parent)
		length++;
	*ret = malloc((length + 1UL) * sizeof(**ret));
	at = leaf;
	for (uint32_t i = length; i--; at = samples->nodes[at].parent)
		(*ret)[i] = samples->nodes[at].function;
	return length;
}

/* D by its definition: all pairs of leaves, each by the plain table. */
static double naive_mean(const struct samples *samples, uint32_t a, uint32_t b)
{
	const struct samples_tree *x = &samples->trees[a], *y = &samples->trees[b];
	double sum = 0;

	for (uint32_t i = 0; i < x->nr_leaves; i++) {
		for (uint32_t j = 0; j < y->nr_leaves; j++) {
			uint32_t *p, *q;
			uint32_t nr_p = spell(samples, x->leaves[i], &p);
			uint32_t nr_q = spell(samples, y->leaves[j], &q);

			sum += distance_of_paths(p, nr_p, q, nr_q);
			free(p);
			free(q);
		}
	}
	return sum / x->nr_leaves / y->nr_leaves;
}

static void test_by_hand(void)
{
	struct samples samples;
	uint32_t trees[] = { 0, 1, 2, 3, 4 };
	double all[25];

	forest_init(&samples, 26);
	forest_spell(&samples, "ABC ABD", 1); /* 0 */
	forest_spell(&samples, "ABC", 1); /* 1 */
	forest_spell(&samples, "AXBYC", 1); /* 2 */
	forest_spell(&samples, "PQ", 1); /* 3 */
	forest_spell(&samples, "ABC AE", 1); /* 4 */
	ok(is_near(mean_of(&samples, 1, 1), 0), "a single path has no distance to itself");
	ok(is_near(mean_of(&samples, 1, 2), 1 - 3. / 5),
	   "ABC is within AXBYC: 3 of 5 in common");
	ok(is_near(mean_of(&samples, 1, 3), 1), "nothing in common is 1");
	ok(is_near(mean_of(&samples, 0, 0), (0 + 1. / 3 + 1. / 3 + 0) / 4),
	   "two paths in a tree: D to itself is not 0");
	ok(is_near(mean_of(&samples, 0, 1), (0 + 1. / 3) / 2), "two paths against one");
	/* ABC-ABC 0, ABC-AE 2/3, ABD-ABC 1/3, ABD-AE 2/3 */
	ok(is_near(mean_of(&samples, 0, 4), (0 + 2. / 3 + 1. / 3 + 2. / 3) / 4),
	   "two paths against two");

	ok(distance_mean(&samples, NULL, 0, trees, 5, NULL, all) == 0, "five trees at once");
	ok(is_near(all[1 * 5 + 2], 2. / 5) && is_near(all[2 * 5 + 1], 2. / 5) &&
	   is_near(all[0 * 5 + 4], 5. / 12) && is_near(all[0], 1. / 6), "the same values");
	distance_to_energy(all, 5);
	ok(is_near(all[0 * 5 + 1], 2 * 1. / 6 - 1. / 6 - 0), "energy of the first two");
	ok(is_near(all[0 * 5 + 4], 2 * 5. / 12 - 1. / 6 - 1. / 3), "energy of two and two");
	ok(all[0] == 0 && all[24] == 0, "no energy between a tree and itself");
	samples_deinit(&samples);
}

/* A path of up to @longest functions; some have a head or more in common. */
static uint32_t random_path(uint32_t *path, uint32_t longest, uint32_t alphabet)
{
	uint32_t kept = forest_random(longest), nr = 1 + forest_random(longest);

	for (uint32_t i = kept < nr ? kept : 0; i < nr; i++)
		path[i] = forest_random(alphabet);
	return nr;
}

static uint32_t common(const uint32_t *a, uint32_t nr_a, const uint32_t *b, uint32_t nr_b)
{
	double max = nr_a > nr_b ? nr_a : nr_b;

	return lround((1 - distance_of_paths(a, nr_a, b, nr_b)) * max);
}

/* Batches of patterns of lengths @from to @to against random paths. */
static void test_lcs(uint32_t from, uint32_t to, uint32_t longest, uint32_t alphabet)
{
	enum { NR_PATHS = 60, NR_BATCHES = 12 };
	uint32_t *path = calloc(longest + to + 1UL, sizeof(*path));
	uint32_t other = alphabet > 1; /* a function that is not in the trie */
	uint32_t tree = 0, wrong = 0, checked = 0;
	uint32_t leaves[NR_PATHS], patterns[LCS_LANES][700];
	struct samples samples;
	struct paths paths;
	struct lcs lcs;

	forest_init(&samples, alphabet + 1);
	for (uint32_t i = 0; i < NR_PATHS; i++)
		leaves[i] = forest_path(&samples, path, random_path(path, longest, alphabet));
	forest_add_tree(&samples, leaves, NR_PATHS, 1);
	if (paths_init(&paths, &samples, &tree, 1, 0) || lcs_init(&lcs, &paths))
		exit(1);
	for (uint32_t batch = 0; batch < NR_BATCHES; batch++) {
		struct lcs_pattern all[LCS_LANES];
		uint32_t nr = 1 + forest_random(LCS_LANES);

		for (uint32_t lane = 0; lane < nr; lane++) {
			all[lane].functions = patterns[lane];
			all[lane].length = from + forest_random(to - from + 1);
			for (uint32_t i = 0; i < all[lane].length; i++)
				patterns[lane][i] = forest_random(alphabet + other);
		}
		lcs_compare(&lcs, all, nr, paths.nr);
		for (uint32_t i = 0; i < paths.nr; i++) {
			uint32_t length = paths_length(&paths, i);

			paths_spell(&paths, i, path);
			for (uint32_t lane = 0; lane < nr; lane++, checked++)
				wrong += lcs.lengths[i][lane] != common(patterns[lane],
									all[lane].length,
									path, length);
		}
	}
	ok(!wrong && checked, "patterns of %u to %u functions, paths up to %u: as by the table",
	   from, to, longest);
	lcs_deinit(&lcs);
	paths_deinit(&paths);
	samples_deinit(&samples);
	free(path);
}

static void random_forest(struct samples *samples, uint32_t nr_trees, uint32_t longest,
			  uint32_t alphabet)
{
	uint32_t *path = calloc(longest + 1UL, sizeof(*path));
	uint32_t leaves[24];

	forest_init(samples, alphabet);
	for (uint32_t i = 0; i < nr_trees; i++) {
		uint32_t nr = 1 + forest_random(24);

		for (uint32_t j = 0; j < nr; j++)
			leaves[j] = forest_path(samples, path,
						random_path(path, longest, alphabet));
		forest_add_tree(samples, leaves, nr, 1 + forest_random(9));
	}
	free(path);
}

/* All distances of a random forest, with and without symmetry, by definition. */
static void test_sums(uint32_t longest, uint32_t alphabet)
{
	enum { N = 15 };
	double all[N * N], some[4 * N];
	uint32_t trees[N], rows[4] = { 3, 1, 14, 7 };
	bool same = true, is_right = true;
	struct samples samples;

	random_forest(&samples, N, longest, alphabet);
	for (uint32_t i = 0; i < N; i++)
		trees[i] = i;
	if (distance_mean(&samples, NULL, 0, trees, N, NULL, all) ||
	    distance_mean(&samples, rows, 4, trees, N, NULL, some))
		exit(1);
	for (uint32_t i = 0; i < N; i++)
		for (uint32_t j = 0; j < N; j++)
			is_right &= is_near(all[i * N + j], naive_mean(&samples, i, j));
	for (uint32_t i = 0; i < 4; i++)
		for (uint32_t j = 0; j < N; j++)
			same &= is_near(some[i * N + j], all[rows[i] * N + j]);
	ok(is_right, "sums by the trie are means over all pairs, paths up to %u", longest);
	ok(same, "and the same for some rows");
	samples_deinit(&samples);
}

static void test_edges(void)
{
	enum { DEEP = 100000 };
	uint32_t tree[] = { 0, 1, 2 }, at = 0, leaves[2];
	double all[9];
	struct samples samples;

	forest_init(&samples, 26);
	forest_add_tree(&samples, NULL, 0, 1);
	forest_spell(&samples, "AB", 1);
	ok(distance_mean(&samples, NULL, 0, tree, 2, NULL, all) == 0 && all[0] == 0 &&
	   all[3] == 0 && all[1] == 1 && all[2] == 1, "a tree without calls is 1 from others");
	ok(distance_mean(&samples, NULL, 0, tree, 0, NULL, all) == 0, "no trees are no error");
	samples.nodes[2].parent = 2;
	ok(distance_mean(&samples, NULL, 0, tree, 2, NULL, all) == -EINVAL,
	   "a parent that comes later is refused");
	samples.nodes[2].parent = 1;
	samples.nodes[2].function = 26;
	ok(distance_mean(&samples, NULL, 0, tree, 2, NULL, all) == -EINVAL,
	   "so is a function that is none");
	samples.nodes[2].function = 1;
	samples.trees[1].leaves[0] = 3;
	ok(distance_mean(&samples, NULL, 0, tree, 2, NULL, all) == -EINVAL,
	   "and a leaf that is no node");
	samples_deinit(&samples);

	forest_init(&samples, 26);
	for (uint32_t i = 0; i < DEEP; i++)
		at = forest_add_node(&samples, at, i % 26);
	leaves[0] = at;
	forest_add_tree(&samples, leaves, 1, 1);
	leaves[1] = DEEP / 2;
	forest_add_tree(&samples, leaves, 2, 1);
	leaves[0] = 1000;
	forest_add_tree(&samples, leaves, 1, 1);
	ok(distance_mean(&samples, NULL, 0, tree, 3, NULL, all) == 0 && all[1] == 0,
	   "of 100,000 calls in a chain, the head counts");
	ok(is_near(all[2], 1 - 1000. / PATHS_MAX_LENGTH), "and what is that deep is not lost");
	samples_deinit(&samples);
}

/* So many paths of a length that the sum of what they have in common is large. */
static void test_wide(void)
{
	enum { LENGTH = 16, WIDTH = 9001 };
	uint32_t at = 0, tree = 0, *leaves = malloc(WIDTH * sizeof(*leaves));
	struct samples samples;

	forest_init(&samples, WIDTH);
	for (uint32_t i = 1; i < LENGTH; i++)
		at = forest_add_node(&samples, at, i);
	for (uint32_t i = 0; i < WIDTH; i++)
		leaves[i] = forest_add_node(&samples, at, i);
	forest_add_tree(&samples, leaves, WIDTH, 1);
	ok(is_near(mean_of(&samples, tree, tree), (1 - 1. / WIDTH) / LENGTH),
	   "%u paths that differ in the last of %u functions", WIDTH, LENGTH);
	samples_deinit(&samples);
	free(leaves);
}

static int compare_doubles(const double *a, const double *b, size_t nr)
{
	return memcmp(a, b, nr * sizeof(*a));
}

/* The same paths, numbered otherwise: not one bit of the sums may change. */
static void test_reproducible(void)
{
	enum { N = 12, LONGEST = 40 };
	double first[N * N], second[N * N];
	uint32_t trees[N], leaves[32];
	struct samples samples, other;

	random_forest(&samples, N, LONGEST, 9);
	forest_init(&other, 9);
	for (uint32_t i = 0; i < N; i++)
		trees[i] = i;
	for (uint32_t i = N; i--;) {
		const struct samples_tree *tree = &samples.trees[i];

		for (uint32_t j = tree->nr_leaves; j--;) {
			uint32_t *path, nr = spell(&samples, tree->leaves[j], &path);

			leaves[j] = forest_path(&other, path, nr);
			free(path);
		}
		forest_add_tree(&other, leaves, tree->nr_leaves, 1);
	}
	if (distance_mean(&samples, NULL, 0, trees, N, NULL, first))
		exit(1);
	for (uint32_t i = 0; i < N; i++)
		trees[i] = N - 1 - i;
	if (distance_mean(&other, NULL, 0, trees, N, NULL, second))
		exit(1);
	ok(!compare_doubles(first, second, N * N), "order and numbers of nodes change no bit");
	samples_deinit(&samples);
	samples_deinit(&other);
}

/* Half of the paths of large trees: near the mean over all, 0 between equal ones. */
static void test_part(void)
{
	enum { N = 6, PATHS = 600, KEPT = 256 };
	const double bound = sqrt(log(2 / 0.001) / 2 / KEPT) + 1. / KEPT;
	double all[N * N], part[N * N], worst = 0, worst_energy = 0;
	const struct distance_options options = { .max_paths = KEPT };
	uint32_t trees[N], leaves[PATHS + N], path[9], max_paths;
	struct samples samples;

	forest_init(&samples, 60);
	for (uint32_t i = 0; i < PATHS + N; i++) {
		for (uint32_t j = 0; j < 9; j++)
			path[j] = forest_random(3 + 7 * j);
		leaves[i] = forest_path(&samples, path, 9);
	}
	for (uint32_t i = 0; i < N; i++) /* all but a few paths in common; the last small */
		trees[i] = forest_add_tree(&samples, leaves + i, i < N - 1 ? PATHS : 10, 1);
	if (distance_mean(&samples, NULL, 0, trees, N, NULL, all) ||
	    distance_mean(&samples, NULL, 0, trees, N, &options, part))
		exit(1);
	for (uint32_t i = 0; i < N * N; i++)
		worst = fmax(worst, fabs(all[i] - part[i]));
	ok(worst > 0 && worst < bound, "with %u paths, D is off by %.4f, less than %.4f", KEPT,
	   worst, bound);
	ok(all[N * N - 1] == part[N * N - 1], "small trees are taken as they are");
	distance_to_energy(all, N);
	distance_to_energy(part, N);
	for (uint32_t i = 0; i < N - 1; i++)
		for (uint32_t j = 0; j < N - 1; j++)
			worst_energy = fmax(worst_energy, fabs(all[i * N + j] - part[i * N + j]));
	ok(worst_energy < 0.001 && worst_energy < worst, "E of trees with much in common by %.6f",
	   worst_energy);

	ok(distance_max_paths(&samples, trees, N, 1e12, &max_paths) == 0 && max_paths == 0,
	   "with enough time all paths count");
	if (distance_max_paths(&samples, trees, N, 1e6, &max_paths))
		exit(1);
	ok(max_paths > 1 && max_paths < PATHS && !(max_paths & (max_paths - 1)),
	   "with less, %u of each tree", max_paths);
	ok(distance_max_paths(&samples, trees, N, 0, &max_paths) == 0 && max_paths == 1,
	   "with none, one");
	samples_deinit(&samples);
}

int main(void)
{
	plan(44);
	test_by_hand();
	forest_seed(1);
	test_lcs(1, 16, 30, 6);
	test_lcs(17, 32, 30, 6);
	test_lcs(33, 64, 70, 6);
	test_lcs(65, 128, 140, 6);
	test_lcs(129, 300, 300, 20);
	test_lcs(65, 512, 300, 20);
	test_lcs(500, 700, 700, 20);
	test_lcs(16, 16, 16, 1);
	test_lcs(64, 64, 64, 1);
	test_lcs(256, 256, 300, 1);
	test_sums(12, 5);
	test_sums(30, 8);
	test_sums(70, 8);
	test_sums(200, 20);
	test_edges();
	test_wide();
	test_reproducible();
	test_part();
	return tap_status();
}
