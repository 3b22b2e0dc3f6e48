// SPDX-License-Identifier: GPL-2.0

#include "app/audit/auto-threshold.h"

#include "data/histogram.h"

/* Late units a second: what we aim at, and what is too many. */
#define WANTED_A_SECOND 2.0
#define TOO_MANY_A_SECOND 6.0

void auto_threshold_init(struct auto_threshold *auto_threshold)
{
	auto_threshold->units = 0;
	auto_threshold->late = 0;
	auto_threshold->factor = 1;
}

uint64_t auto_threshold_next(struct auto_threshold *auto_threshold,
			const uint64_t hist[PERFGUARD_HIST_BUCKETS],
			uint64_t max_ns, uint64_t late, uint64_t since_ns)
{
	double seconds = (double)since_ns / NSEC_PER_SEC;
	uint64_t units = 0, new_units, threshold_ns;
	double permille, late_rate;

	for (uint32_t i = 0; i < PERFGUARD_HIST_BUCKETS; i++)
		units += hist[i];
	new_units = units > auto_threshold->units ? units - auto_threshold->units : 0;
	late_rate = late > auto_threshold->late ? (double)(late - auto_threshold->late) / seconds : 0;
	auto_threshold->units = units;
	auto_threshold->late = late;
	if (!units || seconds <= 0)
		return AUTO_THRESHOLD_FIRST_NS;

	if (late_rate > TOO_MANY_A_SECOND && auto_threshold->factor < 1024)
		auto_threshold->factor *= 2;
	else if (late_rate < WANTED_A_SECOND && auto_threshold->factor > 1)
		auto_threshold->factor /= 2;

	/* The share of units that are to be late, but the upper half at most. */
	permille = 500;
	if ((double)new_units > 2 * WANTED_A_SECOND * seconds)
		permille = 1000 - 1000 * WANTED_A_SECOND * seconds /
					  (double)new_units;
	threshold_ns = histogram_percentile(hist, permille, max_ns);
	threshold_ns = (uint64_t)((double)threshold_ns * auto_threshold->factor);
	return threshold_ns > AUTO_THRESHOLD_FLOOR_NS ? threshold_ns : AUTO_THRESHOLD_FLOOR_NS;
}
