// SPDX-License-Identifier: GPL-2.0
/* Threads that live for one unit, among those of loops. */

#include <errno.h>
#include <sys/syscall.h>

#include "tap.h"
#include "train/trace/life.h"
#include "units.h"

enum {
	CHECKS = 16,
	LIVES = 24,
	BASE = 0x550000000000,
	FIRST_TID = 100,
};

static const struct tree_name trees[] = { { 'a', "HA" }, { 'b', "HB" }, { 0 } };

/* The start of what the module saw start, and wrote with the thread's first event. */
static void start_born(struct thread *t, struct sim *sim, uint32_t tid)
{
	struct perfguard_event *event;

	thread_start(t, sim, 7, tid, 1, BASE);
	event = &sim->trace.events[sim->trace.nr_events - 1];
	event->what |= 1;
	event->time_ns = sim->now_ns + SIM_STEP_NS - 1;
}

/* A loop L that waits in W, the context of loop 1. */
static void run_loop(struct sim *sim, int turns)
{
	struct thread t;

	thread_start(&t, sim, 7, 7, 1, BASE);
	call(&t, 'L', 0);
	for (int i = 0; i < turns; i++) {
		call(&t, 'W', 0 | LOOP);
		wait_call(&t, 1, SYS_accept, 'W', 3, 4, 1000);
		ret(&t);
		leaf(&t, 'C', 1);
	}
	thread_end(&t);
}

/* It does what its number says, after so many waits of loop 2. */
static void run_life(struct sim *sim, uint32_t tid, int waits, bool ends)
{
	struct thread t;

	start_born(&t, sim, tid);
	call(&t, 'H', 0);
	for (int i = 0; i < waits; i++) {
		call(&t, 'R', 0);
		wait_call(&t, 2, SYS_read, 'R', 5, 8, 1000);
		ret(&t);
		leaf(&t, tid % 2 ? 'A' : 'B', 1);
	}
	if (!waits)
		leaf(&t, tid % 2 ? 'A' : 'B', 1);
	ret(&t);
	if (ends)
		thread_end(&t);
}

/* What lives_add() makes of a loop and so many threads that each wait so often. */
static struct extracted run(struct sim *sim, uint32_t nr, int waits, bool end)
{
	sim_init(sim, "LWCHAB");
	sim_image(sim, 1, BASE);
	run_loop(sim, 40);
	for (uint32_t i = 0; i < nr; i++)
		run_life(sim, FIRST_TID + i, waits, end);
	sim_finish(sim);
	if (lives_add(&sim->trace)) {
		puts("Bail out! lives_add");
		exit(1);
	}
	return extracted_of(&sim->trace);
}

static const struct samples_loop *loop_of_lives(const struct samples *samples)
{
	for (uint32_t i = 0; i < samples->nr_loops; i++)
		for (uint32_t j = 0; j < samples->loops[i].nr_boundaries; j++)
			if (samples->loops[i].boundaries[j].role == SAMPLES_ROLE_START_SITE)
				return &samples->loops[i];
	return NULL;
}

static void given(void)
{
	struct sim sim;
	struct extracted of = run(&sim, LIVES, 0, true);
	const struct samples_loop *loop = loop_of_lives(&of.samples);

	ok(of.samples.nr_loops == 2 && loop, "threads that wait for nothing: a loop of lives");
	ok(loop && loop->nr_boundaries == 1 &&
		   of.samples.functions[loop->boundaries[0].function].name[0] == 'H',
	   "it is known by the function that they start with");
	is_number(loop ? loop->units : 0, LIVES, "each is a unit");
	is_units(&of, FIRST_TID, trees, "b", "its call tree is what it calls");
	is_units(&of, FIRST_TID + 1, trees, "a", "and is its own");
	ok(of.samples.loops[0].units == 39 || of.samples.loops[1].units == 39,
	   "the other loop has its units");
	ok(of.samples.nr_units >= 2 && of.result.units[0].end_ns > of.result.units[0].start_ns,
	   "they take time");
	extracted_deinit(&of);
	sim_deinit(&sim);
}

static void reading(void)
{
	struct sim sim;
	struct extracted of = run(&sim, LIVES, 1, true);
	const struct samples_loop *loop = loop_of_lives(&of.samples);

	ok(of.samples.nr_loops == 2 && loop, "threads that wait once: that wait is no loop's");
	is_number(loop ? loop->units : 0, LIVES, "each is a unit, with its wait");
	is_units(&of, FIRST_TID + 1, trees, "a", "of what it does after that");
	extracted_deinit(&of);
	sim_deinit(&sim);
}

static void none(void)
{
	struct sim sim;
	struct extracted of = run(&sim, LIVES, 3, true);

	ok(!loop_of_lives(&of.samples), "threads that come back to a wait are in a loop");
	extracted_deinit(&of);
	sim_deinit(&sim);
	of = run(&sim, 8, 0, true);
	ok(!loop_of_lives(&of.samples), "a few threads are helpers");
	extracted_deinit(&of);
	sim_deinit(&sim);
	of = run(&sim, LIVES, 0, false);
	ok(!loop_of_lives(&of.samples), "threads that do not end are not known to");
	extracted_deinit(&of);
	sim_deinit(&sim);
}

/* Known before the stage: where it started was not seen. */
static void known_before(void)
{
	struct extracted of;
	struct sim sim;

	sim_init(&sim, "LWCHAB");
	sim_image(&sim, 1, BASE);
	run_loop(&sim, 40);
	for (uint32_t i = 0; i < LIVES; i++)
		run_life(&sim, FIRST_TID + i, 0, true);
	for (size_t i = 0; i < sim.trace.nr_events; i++)
		if (trace_kind(&sim.trace.events[i]) == PERFGUARD_EVENT_KIND_START)
			sim.trace.events[i].time_ns -= 10;
	sim_finish(&sim);
	ok(!lives_add(&sim.trace), "threads that were there before");
	of = extracted_of(&sim.trace);
	ok(!loop_of_lives(&of.samples), "are none");
	extracted_deinit(&of);
	sim_deinit(&sim);
}

/* A trace may be anybody's. */
static void damaged(void)
{
	struct samples samples;
	struct sim sim;
	struct extracted of = run(&sim, LIVES, 0, true);

	extracted_deinit(&of);
	for (uint32_t i = 0; i < sim.trace.nr_contexts; i++)
		if (life_is_context(&sim.trace.contexts[i]))
			sim.trace.contexts[i].return_offset++;
	ok(extract_samples(&sim.trace, &samples, NULL) == -EBADMSG,
	   "a start that is no function: refused");
	sim_deinit(&sim);
}

int main(void)
{
	plan(CHECKS);
	given();
	reading();
	none();
	known_before();
	damaged();
	return tap_status();
}
