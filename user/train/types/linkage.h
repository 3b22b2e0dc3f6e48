/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Average linkage: join the two nearest clusters, again and again, where the
 * distance of clusters is the mean over all pairs of their items.
 */
#ifndef _USER_TRAIN_TYPES_LINKAGE_H
#define _USER_TRAIN_TYPES_LINKAGE_H

#include <stdint.h>

/* Two clusters become one, each named by its smallest item. */
struct linkage_merge {
	uint32_t a;
	uint32_t b; /* greater than a */
	double height; /* their distance */
};

/*
 * Join @n items, of which each counts @weights times, by their @distances:
 * symmetric, n * n, and overwritten.  The n - 1 merges, of rising height, are
 * written to @ret.  Of clusters at equal distances the one of the smallest item
 * is the nearest.  Takes time of n^2.  Returns 0 or -ENOMEM.
 */
int linkage_average(double *distances, const double *weights, uint32_t n,
		    struct linkage_merge *ret);

/*
 * Make the merges up to @height: number the clusters that result from 0, in the
 * order of their smallest items, into ret[item].  Returns how many there are.
 */
uint32_t linkage_cut(const struct linkage_merge *merges, uint32_t n, double height,
		     uint32_t *ret);

/*
 * A height between @from and @to for a cut that few changes of the input move:
 * the middle of the widest gap between heights of merges there.  The ends of
 * the range count as heights; of equal gaps the lowest is taken.
 */
double linkage_gap(const struct linkage_merge *merges, uint32_t n, double from, double to);

#endif /* _USER_TRAIN_TYPES_LINKAGE_H */
