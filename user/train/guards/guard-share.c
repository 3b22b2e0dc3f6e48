// SPDX-License-Identifier: GPL-2.0

#include "train/guards/guard-share.h"

#include "train/guards/timed.h"

/*
 * Mean hits a unit, learnt from, of all sites where events begin: these have
 * probes for the whole program, whatever the guards are.
 */
static double site_hits(const struct signatures *signatures, uint32_t loop)
{
	const struct samples *samples = signatures->samples;
	double hits = 0, units = (double)signatures->loop_units[loop];

	for (uint32_t i = 0; i < samples->nr_units; i++) {
		const struct samples_unit *unit = &samples->units[i];

		if (!unit->units[0] || signatures_loop(signatures, i) != loop)
			continue;
		for (uint32_t j = 0; j < unit->nr_hits; j++)
			if (signatures->is_site[unit->hits[j].function])
				hits += (double)unit->units[0] * unit->hits[j].count;
	}
	return units > 0 ? hits / units : 0;
}

/* To end a unit and begin the next one, in hits. */
static double end_hits(const struct samples_loop *loop)
{
	for (uint32_t i = 0; i < loop->nr_boundaries; i++)
		if (loop->boundaries[i].role != SAMPLES_ROLE_WAIT)
			return GUARD_SHARE_EVENT_HITS;
	return GUARD_SHARE_WAIT_HITS;
}

double guard_share_hits(const struct signatures *signatures, uint32_t loop, double budget,
			double hit_ns)
{
	double mean = timed_mean(signatures->samples, loop, hit_ns);
	double all = budget * mean / hit_ns, hits;

	if (mean <= 0)
		return GUARD_SHARE_HITS;
	hits = all - end_hits(&signatures->samples->loops[loop]) - site_hits(signatures, loop);
	if (hits < GUARD_SHARE_LEAST * all)
		hits = GUARD_SHARE_LEAST * all;
	return hits > GUARD_SHARE_MAX_HITS ? GUARD_SHARE_MAX_HITS : hits;
}
