// SPDX-License-Identifier: GPL-2.0

#include "train/types/ari.h"

#include <math.h>
#include <stdlib.h>

struct labeled {
	uint32_t a;
	uint32_t b;
	uint64_t weight;
};

static int compare_a(const void *left, const void *right)
{
	const struct labeled *x = left, *y = right;

	if (x->a != y->a)
		return x->a < y->a ? -1 : 1;
	return x->b < y->b ? -1 : x->b > y->b;
}

static int compare_b(const void *left, const void *right)
{
	const struct labeled *x = left, *y = right;

	return x->b < y->b ? -1 : x->b > y->b;
}

static double pairs(double nr)
{
	return nr * (nr - 1) / 2;
}

/* Pairs of items that are together, by neighbours in order of @compare. */
static double pairs_together(const struct labeled *items, uint32_t nr,
			     int (*compare)(const void *, const void *))
{
	double sum = 0, here = 0;

	for (uint32_t i = 0; i < nr; i++) {
		if (i && compare(&items[i - 1], &items[i])) {
			sum += pairs(here);
			here = 0;
		}
		here += items[i].weight;
	}
	return sum + pairs(here);
}

static int compare_only_a(const void *left, const void *right)
{
	const struct labeled *x = left, *y = right;

	return x->a < y->a ? -1 : x->a > y->a;
}

double ari_index(const uint32_t *a, const uint32_t *b, const uint64_t *weights, uint32_t nr)
{
	struct labeled *items = malloc((nr + 1UL) * sizeof(*items));
	double total = 0, in_a, in_b, in_both, expected, most;

	if (!items)
		return NAN;
	for (uint32_t i = 0; i < nr; i++) {
		items[i] = (struct labeled){ a[i], b[i], weights ? weights[i] : 1 };
		total += items[i].weight;
	}
	qsort(items, nr, sizeof(*items), compare_a);
	in_both = pairs_together(items, nr, compare_a);
	in_a = pairs_together(items, nr, compare_only_a);
	qsort(items, nr, sizeof(*items), compare_b);
	in_b = pairs_together(items, nr, compare_b);
	free(items);
	most = (in_a + in_b) / 2;
	expected = total > 1 ? in_a * in_b / pairs(total) : 0;
	if (most == expected)
		return 1;
	return (in_both - expected) / (most - expected);
}
