// SPDX-License-Identifier: GPL-2.0

#include "data/histogram.h"

/* 16 buckets for each power of two. */
#define SUB_BITS 4
#define SUB_BUCKETS (1u << SUB_BITS)
#define LAST (PERFGUARD_HIST_BUCKETS - 1)

uint32_t histogram_bucket(uint64_t ns)
{
	uint32_t power, bucket;

	if (ns < SUB_BUCKETS)
		return (uint32_t)ns;
	power = 63 - (uint32_t)__builtin_clzll(ns);
	bucket = (power - SUB_BITS + 1) * SUB_BUCKETS + (uint32_t)(ns >> (power - SUB_BITS)) -
		 SUB_BUCKETS;
	return bucket < LAST ? bucket : LAST;
}

uint64_t histogram_bucket_max(uint32_t bucket)
{
	uint32_t shift;

	if (bucket < SUB_BUCKETS)
		return bucket;
	if (bucket >= LAST)
		return UINT64_MAX;
	shift = bucket / SUB_BUCKETS - 1;
	return (((uint64_t)(bucket % SUB_BUCKETS) + SUB_BUCKETS + 1) << shift) - 1;
}

void histogram_add(uint64_t to[PERFGUARD_HIST_BUCKETS], const uint64_t from[PERFGUARD_HIST_BUCKETS])
{
	for (uint32_t i = 0; i < PERFGUARD_HIST_BUCKETS; i++)
		to[i] += from[i];
}

uint64_t histogram_percentile(const uint64_t hist[PERFGUARD_HIST_BUCKETS], double permille,
			      uint64_t max_ns)
{
	uint64_t units = 0, seen = 0, rank, ns;

	for (uint32_t i = 0; i < PERFGUARD_HIST_BUCKETS; i++)
		units += hist[i];
	if (!units)
		return 0;
	rank = (uint64_t)((double)units * permille / 1000);
	if ((double)rank * 1000 < (double)units * permille)
		rank++;
	if (rank < 1)
		rank = 1;
	if (rank > units)
		rank = units;
	for (uint32_t i = 0; i < PERFGUARD_HIST_BUCKETS; i++) {
		seen += hist[i];
		if (seen < rank)
			continue;
		ns = histogram_bucket_max(i);
		return ns < max_ns ? ns : max_ns;
	}
	return max_ns;
}
