/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The upper tail of a distribution of times, from few of them.
 *
 * Beyond a level u that some units exceed, the logarithms of x / u are taken to be
 * exponential (a Pareto tail; Hill, Annals of Statistics 3, 1975).  What a type's
 * own excesses are too few to show is taken from those of the other types of
 * its loop: their mean is a prior worth so many excesses of its own, as many as
 * the types are alike.  The excess of a next unit then has a Lomax distribution.
 */
#ifndef _USER_TRAIN_MODEL_TAIL_H
#define _USER_TRAIN_MODEL_TAIL_H

#include "data/samples.h"

/* Of the times of a type. */
struct tail {
	double level_ns; /* u; 0: there is no tail, for hardly a unit took any time */
	double share; /* of units beyond u */
	uint32_t nr; /* excesses over u */
	double sum; /* of their logarithms */
	uint64_t largest_ns; /* without a stall */
};

/* What the tails of several types have in common. */
struct tail_shape {
	double mean; /* of an excess's logarithm */
	double weight; /* excesses that it is worth */
};

/*
 * How many of the largest times are no part of the tail: one that is far above all others
 * is a stall, of the machine or of whoever stopped the program.
 */
uint32_t tail_stalls(const struct samples_times *times);
/* The largest time that is no stall; 0 without units. */
uint64_t tail_largest(const struct samples_times *times);

struct tail tail_of(const struct samples_times *times);

struct tail_shape tail_shape_of(const struct tail *tails, uint32_t nr);

/*
 * The time that a share @rate, above 0, of units is expected to exceed, ns.
 * @stretch, from 1, is how many times as far from u it is to be.
 */
uint64_t tail_limit(const struct tail *tail, const struct tail_shape *shape, double rate,
		    double stretch);

#endif /* _USER_TRAIN_MODEL_TAIL_H */
