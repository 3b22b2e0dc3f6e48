// SPDX-License-Identifier: GPL-2.0

#include <string.h>

#include "servers.h"
#include "tap.h"
#include "train/gather-timing.h"
#include "units.h"

enum {
	CHECKS = 28,
};

/* Each boundary that is a call is a loop to the module; both files are the profile's. */
static void use_boundaries(struct sim *sim, const struct samples *profile, uint32_t image)
{
	struct trace *trace = &sim->trace;

	sim->has_contexts = true;
	trace->stage = TRACE_STAGE_TIMING;
	for (uint32_t i = 0; i < profile->nr_loops; i++) {
		for (uint32_t j = 0; j < profile->loops[i].nr_boundaries; j++) {
			const struct samples_boundary *boundary =
				&profile->loops[i].boundaries[j];
			struct trace_context row = {
				.image = image,
				.loop = 1 + trace->nr_contexts,
				.syscall = boundary->syscall,
				.object = boundary->object,
				.return_offset = boundary->return_offset,
				.distance = boundary->distance,
				.of_loop = i,
				.of_boundary = j,
			};

			if (boundary->role != SAMPLES_ROLE_EVENT_SITE)
				trace->contexts = sim_add(trace->contexts, &trace->nr_contexts,
							  sizeof(row), &row);
		}
	}
}

static uint32_t function_of(const struct samples *profile, char letter)
{
	for (uint32_t i = 0; i < profile->nr_functions; i++)
		if (profile->functions[i].name[0] == letter)
			return i;
	return SAMPLES_NONE;
}

/* The guards, and the functions that are boundaries, as letters. */
static void choose_sites(const struct samples *profile, const char *guards, char *sites)
{
	strcpy(sites, guards);
	for (uint32_t i = 0; i < profile->loops[0].nr_boundaries; i++) {
		const struct samples_boundary *boundary = &profile->loops[0].boundaries[i];
		char site[2] = "";

		if (boundary->role != SAMPLES_ROLE_EVENT_SITE)
			continue;
		site[0] = profile->functions[boundary->function].name[0];
		if (!strchr(sites, site[0]))
			strcat(sites, site);
	}
}

static bool is_met(const struct samples_unit *unit, const struct samples_hit *hit)
{
	for (uint32_t i = 0; i < unit->nr_hits; i++)
		if (unit->hits[i].function == hit->function && unit->hits[i].depth == hit->depth)
			return true;
	return false;
}

/* Is a variant's set of contexts with guards that of a timing? */
static bool is_same_set(const struct samples_unit *unit, const struct samples_timing *timing,
			const struct samples *timed)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < unit->nr_hits; i++)
		for (uint32_t j = 0; j < timed->guards[0].nr; j++)
			nr += unit->hits[i].function == timed->guards[0].functions[j];
	if (nr != timing->nr_hits)
		return false;
	for (uint32_t i = 0; i < timing->nr_hits; i++)
		if (!is_met(unit, &timing->hits[i]))
			return false;
	return true;
}

/* How often, and how long in all, the units with the contexts of a timing took. */
static void sums_of(const struct gathered *of, const struct samples_timing *timing,
		    const struct samples *timed, uint64_t nr[2], uint64_t ns[2])
{
	for (uint64_t i = 0; i < of->result.nr_units; i++) {
		const struct gather_unit *unit = &of->result.units[i];

		if (!is_same_set(&of->samples.units[unit->variant], timing, timed))
			continue;
		nr[unit->half]++;
		ns[unit->half] += unit->end_ns - unit->start_ns;
	}
}

/* A run with @guards alone tells the same units as @of, of a run with all sites. */
static void compare(const struct gathered *of, const struct sim *sim, const char *guards,
		    const char *name)
{
	uint32_t functions[32], nr_functions = 0;
	uint64_t all = 0, different = 0;
	struct samples timed;
	int error;

	for (; *guards; guards++)
		functions[nr_functions++] = function_of(&of->samples, *guards);
	error = gather_timing(&sim->trace, &of->samples, functions, nr_functions, &timed);
	if (!ok(!error, "%s: gathered", name)) {
		diag("%s", strerror(-error));
		return;
	}
	for (uint32_t i = 0; i < timed.nr_timings; i++) {
		const struct samples_timing *timing = &timed.timings[i];
		uint64_t nr[2] = { 0 }, ns[2] = { 0 };

		sums_of(of, timing, &timed, nr, ns);
		for (int half = 0; half < 2; half++) {
			all += timing->times[half].nr;
			different += timing->times[half].nr != nr[half] ||
				     timing->times[half].sum_ns != ns[half];
		}
	}
	is_number(all, of->result.nr_units, "as many units");
	is_number(different, 0, "which met the same contexts and took the same times");
	is_number(timed.loops[0].cut_off, of->samples.loops[0].cut_off, "as many are cut off");
	samples_deinit(&timed);
}

static void check(const char *functions, void (*run)(struct sim *), const char *guards,
		  const char *name)
{
	struct gathered of;
	char sites[64];
	struct sim sim;

	sim_init(&sim, functions);
	run(&sim);
	of = gathered_of(&sim.trace);
	sim_deinit(&sim);

	choose_sites(&of.samples, guards, sites);
	sim_init(&sim, sites);
	use_boundaries(&sim, &of.samples, 1);
	run(&sim);
	compare(&of, &sim, guards, name);
	gathered_deinit(&of);
	sim_deinit(&sim);
}

static void run_reading_worker(struct sim *sim)
{
	run_worker(sim, true);
}

static void run_silent_worker(struct sim *sim)
{
	run_worker(sim, false);
}

int main(void)
{
	plan(CHECKS);
	check("MLWABC", run_plain, "C", "plain loop");
	check("MLPWHRGSTUFabcdef", run_dispatch, "GSTUab", "dispatch");
	check("MLWHRGSabcdef", run_flat, "Ga", "flat dispatch");
	check("MLPWGSFabcdefgh", run_silent, "SFah", "events without a system call");
	check("MLQWJRabcdefghmu", run_reading_worker, "gm", "queue");
	check("MLQWJRabcdefghmu", run_silent_worker, "gh", "queue without reads");
	check("MLDNVKCabcdefghs", run_connection, "NVgs", "connection");
	return tap_status();
}
