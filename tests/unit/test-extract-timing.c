// SPDX-License-Identifier: GPL-2.0

#include <string.h>

#include "guarded.h"
#include "servers.h"
#include "tap.h"
#include "train/samples/extract-timing.h"
#include "units.h"

enum {
	CHECKS = 35,
};

static uint64_t nr_timed(const struct samples_timing *timing)
{
	return timing->times[0].of[SAMPLES_OWN].nr + timing->times[1].of[SAMPLES_OWN].nr;
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

/* True if a variant's set of contexts with guards is that of a timing. */
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
static void sums_of(const struct extracted *of, const struct samples_timing *timing,
		    const struct samples *timed, uint64_t nr[2], uint64_t ns[2])
{
	for (uint64_t i = extract_warm_up(of->result.nr_units); i < of->result.nr_units; i++) {
		const struct extract_unit *unit = &of->result.units[i];

		if (!is_same_set(&of->samples.units[unit->variant], timing, timed))
			continue;
		nr[unit->half]++;
		ns[unit->half] += unit->end_ns - unit->start_ns;
	}
}

/* Timings of units that met other contexts, or took other times, than in @of. */
static uint64_t count_different(const struct extracted *of, const struct samples *timed,
				uint64_t *ret_all)
{
	uint64_t different = 0;

	*ret_all = 0;
	for (uint32_t i = 0; i < timed->nr_timings; i++) {
		const struct samples_timing *timing = &timed->timings[i];
		uint64_t nr[2] = { 0 }, ns[2] = { 0 };

		sums_of(of, timing, timed, nr, ns);
		for (int half = 0; half < 2; half++) {
			*ret_all += timing->times[half].of[SAMPLES_OWN].nr;
			different += timing->times[half].of[SAMPLES_OWN].nr != nr[half] ||
				     timing->times[half].of[SAMPLES_OWN].sum_ns != ns[half];
		}
	}
	return different;
}

/* A guarded run reports the same units as @of, of a run with all sites. */
static void compare(const struct extracted *of, const struct trace *trace, const char *name)
{
	uint64_t all = 0, different;
	struct samples timed;
	int error = extract_timing(trace, &of->samples, &timed);

	if (!ok(!error, "%s: gathered", name)) {
		diag("%s", strerror(-error));
		return;
	}
	different = count_different(of, &timed, &all);
	is_number(all, of->result.nr_units - extract_warm_up(of->result.nr_units),
		  "as many units but the first");
	is_number(different, 0, "which met the same contexts and took the same times");
	ok(timed.loops[0].cut_off <= of->samples.loops[0].cut_off, "no more are cut off");
	samples_deinit(&timed);
}

/* A run with sites everywhere, and a guarded one with @guards. */
static void simulate(const char *functions, void (*run)(struct sim *), const char *guards,
		     struct extracted *of, struct sim *sim)
{
	struct guarded guarded;
	char sites[64];

	sim_init(sim, functions);
	run(sim);
	*of = extracted_of(&sim->trace);
	sim_deinit(sim);

	choose_sites(&of->samples, guards, sites);
	sim_init(sim, sites);
	guarded_init(&guarded, sim, &of->samples, 1);
	run(sim);
	guarded_finish(&guarded);
}

static void check(const char *functions, void (*run)(struct sim *), const char *guards,
		  const char *name)
{
	struct extracted of;
	struct sim sim;

	simulate(functions, run, guards, &of, &sim);
	compare(&of, &sim.trace, name);
	extracted_deinit(&of);
	sim_deinit(&sim);
}

/* Events @from to @to found no room, which the next one on their CPU reports. */
static void lose(struct trace *trace, size_t from, size_t to)
{
	struct perfguard_event *events = trace->events;
	struct perfguard_event lost = {
		.time_ns = events[to].time_ns,
		.value = to - from,
		.what = (uint32_t)PERFGUARD_EVENT_KIND_LOST << TRACE_KIND_SHIFT,
	};

	memmove(&events[from], &events[to], (trace->nr_events - to) * sizeof(*events));
	trace->nr_events -= to - from;
	trace->lost += to - from;
	if (trace_add(trace, &lost, 1) || trace_sort(trace))
		abort();
}

static bool is_met_by_none(const struct extracted *of, const struct samples_timing *timing,
			   const struct samples *timed)
{
	for (uint32_t i = 0; i < of->samples.nr_units; i++)
		if (is_same_set(&of->samples.units[i], timing, timed))
			return false;
	return true;
}

/* Wherever events are lost, no unit is reported that was none. */
static void losses(void)
{
	uint32_t invented = 0, tried = 0, not_counted = 0;
	struct extracted of;
	struct sim sim;

	simulate("MLPWHRGSTUFabcdef", run_dispatch, "GSTUab", &of, &sim);
	for (size_t from = 3; from + 50 < sim.trace.nr_events; from += 7) {
		struct trace trace = sim.trace;
		uint64_t all = 0;
		struct samples timed;

		trace.events = malloc(trace.nr_events * sizeof(*trace.events));
		memcpy(trace.events, sim.trace.events, trace.nr_events * sizeof(*trace.events));
		trace.max_events = trace.nr_events;
		lose(&trace, from, from + 1 + from % 20);
		if (extract_timing(&trace, &of.samples, &timed))
			abort();
		for (uint32_t i = 0; i < timed.nr_timings; i++) {
			all += nr_timed(&timed.timings[i]);
			invented += is_met_by_none(&of, &timed.timings[i], &timed);
		}
		tried++;
		not_counted += all >= of.result.nr_units || all + 22 < of.result.nr_units ||
			    !timed.loops[0].cut_off;
		samples_deinit(&timed);
		free(trace.events);
	}
	is_number(invented, 0, "after a loss, no unit has contexts that units do not have");
	is_number(not_counted, 0, "the units around it are left out, and counted");
	diag("%u losses", tried);
	extracted_deinit(&of);
	sim_deinit(&sim);
}

static void emit(struct thread *t, enum perfguard_event_kind kind, uint64_t sp)
{
	sim_pass(t, SIM_STEP_NS);
	sim_tell(t, kind, 0, sp, SIM_STEP_NS);
}

/* A thread of the plain loop, guarded at A, whose events the caller makes; what was learnt. */
static struct extracted guard_by_hand(struct sim *sim, struct thread *t)
{
	struct extracted of;

	sim_init(sim, "MLWABC");
	run_plain(sim);
	of = extracted_of(&sim->trace);
	sim_deinit(sim);
	sim_init(sim, "A");
	sim->trace.loops = sim_add(NULL, &sim->trace.nr_loops, sizeof(*sim->trace.loops),
				   &of.samples.loops[0].hash);
	thread_start(t, sim, PID, 7, 1, BASE);
	return of;
}

/* What met contexts and was no unit after all leaves nothing to the next one. */
static void empty(void)
{
	static const uint64_t unit = UINT64_C(1) << 32;
	struct extracted of;
	struct samples timed;
	struct thread t;
	struct sim sim;

	of = guard_by_hand(&sim, &t);
	emit(&t, PERFGUARD_EVENT_KIND_GUARD, 8);
	emit(&t, PERFGUARD_EVENT_KIND_UNIT, unit | GUARDED_NONE);
	emit(&t, PERFGUARD_EVENT_KIND_GUARD, 16);
	emit(&t, PERFGUARD_EVENT_KIND_UNIT, unit);
	if (extract_timing(&sim.trace, &of.samples, &timed))
		abort();
	ok(timed.nr_timings == 1 && timed.timings[0].nr_hits == 1 &&
	   timed.timings[0].hits[0].depth == 16 && timed.timings[0].nr_contexts_hit == 1 &&
	   nr_timed(&timed.timings[0]) == 1,
	   "between two waits without an event there is no unit");
	samples_deinit(&timed);
	extracted_deinit(&of);
	sim_deinit(&sim);
}

static uint64_t sum_of(const struct samples_timing *timing, enum samples_part part)
{
	return timing->times[0].of[part].sum_ns + timing->times[1].of[part].sum_ns;
}

/* Where the time of units went: of a calm one, of one with an account, and of one without. */
static void accounts(void)
{
	static const uint64_t unit = UINT64_C(1) << 32, has_account = UINT64_C(1) << 61;
	const struct samples_timing *timing;
	struct extracted of;
	struct samples timed;
	struct thread t;
	struct sim sim;

	of = guard_by_hand(&sim, &t);
	sim_pass(&t, 10000);
	sim_tell(&t, PERFGUARD_EVENT_KIND_UNIT, 0, unit | has_account, 10000);
	sim_pass(&t, 10000);
	sim_tell(&t, PERFGUARD_EVENT_KIND_ACCOUNT, 2, 3000, 5000);
	sim_tell(&t, PERFGUARD_EVENT_KIND_UNIT, 0, unit | has_account, 10000);
	sim_pass(&t, 10000);
	sim_tell(&t, PERFGUARD_EVENT_KIND_UNIT, 0, unit, 10000);
	if (extract_timing(&sim.trace, &of.samples, &timed))
		abort();
	timing = &timed.timings[0];
	ok(timed.nr_timings == 1 && nr_timed(timing) == 3 &&
	   timing->times[0].of[SAMPLES_CPU].nr + timing->times[1].of[SAMPLES_CPU].nr == 2,
	   "of a unit without an account only its own time is known");
	ok(sum_of(timing, SAMPLES_OWN) == 27000 && sum_of(timing, SAMPLES_CPU) == 15000 &&
	   sum_of(timing, SAMPLES_BLOCKED) == 2000 && sum_of(timing, SAMPLES_BLOCK_IO) == 512,
	   "what an account says is in each part, and the run queue in none");
	samples_deinit(&timed);
	extracted_deinit(&of);
	sim_deinit(&sim);
}

static uint64_t requests_of(const struct samples_timing *timing)
{
	return timing->times[0].requests[0].nr + timing->times[1].requests[0].nr;
}

static uint64_t request_part_of(const struct samples_timing *timing, enum perfguard_request_part part)
{
	return timing->times[0].requests[part - 1].sum_ns + timing->times[1].requests[part - 1].sum_ns;
}

/* A unit that met a context at this depth. */
static void emit_unit(struct thread *t, uint64_t depth)
{
	emit(t, PERFGUARD_EVENT_KIND_GUARD, depth);
	emit(t, PERFGUARD_EVENT_KIND_UNIT, UINT64_C(1) << 32);
}

static void emit_request(struct thread *t, enum perfguard_event_kind kind, uint32_t connection,
			 uint64_t elapsed_ns)
{
	sim_pass(t, SIM_STEP_NS);
	sim_tell(t, kind, connection, 0, elapsed_ns);
}

/* Requests count with the unit that has read them, wherever they end; of two connections here. */
static void requests(void)
{
	struct extracted of;
	struct samples timed;
	struct thread t;
	struct sim sim;

	of = guard_by_hand(&sim, &t);
	emit_request(&t, PERFGUARD_EVENT_KIND_REQUEST_READ, 5, 0);
	emit_unit(&t, 8);
	emit_request(&t, PERFGUARD_EVENT_KIND_REQUEST_READ, 6, 0);
	emit_unit(&t, 16);
	/* The next one of either is read by the other unit. */
	sim_pass(&t, SIM_STEP_NS);
	sim_tell(&t, PERFGUARD_EVENT_KIND_REQUEST_PARTS, 6, 400, 250);
	emit_request(&t, PERFGUARD_EVENT_KIND_REQUEST_RUNQUEUE, 6, 100);
	emit_request(&t, PERFGUARD_EVENT_KIND_REQUEST, 6, 800);
	emit_request(&t, PERFGUARD_EVENT_KIND_REQUEST_READ, 6, 0);
	emit_unit(&t, 8);
	emit_request(&t, PERFGUARD_EVENT_KIND_REQUEST, 5, 300);
	emit_request(&t, PERFGUARD_EVENT_KIND_REQUEST_READ, 5, 0);
	emit_unit(&t, 16);
	/* Nobody has seen this one being read. */
	emit_request(&t, PERFGUARD_EVENT_KIND_REQUEST, 7, 900);
	emit_request(&t, PERFGUARD_EVENT_KIND_REQUEST, 6, 500);
	emit_unit(&t, 8);
	if (extract_timing(&sim.trace, &of.samples, &timed))
		abort();
	for (uint32_t i = 0; i < timed.nr_timings; i++) {
		const struct samples_timing *timing = &timed.timings[i];
		uint64_t sum = request_part_of(timing, PERFGUARD_REQUEST_PART_ALL);

		if (timing->hits[0].depth == 8)
			ok(requests_of(timing) == 2 && sum == 800,
			   "requests count with the unit that has read them");
		else
			ok(requests_of(timing) == 1 && sum == 700 &&
			   request_part_of(timing, PERFGUARD_REQUEST_PART_WORKING) == 150 &&
			   request_part_of(timing, PERFGUARD_REQUEST_PART_PEERS) == 400 &&
			   request_part_of(timing, PERFGUARD_REQUEST_PART_HELD) == 50,
			   "whichever reads the next one, and in parts where those are known");
	}
	samples_deinit(&timed);
	extracted_deinit(&of);
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
	losses();
	empty();
	accounts();
	requests();
	return tap_status();
}
