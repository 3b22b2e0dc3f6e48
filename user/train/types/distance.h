/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How much call trees differ, by their call paths.
 *
 * Two paths p and q, of functions from the loop to a leaf, have the distance
 *	d(p, q) = 1 - |LCS(p, q)| / max(|p|, |q|)
 * and two trees X and Y the mean of it over all pairs of their paths,
 *	D(X, Y) = sum of d(p, q) over p in X, q in Y / (|X| |Y|).
 * D is not 0 between equal trees, and is often less between different ones, so
 * the default is the energy distance
 *	E(X, Y) = 2 D(X, Y) - D(X, X) - D(Y, Y).
 *
 * LCS(p, q) is found once for two distinct paths, whatever the number of trees
 * that have them.  The sums are of integers (quotients as fixed point numbers),
 * so that they depend neither on the order of the terms nor on how samples
 * number their nodes.
 */
#ifndef _USER_TRAIN_TYPES_DISTANCE_H
#define _USER_TRAIN_TYPES_DISTANCE_H

#include <stdint.h>

#include "data/samples.h"

enum distance {
	DISTANCE_ENERGY,
	DISTANCE_PAPER,
};

struct distance_options {
	/* Of a tree's paths only so many count, see distance_max_paths(); 0: all do. */
	uint32_t max_paths;
	/* Called now and then with how much is done, 0 to 1; may be NULL. */
	void (*progress)(void *context, double done);
	void *context;
};

/*
 * D of each of @rows to each of @columns, trees of @samples, into
 * ret[row * nr_columns + column].  With @rows NULL the rows are the columns,
 * for half the work.  Without @options, all paths count.  Returns 0, -EINVAL
 * if an index in the samples leads nowhere, -E2BIG or -ENOMEM.
 */
int distance_mean(const struct samples *samples, const uint32_t *rows, uint32_t nr_rows,
		  const uint32_t *columns, uint32_t nr_columns,
		  const struct distance_options *options, double *ret);

/*
 * How many paths of each tree can count, so that D of @nr trees to each other
 * takes at most @max_work: 0, all of them, or a power of two.  About 7e9 of work
 * take a second; 350,000 distinct paths in 400 trees of 2,900 are 9.3e11.
 *
 * With k paths of larger trees, D is off by less than sqrt(ln(2 / x) / (2 k)) +
 * 1 / k with probability 1 - x (Hoeffding, for means over pairs): 0.031 for
 * k = 4096 and x = 0.001.  E is much nearer, for two trees keep the same ones of
 * the paths they share, and errors of equal terms cancel: on made-up trees of
 * 15,000 paths, that differ in 2 to 30 % of them, E is off by 3e-5 in the mean
 * and 8e-5 at most.  By 4096 random pairs of paths for each D it would be 2e-3
 * and 9e-3, more than the height at which clusters are cut.
 */
int distance_max_paths(const struct samples *samples, const uint32_t *trees, uint32_t nr,
		       double max_work, uint32_t *ret);

/* Make E of D, in place: @n trees to each other. */
void distance_to_energy(double *distances, uint32_t n);

#endif /* _USER_TRAIN_TYPES_DISTANCE_H */
