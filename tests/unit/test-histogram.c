// SPDX-License-Identifier: GPL-2.0
/* The module's histogram: where values fall, and what percentiles say. */

#include <string.h>

#include "data/histogram.h"
#include "tap.h"

/* Every bucket begins where the one before ends, and holds its own maximum. */
static bool is_seamless(void)
{
	for (uint32_t i = 0; i + 1 < PERFGUARD_HIST_BUCKETS; i++) {
		uint64_t max_ns = histogram_bucket_max(i);

		if (histogram_bucket(max_ns) != i ||
		    histogram_bucket(max_ns + 1) != i + 1) {
			diag("bucket %u ends at %llu", i,
			     (unsigned long long)max_ns);
			return false;
		}
	}
	return true;
}

/* The error of a bucket's upper end is below 1/16 of the value. */
static bool is_precise(void)
{
	for (uint64_t ns = 1; ns < histogram_bucket_max(PERFGUARD_HIST_BUCKETS - 2);
	     ns += 1 + ns / 97) {
		uint64_t max_ns = histogram_bucket_max(histogram_bucket(ns));

		if (max_ns < ns || max_ns - ns > ns / 16)
			return false;
	}
	return true;
}

int main(void)
{
	uint64_t hist[PERFGUARD_HIST_BUCKETS] = { 0 };
	uint64_t other[PERFGUARD_HIST_BUCKETS] = { 0 };

	plan(15);
	ok(histogram_bucket(0) == 0, "0 ns has the first bucket");
	ok(histogram_bucket(15) == 15, "15 ns has a bucket of its own");
	ok(histogram_bucket(16) == 16 && histogram_bucket(17) == 17,
	   "so have 16 and 17 ns, the first power that is split");
	ok(histogram_bucket(32) == 32 && histogram_bucket(33) == 32,
	   "32 and 33 ns share one");
	ok(histogram_bucket(UINT64_MAX) == PERFGUARD_HIST_BUCKETS - 1,
	   "the last bucket takes everything above");
	ok(histogram_bucket_max(PERFGUARD_HIST_BUCKETS - 1) == UINT64_MAX,
	   "and has no end");
	ok(is_seamless(), "there are no gaps and no overlaps");
	ok(is_precise(), "a bucket is no wider than 1/16 of its values");

	ok(histogram_percentile(hist, 500, 0) == 0, "no units, no percentile");
	for (uint32_t i = 1; i <= 10; i++)
		hist[i]++;
	ok(histogram_percentile(hist, 500, 10) == 5, "the median of 1 to 10 is 5");
	ok(histogram_percentile(hist, 0, 10) == 1, "the least is 1");
	ok(histogram_percentile(hist, 1000, 10) == 10, "the most is 10");
	ok(histogram_percentile(hist, 901, 10) == 10, "90.1 %% round up to all ten");

	memset(hist, 0, sizeof(hist));
	hist[histogram_bucket(1000000)] = 1;
	ok(histogram_percentile(hist, 999, 1000000) == 1000000,
	   "a percentile is never beyond the longest unit");
	other[3] = 41;
	hist[3] = 1;
	histogram_add(hist, other);
	ok(hist[3] == 42 && other[3] == 41, "histograms add up");
	return tap_status();
}
