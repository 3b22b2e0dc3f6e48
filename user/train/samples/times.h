/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How long units took, kept so that it can be merged in any order: exact sums,
 * a histogram, and the largest times one by one.
 */
#ifndef _USER_TRAIN_SAMPLES_TIMES_H
#define _USER_TRAIN_SAMPLES_TIMES_H

#include "data/samples.h"

/* A unit took @ns.  Sums that do not fit stay at their largest value. */
void times_add(struct samples_times *times, uint64_t ns);
/* @nr units took @ns each. */
void times_add_many(struct samples_times *times, uint64_t ns, uint64_t nr);
/* What they would be if each unit took @factor times as long. */
void times_scale(struct samples_times *times, double factor);
void times_merge(struct samples_times *to, const struct samples_times *from);
/* The same of each part of requests. */
void times_merge_requests(struct samples_parts *to, const struct samples_parts *from);
/* The same of each part of units, and of requests. */
void times_merge_parts(struct samples_parts *to, const struct samples_parts *from);

/* ns; 0 without units. */
double times_mean(const struct samples_times *times);
/* Standard deviation of the sample, ns; 0 for fewer than two units. */
double times_deviation(const struct samples_times *times);
/* 0 without units. */
uint64_t times_largest(const struct samples_times *times);

/*
 * An upper bound of the @rank-th largest time, from 1, at most nr: that time
 * itself if it is kept, else the end of its bucket.
 */
uint64_t times_rank(const struct samples_times *times, uint64_t rank);

/*
 * How many units took longer than @ns.  Exact among the times that are kept,
 * and at the ends of buckets; in between, in proportion.
 */
double times_beyond(const struct samples_times *times, uint64_t ns);

#endif /* _USER_TRAIN_SAMPLES_TIMES_H */
