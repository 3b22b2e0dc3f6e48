// SPDX-License-Identifier: GPL-2.0
/* The threshold that is taken from the units' own times. */

#include "app/audit/auto-threshold.h"
#include "data/histogram.h"
#include "tap.h"

int main(void)
{
	uint64_t hist[PERFGUARD_HIST_BUCKETS] = { 0 };
	uint64_t threshold_ns, higher_ns;
	struct auto_threshold auto_threshold;

	plan(8);
	auto_threshold_init(&auto_threshold);
	ok(auto_threshold_next(&auto_threshold, hist, 0, 0, NSEC_PER_SEC) == AUTO_THRESHOLD_FIRST_NS,
	   "no units yet: what is slow for anyone");

	hist[histogram_bucket(100 * NSEC_PER_USEC)] = 1000;
	ok(auto_threshold_next(&auto_threshold, hist, 100 * NSEC_PER_USEC, 0, NSEC_PER_SEC) ==
		   AUTO_THRESHOLD_FLOOR_NS, "quick units: not below the floor");

	hist[histogram_bucket(80 * NSEC_PER_MSEC)] = 20;
	hist[histogram_bucket(100 * NSEC_PER_USEC)] = 2000;
	threshold_ns = auto_threshold_next(&auto_threshold, hist, 90 * NSEC_PER_MSEC, 0,
				      NSEC_PER_SEC);
	ok(threshold_ns >= 80 * NSEC_PER_MSEC &&
		   threshold_ns <= 90 * NSEC_PER_MSEC,
	   "twenty slow of a thousand a second: only the slowest of them");

	threshold_ns = auto_threshold_next(&auto_threshold, hist, 90 * NSEC_PER_MSEC, 0,
				      NSEC_PER_SEC);
	ok(threshold_ns == AUTO_THRESHOLD_FLOOR_NS,
	   "no new units: whatever comes next is recorded");

	hist[histogram_bucket(30 * NSEC_PER_MSEC)] = 10;
	auto_threshold_init(&auto_threshold);
	auto_threshold.units = 2020;
	threshold_ns = auto_threshold_next(&auto_threshold, hist, 90 * NSEC_PER_MSEC, 0,
				      10 * NSEC_PER_SEC);
	ok(threshold_ns == AUTO_THRESHOLD_FLOOR_NS, "one unit a second: any that is slow");

	auto_threshold_init(&auto_threshold);
	threshold_ns = auto_threshold_next(&auto_threshold, hist, 90 * NSEC_PER_MSEC, 0,
				      NSEC_PER_SEC);
	hist[histogram_bucket(100 * NSEC_PER_USEC)] = 4000;
	higher_ns = auto_threshold_next(&auto_threshold, hist, 90 * NSEC_PER_MSEC, 100,
				   NSEC_PER_SEC);
	ok(higher_ns >= 2 * threshold_ns * 9 / 10, "too many late: it rises");
	ok(auto_threshold.factor == 2, "by a factor");
	hist[histogram_bucket(100 * NSEC_PER_USEC)] = 6000;
	auto_threshold_next(&auto_threshold, hist, 90 * NSEC_PER_MSEC, 100, NSEC_PER_SEC);
	ok(auto_threshold.factor == 1, "that is taken back when it is calm again");
	return tap_status();
}
