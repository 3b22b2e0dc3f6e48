// SPDX-License-Identifier: GPL-2.0
/* The adjusted Rand index. */

#include <math.h>
#include <stdlib.h>

#include "forest.h"
#include "tap.h"
#include "train/types/ari.h"

/* By its definition in four kinds of pairs, items counted one by one. */
static double by_pairs(const uint32_t *a, const uint32_t *b, uint32_t nr)
{
	double both = 0, only_a = 0, only_b = 0, none = 0;

	for (uint32_t i = 0; i < nr; i++) {
		for (uint32_t j = i + 1; j < nr; j++) {
			bool in_a = a[i] == a[j], in_b = b[i] == b[j];

			both += in_a && in_b;
			only_a += in_a && !in_b;
			only_b += !in_a && in_b;
			none += !in_a && !in_b;
		}
	}
	return 2 * (both * none - only_a * only_b) /
	       ((both + only_a) * (only_a + none) + (both + only_b) * (only_b + none));
}

static void test_random(void)
{
	enum { SEEDS = 100, N = 60 };
	uint32_t a[N], b[N], wide_a[4 * N], wide_b[4 * N];
	bool is_right = true, is_weighted = true;
	uint64_t weights[N];

	for (uint32_t seed = 0; seed < SEEDS; seed++) {
		uint32_t nr = 0;

		forest_seed(seed);
		for (uint32_t i = 0; i < N; i++) {
			a[i] = forest_random(5);
			b[i] = forest_random(3) ? a[i] : forest_random(7);
			weights[i] = forest_random(4);
			for (uint64_t j = 0; j < weights[i]; j++, nr++) {
				wide_a[nr] = a[i];
				wide_b[nr] = b[i];
			}
		}
		is_right &= fabs(ari_index(a, b, NULL, N) - by_pairs(a, b, N)) < 1e-12;
		is_weighted &= fabs(ari_index(a, b, weights, N) -
				    by_pairs(wide_a, wide_b, nr)) < 1e-12;
	}
	ok(is_right, "as by counting pairs, on %u labelings", SEEDS);
	ok(is_weighted, "a weight counts as so many items");
}

int main(void)
{
	enum { MANY = 20000 };
	const uint32_t a[] = { 0, 0, 0, 1, 1, 1 }, b[] = { 0, 0, 1, 1, 2, 2 };
	const uint32_t renamed[] = { 7, 7, 7, 3, 3, 3 };
	const uint32_t one[] = { 4, 4, 4, 4, 4, 4 }, apart[] = { 0, 1, 2, 3, 4, 5 };
	uint32_t *x = malloc(MANY * sizeof(*x)), *y = malloc(MANY * sizeof(*y));

	plan(9);
	ok(ari_index(a, a, NULL, 6) == 1, "a labeling agrees with itself");
	ok(ari_index(a, renamed, NULL, 6) == 1, "names of labels do not matter");
	ok(fabs(ari_index(a, b, NULL, 6) - 8. / 33) < 1e-12, "three and three against pairs: 8/33");
	ok(ari_index(a, one, NULL, 6) == 0, "all in one says nothing");
	ok(ari_index(one, one, NULL, 6) == 1 && ari_index(apart, apart, NULL, 6) == 1,
	   "nothing left to chance agrees");
	ok(ari_index(NULL, NULL, NULL, 0) == 1, "neither do no items differ");
	test_random();
	for (uint32_t i = 0; i < MANY; i++) {
		x[i] = forest_random(10);
		y[i] = forest_random(10);
	}
	ok(fabs(ari_index(x, y, NULL, MANY)) < 0.01, "chance is about 0");
	free(x);
	free(y);
	return tap_status();
}
