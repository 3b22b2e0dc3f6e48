// SPDX-License-Identifier: GPL-2.0

#include "allowance.h"

#include "timed.h"

/* Is there a probe at @function, where events of @loop begin? */
static bool is_site(const struct samples_loop *loop, uint32_t function)
{
	for (uint32_t i = 0; i < loop->nr_boundaries; i++)
		if (loop->boundaries[i].role == SAMPLES_ROLE_EVENT_SITE &&
		    loop->boundaries[i].function == function)
			return true;
	return false;
}

static uint32_t count_hits(const struct samples_loop *loop, const struct samples_unit *unit)
{
	uint32_t hits = 0;

	for (uint32_t i = 0; i < unit->nr_hits; i++)
		if (is_site(loop, unit->hits[i].function))
			hits += unit->hits[i].count;
	return hits;
}

/* Mean hits a unit, learnt from, of the sites where events begin: they are hit with any guards. */
static double site_hits(const struct signatures *signatures, uint32_t loop)
{
	const struct samples *samples = signatures->samples;
	double hits = 0, units = (double)signatures->loop_units[0][loop];

	for (uint32_t i = 0; i < samples->nr_units; i++)
		if (signatures_loop(signatures, i) == loop)
			hits += (double)samples->units[i].units[0] *
				count_hits(&samples->loops[loop], &samples->units[i]);
	return units > 0 ? hits / units : 0;
}

double allowance_hits(const struct signatures *signatures, uint32_t loop, double budget,
		      double hit_ns)
{
	double mean = timed_mean(signatures->samples, loop, hit_ns);
	double all = budget * mean / hit_ns, hits;

	if (mean <= 0)
		return ALLOWANCE_HITS;
	hits = all - ALLOWANCE_UNIT_HITS - site_hits(signatures, loop);
	if (hits < ALLOWANCE_LEAST * all)
		hits = ALLOWANCE_LEAST * all;
	return hits > ALLOWANCE_MAX_HITS ? ALLOWANCE_MAX_HITS : hits;
}
