// SPDX-License-Identifier: GPL-2.0
/*
 * By nearest-neighbour chain: go from a cluster to its nearest one, from there
 * to the nearest of that, until two are nearest to each other.  With average
 * linkage these can be joined at once, for a cluster is never nearer than the
 * nearest of its parts (it is reducible, and rounding is kept from spoiling
 * that); the merges only have to be sorted.
 */

#include "train/types/linkage.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/union-find.h"

struct chain {
	double *distances;
	uint32_t n;
	double *weights; /* of clusters, by smallest item */
	uint32_t *live; /* clusters that are left, rising */
	uint32_t nr_live;
	uint32_t *links; /* the chain */
	uint32_t length;
};

static int chain_init(struct chain *chain, double *distances, const double *weights, uint32_t n)
{
	*chain = (struct chain){ .distances = distances, .n = n, .nr_live = n };
	if (array_new(chain->weights, n) || array_new(chain->live, n) || array_new(chain->links, n))
		return -ENOMEM;
	memcpy(chain->weights, weights, n * sizeof(*weights));
	for (uint32_t i = 0; i < n; i++)
		chain->live[i] = i;
	return 0;
}

static void chain_deinit(struct chain *chain)
{
	free(chain->weights);
	free(chain->live);
	free(chain->links);
}

/* Ties go to @before, the link before, so that the chain ends; else to the smallest. */
static uint32_t nearest(const struct chain *chain, uint32_t from, uint32_t before)
{
	const double *row = chain->distances + (size_t)from * chain->n;
	uint32_t best = before;

	for (uint32_t i = 0; i < chain->nr_live; i++) {
		uint32_t other = chain->live[i];

		if (other != from && (best == UINT32_MAX || row[other] < row[best]))
			best = other;
	}
	return best;
}

static void remove_live(struct chain *chain, uint32_t cluster)
{
	uint32_t i = 0;

	while (chain->live[i] != cluster)
		i++;
	chain->nr_live--;
	memmove(chain->live + i, chain->live + i + 1, (chain->nr_live - i) * sizeof(*chain->live));
}

/* Lance and Williams.  The mean lies between the two in spite of rounding. */
static double mean_of(double a, double weight_a, double b, double weight_b)
{
	double mean = (weight_a * a + weight_b * b) / (weight_a + weight_b);
	double least = a < b ? a : b, most = a < b ? b : a;

	return mean < least ? least : mean > most ? most : mean;
}

/* The mean distance of the two together to any other one. */
static void join(struct chain *chain, uint32_t a, uint32_t b)
{
	double *row_a = chain->distances + (size_t)a * chain->n;
	const double *row_b = chain->distances + (size_t)b * chain->n;
	double weight_a = chain->weights[a], weight_b = chain->weights[b];

	remove_live(chain, b);
	chain->weights[a] = weight_a + weight_b;
	for (uint32_t i = 0; i < chain->nr_live; i++) {
		uint32_t other = chain->live[i];
		double mean;

		if (other == a)
			continue;
		mean = mean_of(row_a[other], weight_a, row_b[other], weight_b);
		row_a[other] = mean;
		chain->distances[(size_t)other * chain->n + a] = mean;
	}
}

static struct linkage_merge next_merge(struct chain *chain)
{
	if (!chain->length)
		chain->links[chain->length++] = chain->live[0];
	for (;;) {
		uint32_t top = chain->links[chain->length - 1];
		uint32_t before = chain->length > 1 ? chain->links[chain->length - 2] : UINT32_MAX;
		uint32_t next = nearest(chain, top, before);

		if (next == before) {
			chain->length -= 2;
			return (struct linkage_merge){
				.a = top < before ? top : before,
				.b = top < before ? before : top,
				.height = chain->distances[(size_t)top * chain->n + before],
			};
		}
		chain->links[chain->length++] = next;
	}
}

struct nearest {
	struct linkage_merge merge;
	uint32_t order;
};

/* Of equal heights, a cluster must be made before it is merged. */
static int compare_found(const void *left, const void *right)
{
	const struct nearest *a = left, *b = right;

	if (a->merge.height != b->merge.height)
		return a->merge.height < b->merge.height ? -1 : 1;
	return order_of(a->order, b->order);
}

int linkage_average(double *distances, const double *weights, uint32_t n,
		    struct linkage_merge *ret)
{
	struct nearest *found;
	struct chain chain;
	int err;

	if (n < 2)
		return 0;
	found = malloc(n * sizeof(*found));
	err = chain_init(&chain, distances, weights, n);
	if (!found)
		err = -ENOMEM;
	for (uint32_t i = 0; !err && i < n - 1; i++) {
		found[i] = (struct nearest){ next_merge(&chain), i };
		join(&chain, found[i].merge.a, found[i].merge.b);
	}
	chain_deinit(&chain);
	if (!err) {
		qsort(found, n - 1, sizeof(*found), compare_found);
		for (uint32_t i = 0; i < n - 1; i++)
			ret[i] = found[i].merge;
	}
	free(found);
	return err;
}

uint32_t linkage_cut(const struct linkage_merge *merges, uint32_t n, double height,
		     uint32_t *ret)
{
	for (uint32_t i = 0; i < n; i++)
		ret[i] = i;
	for (uint32_t i = 0; i + 1 < n && merges[i].height <= height; i++)
		union_join(ret, merges[i].a, merges[i].b);
	return union_number(ret, n);
}

double linkage_gap(const struct linkage_merge *merges, uint32_t n, double from, double to)
{
	double last = from, low = from, high = from;

	for (uint32_t i = 0; i < n; i++) {
		double height = i + 1 < n && merges[i].height < to ? merges[i].height : to;

		if (height <= from)
			continue;
		if (height - last > high - low) {
			low = last;
			high = height;
		}
		last = height;
	}
	return low + (high - low) / 2;
}
