// SPDX-License-Identifier: GPL-2.0

#include "train/model/part-test.h"

#include <math.h>
#include <stdlib.h>

#include "data/histogram.h"

#define LEAST_NS 1000.0
/* An octave of the histogram has so many buckets. */
#define BUCKETS 16.0

/* The logarithms of the times of a group. */
struct logs {
	double nr, mean, variance;
};

static struct logs logs_of(const struct samples_times *times, double least_ns)
{
	double sum = 0, squares = 0;
	struct logs logs = { 0 };

	for (uint32_t i = 0; i < PERFGUARD_HIST_BUCKETS; i++) {
		double nr = (double)times->hist[i];
		double value = log(fmax((double)histogram_bucket_max(i) * (1 - 0.5 / BUCKETS),
					least_ns));

		logs.nr += nr;
		sum += nr * value;
		squares += nr * value * value;
	}
	if (logs.nr < 2)
		return logs;
	logs.mean = sum / logs.nr;
	/* Times of one bucket are not equal. */
	logs.variance = fmax(squares / logs.nr - logs.mean * logs.mean, 0) * logs.nr /
			(logs.nr - 1) + 1 / (12 * BUCKETS * BUCKETS);
	return logs;
}

/*
 * The chance that Student's t is beyond @t on either side, to some percent of it: Wallace,
 * Annals of Mathematical Statistics 30, 1959.
 */
static double chance_of(double t, double freedom)
{
	double z = (8 * freedom + 1) / (8 * freedom + 3) *
		   sqrt(freedom * log1p(t * t / freedom));

	return erfc(z / sqrt(2));
}

void part_test(const struct samples_times *before, const struct samples_times *after,
	       uint64_t least_ns, struct part_difference *ret)
{
	double least = fmax((double)least_ns, LEAST_NS), x, y;
	struct logs a = logs_of(before, least), b = logs_of(after, least);

	*ret = (struct part_difference){ .chance = 1 };
	if (a.nr >= 2)
		ret->before_ns = exp(a.mean);
	if (b.nr >= 2)
		ret->after_ns = exp(b.mean);
	if (a.nr < 2 || b.nr < 2)
		return;
	x = a.variance / a.nr;
	y = b.variance / b.nr;
	ret->chance = chance_of((b.mean - a.mean) / sqrt(x + y),
				(x + y) * (x + y) / (x * x / (a.nr - 1) + y * y / (b.nr - 1)));
}

static int compare_chances(const void *left, const void *right)
{
	const struct part_difference *const *a = left, *const *b = right;

	return ((*a)->chance > (*b)->chance) - ((*a)->chance < (*b)->chance);
}

void part_test_correct(struct part_difference **parts, uint32_t nr)
{
	double most = 0;

	if (nr)
		qsort(parts, nr, sizeof(*parts), compare_chances);
	for (uint32_t i = 0; i < nr; i++) {
		most = fmax(most, fmin(parts[i]->chance * (nr - i), 1));
		parts[i]->chance = most;
	}
}
