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
#ifndef _PGUARD_DISTANCE_H
#define _PGUARD_DISTANCE_H

#include <stdint.h>

#include "base/samples.h"

enum distance {
	DISTANCE_ENERGY,
	DISTANCE_PAPER,
};

/* Told now and then how much is done, 0 to 1. */
struct distance_progress {
	void (*tell)(void *context, double done);
	void *context;
};

/*
 * D of each of @rows to each of @columns, trees of @samples, into
 * ret[row * nr_columns + column].  With @rows NULL the rows are the columns,
 * for half the work.  @progress may be NULL.  Returns 0, -EINVAL if an index in
 * the samples leads nowhere, -E2BIG or -ENOMEM.
 */
int distance_mean(const struct samples *samples, const uint32_t *rows, uint32_t nr_rows,
		  const uint32_t *columns, uint32_t nr_columns,
		  const struct distance_progress *progress, double *ret);

/* Make E of D, in place: @n trees to each other. */
void distance_to_energy(double *distances, uint32_t n);

/* d of two paths of the given lengths.  For comparison: by the plain table. */
double distance_of_paths(const uint32_t *a, uint32_t nr_a, const uint32_t *b, uint32_t nr_b);

#endif /* _PGUARD_DISTANCE_H */
