// SPDX-License-Identifier: GPL-2.0

#include "app/learn/enough.h"

#include <inttypes.h>

#include "app/common/command.h"
#include "base/log.h"

/* What some timers of an idle server make in a training, and too few for any limit. */
#define LEAST_UNITS 30

static uint64_t seen_units(const struct samples *samples)
{
	uint64_t units = 0;

	for (uint32_t i = 0; i < samples->nr_loops; i++)
		units += samples->loops[i].units;
	return units;
}

static uint64_t timed_units_of(const struct samples *samples)
{
	uint64_t units = 0;

	for (uint32_t i = 0; i < samples->nr_timings; i++)
		for (int half = 0; half < 2; half++)
			units += samples->timings[i].times[half].of[SAMPLES_OWN].nr;
	return units;
}

static int judge(const char *stage, uint64_t units, uint64_t all, const char *advice)
{
	if (units && all >= LEAST_UNITS)
		return 0;
	log_error("too little to learn from: %" PRIu64 " unit%s in the stage of %s, and it takes %d; %s",
		  units, units == 1 ? " was seen" : "s were seen", stage, LEAST_UNITS, advice);
	return CMD_FAILED;
}

int enough_structure(const struct samples *run, const struct samples *all)
{
	return judge("structure", seen_units(run), seen_units(all),
		     "is there a load on the program?  If it is a small one, train for longer (--duration)");
}

int enough_timing(const struct samples *run, const struct samples *all)
{
	return judge("timing", timed_units_of(run), timed_units_of(all),
		     "the load has to last until units were timed");
}
