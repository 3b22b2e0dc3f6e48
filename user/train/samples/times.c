// SPDX-License-Identifier: GPL-2.0

#include "train/samples/times.h"

#include <math.h>

#include "data/histogram.h"

static unsigned __int128 add_squares(unsigned __int128 a, unsigned __int128 b)
{
	return a > ~(unsigned __int128)0 - b ? ~(unsigned __int128)0 : a + b;
}

static void keep_largest(struct samples_times *times, uint64_t ns)
{
	uint32_t at = times->nr_largest;

	if (at == SAMPLES_NR_LARGEST) {
		if (ns <= times->largest_ns[--at])
			return;
	} else {
		times->nr_largest++;
	}
	for (; at && times->largest_ns[at - 1] < ns; at--)
		times->largest_ns[at] = times->largest_ns[at - 1];
	times->largest_ns[at] = ns;
}

void times_add_many(struct samples_times *times, uint64_t ns, uint64_t nr)
{
	uint64_t sum;

	times->nr = sum_saturating(times->nr, nr);
	if (__builtin_mul_overflow(ns, nr, &sum))
		sum = UINT64_MAX;
	times->sum_ns = sum_saturating(times->sum_ns, sum);
	times->sum_squares = add_squares(times->sum_squares, (unsigned __int128)ns * sum);
	times->hist[histogram_bucket(ns)] =
		sum_saturating(times->hist[histogram_bucket(ns)], nr);
	for (uint64_t i = 0; i < nr && i < SAMPLES_NR_LARGEST; i++)
		keep_largest(times, ns);
}

void times_add(struct samples_times *times, uint64_t ns)
{
	times_add_many(times, ns, 1);
}

static uint64_t scaled(uint64_t ns, double factor)
{
	double to = (double)ns * factor;

	return to < 1e19 ? (uint64_t)to : (uint64_t)1e19;
}

void times_scale(struct samples_times *times, double factor)
{
	const struct samples_times from = *times;
	uint64_t kept = from.nr_largest;

	*times = (struct samples_times){ 0 };
	for (uint32_t i = 0; i < from.nr_largest; i++)
		times_add(times, scaled(from.largest_ns[i], factor));
	/* The largest are in the buckets, too: the last of them. */
	for (uint32_t i = PERFGUARD_HIST_BUCKETS; i-- > 0;) {
		uint64_t again = kept < from.hist[i] ? kept : from.hist[i];
		uint64_t ns = histogram_bucket_max(i);

		kept -= again;
		if (from.hist[i] > again)
			times_add_many(times, scaled(ns - ns / 32, factor), from.hist[i] - again);
	}
	times->sum_ns = scaled(from.sum_ns, factor);
}

void times_merge(struct samples_times *to, const struct samples_times *from)
{
	to->nr = sum_saturating(to->nr, from->nr);
	to->sum_ns = sum_saturating(to->sum_ns, from->sum_ns);
	to->sum_squares = add_squares(to->sum_squares, from->sum_squares);
	for (uint32_t i = 0; i < PERFGUARD_HIST_BUCKETS; i++)
		to->hist[i] = sum_saturating(to->hist[i], from->hist[i]);
	for (uint32_t i = 0; i < from->nr_largest; i++)
		keep_largest(to, from->largest_ns[i]);
}

void times_merge_requests(struct samples_parts *to, const struct samples_parts *from)
{
	for (int part = 0; part < REQUEST_NR_PARTS; part++)
		times_merge(&to->requests[part], &from->requests[part]);
}

void times_merge_parts(struct samples_parts *to, const struct samples_parts *from)
{
	for (int part = 0; part < SAMPLES_NR_PARTS; part++)
		times_merge(&to->of[part], &from->of[part]);
	times_merge_requests(to, from);
	for (int cause = 0; cause < SAMPLES_NR_CAUSES; cause++)
		if (to->added_ns[cause] < from->added_ns[cause])
			to->added_ns[cause] = from->added_ns[cause];
}

double times_mean(const struct samples_times *times)
{
	return times->nr ? (double)times->sum_ns / (double)times->nr : 0;
}

double times_deviation(const struct samples_times *times)
{
	long double nr = times->nr, sum = times->sum_ns, squares;

	if (times->nr < 2)
		return 0;
	squares = (long double)times->sum_squares - sum * sum / nr;
	return squares > 0 ? sqrt((double)(squares / (nr - 1))) : 0;
}

uint64_t times_largest(const struct samples_times *times)
{
	return times->nr_largest ? times->largest_ns[0] : 0;
}

uint64_t times_rank(const struct samples_times *times, uint64_t rank)
{
	uint64_t above = 0, smallest_kept;

	if (!rank || !times->nr_largest)
		return times_largest(times);
	if (rank <= times->nr_largest)
		return times->largest_ns[rank - 1];
	smallest_kept = times->largest_ns[times->nr_largest - 1];
	for (uint32_t i = PERFGUARD_HIST_BUCKETS - 1; i > 0; i--) {
		above = sum_saturating(above, times->hist[i]);
		if (above >= rank) {
			uint64_t end = histogram_bucket_max(i);

			return end < smallest_kept ? end : smallest_kept;
		}
	}
	return 0;
}

double times_beyond(const struct samples_times *times, uint64_t ns)
{
	uint32_t bucket = histogram_bucket(ns), kept = 0;
	double above = 0, start, end;

	while (kept < times->nr_largest && times->largest_ns[kept] > ns)
		kept++;
	if (kept < times->nr_largest || times->nr == times->nr_largest)
		return kept;
	for (uint32_t i = bucket + 1; i < PERFGUARD_HIST_BUCKETS; i++)
		above += (double)times->hist[i];
	if (bucket < PERFGUARD_HIST_BUCKETS - 1) {
		start = bucket ? (double)(histogram_bucket_max(bucket - 1) + 1) : 0;
		end = (double)(histogram_bucket_max(bucket) + 1);
		above += (double)times->hist[bucket] * (end - 1 - (double)ns) / (end - start);
	}
	return above > kept ? above : kept;
}
