// SPDX-License-Identifier: GPL-2.0

#include <string.h>

#include "servers.h"
#include "tap.h"
#include "train/samples/join.h"
#include "units.h"

enum {
	CHECKS = 72,
};

static void plain(void)
{
	static const struct tree_name names[] = { { 'b', "AB W" }, { 'c', "AB AC W" }, { 0 } };
	const struct extract_unit *unit;
	struct extracted of;
	struct sim sim;

	sim_init(&sim, "MLWABC");
	run_plain(&sim);
	of = extracted_of(&sim.trace);
	is_units(&of, 0, names, handled, "plain loop: a unit from each wait to the next");
	is_cut_by(&of, "w", "plain loop: the wait is its only boundary");
	is_number(of.samples.loops[0].cut_off, 1, "the last unit has no end");
	is_number(of.samples.loops[0].boundaries[0].rise, 8 + 16 * (1 + 'W' % 5) + 8,
		  "how far above the wait the loop's frame begins");
	is_number(of.samples.loops[0].function, 1, "L owns the loop");
	unit = &of.result.units[98];
	is_number(unit->end_ns - unit->start_ns, 5 * SIM_STEP_NS, "time of a unit");
	is_number(unit[0].start_ns - unit[-1].end_ns, SLEEP_NS + SIM_STEP_NS, "time between units");
	is_number((uint64_t)unit->fd, 5, "where it was read from");
	is_number(unit->hits, 4, "its hits");
	is_number(of.samples.nr_units, 2, "two variants");
	extracted_deinit(&of);
	sim_deinit(&sim);
}

/* As where the loop's function calls the C library's: no event shows that call. */
static void unseen_wait(void)
{
	struct extracted of;
	struct sim sim;

	sim_init(&sim, "MLABC");
	run_plain(&sim);
	of = extracted_of(&sim.trace);
	is_cut_by(&of, "w", "a wait function without a site: cut by the wait");
	is_number(of.samples.loops[0].boundaries[0].return_offset,
		  sim.trace.contexts[0].return_offset,
		  "a wait function without a site: known by its own call, not by one before");
	is_number(of.samples.loops[0].boundaries[0].rise, 8 + 16 * (1 + 'W' % 5) + 8,
		  "a wait function without a site: where the loop's frame begins");
	extracted_deinit(&of);
	sim_deinit(&sim);
}

static const struct tree_name dispatched[] = {
	{ 'G', "PHGa PHGb PHGc PHGd PHGe PHGf PHR" },
	{ 'S', "PHR PHSa PHSb PHSc PHSd PHSe PHSf" },
	{ 'T', "F PTU PW" },
	{ 0 },
};

static void dispatch(void)
{
	struct extracted of;
	struct sim sim;

	sim_init(&sim, "MLPWHRGSTUFabcdef");
	run_dispatch(&sim);
	of = extracted_of(&sim.trace);
	is_units(&of, 0, dispatched, handled, "dispatch: a unit an event, wherever it comes");
	is_cut_by(&of, "wc", "dispatch: cut at the read that each event begins with");
	is_number(of.samples.loops[0].cut_off, 0, "dispatch: the last unit ended");
	is_number(of.samples.nr_trees, 3, "dispatch: three trees");
	extracted_deinit(&of);
	sim_deinit(&sim);
}

static void flat(void)
{
	static const struct tree_name names[] = {
		{ 'G', "HGa HGb HGc HGd HGe HGf HR" },
		{ 'S', "HR HSa HSb HSc HSd HSe HSf" },
		{ 0 },
	};
	struct extracted of;
	struct sim sim;

	sim_init(&sim, "MLWHRGSabcdef");
	run_flat(&sim);
	of = extracted_of(&sim.trace);
	is_units(&of, 0, names, handled, "flat dispatch: a unit an event");
	is_cut_by(&of, "wc", "flat dispatch: cut at the read");
	is_number(of.samples.loops[0].cut_off, 1, "flat dispatch: the last unit has no end");
	extracted_deinit(&of);
	sim_deinit(&sim);
}

static uint64_t count_untimed(const struct extracted *of)
{
	uint64_t nr = 0;

	for (uint64_t i = 0; i < of->result.nr_units; i++)
		nr += of->result.units[i].is_untimed;
	return nr;
}

/* Recorded by jumps, hits have no time: units that they cut have none, and are the same. */
static void hits_without_time(void)
{
	uint64_t nr_units, nr_untimed;
	struct extracted of;
	struct sim sim;

	sim_init(&sim, "MLPWGSFabcdefgh");
	run_silent(&sim);
	of = extracted_of(&sim.trace);
	nr_units = of.result.nr_units;
	is_number(count_untimed(&of), 0, "hits with a time: all units have one");
	extracted_deinit(&of);
	sim.trace.is_inline = true;
	of = extracted_of(&sim.trace);
	nr_untimed = count_untimed(&of);
	is_number(of.result.nr_units, nr_units, "hits without a time: the same units");
	ok(nr_untimed && nr_untimed < nr_units, "hits without a time: those that they cut have none");
	extracted_deinit(&of);
	sim_deinit(&sim);

	sim_init(&sim, "MLWABC");
	run_plain(&sim);
	sim.trace.is_inline = true;
	of = extracted_of(&sim.trace);
	is_number(count_untimed(&of), 0, "hits without a time: waits cut, so all units have one");
	extracted_deinit(&of);
	sim_deinit(&sim);
}

static void silent_events(void)
{
	static const struct tree_name names[] = {
		{ 'G', "PGa PGb PGc PGd PGe PGf PGg PGh" },
		{ 'S', "PSa PSb PSc PSd PSe PSf PSg PSh" },
		{ 0 },
	};
	struct extracted of;
	struct sim sim;

	sim_init(&sim, "MLPWGSFabcdefgh");
	run_silent(&sim);
	of = extracted_of(&sim.trace);
	is_units(&of, 0, names, handled, "events without a system call: a unit each");
	is_cut_by(&of, "wss", "events without a system call: cut at their handlers");
	is_number(of.samples.functions[of.samples.loops[0].boundaries[1].function].name[0], 'G',
		  "events without a system call: the first handler");
	is_number(of.samples.functions[of.samples.loops[0].boundaries[2].function].name[0], 'S',
		  "events without a system call: the second handler");
	extracted_deinit(&of);
	sim_deinit(&sim);
}

static const struct tree_name jobs_by_read[] = {
	{ 'g', "JR Ja Jb Jc Jd Je Jf Jg" },
	{ 'h', "JR Ja Jb Jc Jd Je Jf Jh" },
	{ 0 },
};

/* The mark is u, the first that comes once a job and after the wait. */
static const struct tree_name jobs_by_function[] = {
	{ 'g', "JR Ja Jb Jc Jd Je Jf Jg Qu" },
	{ 'h', "JR Ja Jb Jc Jd Je Jf Jh Qu" },
	{ 0 },
};

static void queue(bool reads)
{
	const char *how = reads ? "queue: the read" : "queue: the function";
	struct extracted of;
	struct sim sim;

	sim_init(&sim, "MLQWJRabcdefghmu");
	run_worker(&sim, reads);
	of = extracted_of(&sim.trace);
	is_units(&of, 0, reads ? jobs_by_read : jobs_by_function, handled, reads ? "queue: a unit a job, by its read" :
						 "queue: a unit a job, by a function");
	is_cut_by(&of, reads ? "wc" : "ws", how);
	is_number(of.samples.loops[0].has_empty, true, how);
	is_number(of.samples.loops[0].cut_off, 0, how);
	extracted_deinit(&of);
	sim_deinit(&sim);
}

/* A thread in a loop of its own, which calls these for each of its events. */
static void run_beside(struct sim *sim, const char *functions)
{
	struct thread t;

	thread_start(&t, sim, PID, 8, 1, BASE);
	call_from(&t, 'M', BASE + SIM_LIBRARY + 8);
	call(&t, 'N', 1);
	for (uint32_t i = 0; i < 300; i++) {
		call(&t, 'V', 1 | LOOP);
		wait_call(&t, 2, SYS_read, 'V', 5, 1, SLEEP_NS);
		ret(&t);
		leaves(&t, functions, 2 | LOOP);
	}
	sim_finish(sim);
}

/* Jobs that come one by one except for each 20th. */
static void run_rare_backlog(struct sim *sim)
{
	struct thread t;

	sim_image(sim, 1, BASE);
	begin(&t, sim, 7);
	for (uint32_t i = 0; i < 200; i++) {
		call(&t, 'Q', 1 | LOOP);
		if (i % 20) {
			call(&t, 'W', 1);
			wait_call(&t, 1, SYS_futex, 'Q', 0, 0, SLEEP_NS);
			ret(&t);
		}
		ret(&t);
		call(&t, 'J', 2 | LOOP);
		leaves(&t, "abcdefgh", 1);
		ret(&t);
	}
	sim_finish(sim);
}

/*
 * The loop of thread 7 has this mark, or none (0), in addition to its wait; then some of its
 * events are said to be in one unit with others.
 */
static void is_marked_by(struct sim *sim, int expected, const char *name)
{
	struct extracted of = extracted_of(&sim->trace);
	uint64_t unmarked = 0;
	int mark = 0;

	is_number(of.samples.nr_loops, 2, name);
	for (uint32_t i = 0; i < of.samples.nr_loops; i++) {
		const struct samples_loop *loop = &of.samples.loops[i];

		unmarked += loop->unmarked;
		for (uint32_t j = 0; j < loop->nr_boundaries; j++)
			if (loop->boundaries[j].role == SAMPLES_ROLE_EVENT_SITE)
				mark = of.samples.functions[loop->boundaries[j].function].name[0];
	}
	is_number((uint64_t)mark, (uint64_t)expected, name);
	is_number(unmarked != 0, !expected, name);
	extracted_deinit(&of);
	sim_deinit(sim);
}

/* A mark that others come by costs them time. */
static void shared_mark(void)
{
	struct sim sim;

	sim_init(&sim, "MLQWJRabcdefghmuNV");
	run_worker(&sim, false);
	run_beside(&sim, "u");
	is_marked_by(&sim, 'J', "shared mark: what only this loop enters is better");

	sim_init(&sim, "MLQWJRabcdefghmuNV");
	run_worker(&sim, false);
	run_beside(&sim, "QJRabcdefghmu");
	is_marked_by(&sim, 'u', "shared mark: where all are, and half of the jobs need one");

	sim_init(&sim, "MLQWJabcdefghNV");
	run_rare_backlog(&sim);
	run_beside(&sim, "");
	is_marked_by(&sim, 'J', "rare backlog: a mark");

	sim_init(&sim, "MLQWJabcdefghNV");
	run_rare_backlog(&sim);
	run_beside(&sim, "QJabcdefgh");
	is_marked_by(&sim, 0, "rare backlog: none where others pay for it");
}

/* Several requests in what was taken from the queue, and connections to be closed. */
static void requests(void)
{
	static const struct tree_name names[] = {
		{ 'g', "JPa JPb JPc JPd JPe JPf JPg" },
		{ 'h', "JPa JPb JPc JPd JPe JPf JPh" },
		{ 0 },
	};
	struct extracted of;
	struct sim sim;

	sim_init(&sim, "MLQWJPZabcdefghmz");
	run_requests(&sim);
	of = extracted_of(&sim.trace);
	is_units(&of, 0, names, handled, "requests of a connection: a unit each, none for a close");
	is_cut_by(&of, "ws", "requests of a connection: cut by a function");
	is_number(of.samples.functions[of.samples.loops[0].boundaries[1].function].name[0], 'P',
		  "requests of a connection: the function that handles one");
	extracted_deinit(&of);
	sim_deinit(&sim);
}

static void connection(void)
{
	static const struct tree_name names[] = {
		{ 'g', "DCa DCb DCc DCd DCe DCf DCg DCh" },
		{ 's', "DCa DCb DCc DCd DCe DCf DCg DCs" },
		{ 0 },
	};
	struct extracted of;
	struct sim sim;

	sim_init(&sim, "MLDNVKCabcdefghs");
	run_connection(&sim);
	of = extracted_of(&sim.trace);
	is_units(&of, 0, names, handled, "connection: a unit a request, none for empty spans");
	is_cut_by(&of, "ws", "connection: cut at its poll and a function");
	is_number(of.samples.loops[0].boundaries[0].syscall, SYS_poll,
		  "connection: what never sleeps is no boundary");
	is_number(of.samples.functions[of.samples.loops[0].boundaries[1].function].name[0], 'C',
		  "connection: the function that handles a request");
	is_number(of.samples.loops[0].cut_off, 0, "connection: no unit is cut off");
	extracted_deinit(&of);
	sim_deinit(&sim);
}

/* Two waits, both the loop's own: what is between them is a unit, either way. */
static void process(void)
{
	static const struct tree_name names[] = {
		{ 'g', "CR Pa Pb Pc Pd Pe Pf Pg Ph" },
		{ 's', "CR Pa Pb Pc Pd Pe Pf Pg Ps" },
		{ 'z', "A Cz" },
		{ 0 },
	};
	struct extracted of;
	struct sim sim;

	sim_init(&sim, "MLAPCRzabcdefghs");
	run_process(&sim);
	of = extracted_of(&sim.trace);
	is_units(&of, 0, names, handled, "process: a unit a request, and one a close");
	is_cut_by(&of, "ww", "process: cut by both waits");
	is_number(of.samples.loops[0].cut_off, 0, "process: no unit is cut off");
	extracted_deinit(&of);
	sim_deinit(&sim);
}

/* One of the waits is seldom come to: what is no accident in it is measured by itself. */
static void seldom(void)
{
	struct extracted of;
	struct thread t;
	struct sim sim;

	sim_init(&sim, "MLAPCRzabcdefghs");
	sim_image(&sim, 1, BASE);
	begin(&t, &sim, 7);
	for (uint32_t i = 0; i < 700; i++) {
		call(&t, 'A', 1 | LOOP);
		wait_call(&t, 1, SYS_epoll_wait, 'A', 3, 1, SLEEP_NS);
		ret(&t);
		call(&t, 'P', 2 | LOOP);
		leaves(&t, "abcdefgh", 0);
		ret(&t);
		if (i % 350)
			continue;
		call(&t, 'C', 3 | LOOP);
		wait_call(&t, 1, SYS_futex, 'C', 0, 0, SLEEP_NS);
		ret(&t);
	}
	call(&t, 'A', 1 | LOOP);
	wait_known(&t, 1, SYS_epoll_wait, 'A');
	syscall_enter(&t, SYS_epoll_wait);
	sim_finish(&sim);
	of = extracted_of(&sim.trace);
	is_cut_by(&of, "ww", "seldom: cut by a wait that is one in 350, too");
	extracted_deinit(&of);
	sim_deinit(&sim);
}

/* Where idle threads sleep, none of a busy loop came while its calls were recorded. */
static void never(void)
{
	const struct samples_boundary *boundaries;
	struct extracted of;
	struct thread t;
	struct sim sim;

	sim_init(&sim, "MLAPCRzabcdefghs");
	sim_image(&sim, 1, BASE);
	begin(&t, &sim, 7);
	call(&t, 'C', 3 | LOOP);
	wait_known(&t, 1, SYS_futex, 'C');
	ret(&t);
	for (uint32_t i = 0; i < 20; i++) {
		call(&t, 'A', 1 | LOOP);
		wait_call(&t, 1, SYS_epoll_wait, 'A', 3, 1, SLEEP_NS);
		ret(&t);
		call(&t, 'P', 2 | LOOP);
		leaves(&t, "abcdefgh", 0);
		ret(&t);
	}
	sim_finish(&sim);
	of = extracted_of(&sim.trace);
	is_cut_by(&of, "ww", "never: cut by a wait that none came to, too");
	boundaries = of.samples.loops[0].boundaries;
	ok(of.samples.loops[0].nr_boundaries == 2 && boundaries[0].syscall == SYS_epoll_wait &&
	   boundaries[0].rise && boundaries[1].syscall == SYS_futex && !boundaries[1].rise &&
	   boundaries[1].return_offset == sim.trace.contexts[0].return_offset,
	   "never: known as it was found, and nothing of the frame by it");
	extracted_deinit(&of);
	sim_deinit(&sim);
}

/* A context that its loop's waits may have been identified by is none that no thread came to. */
static void unsure(void)
{
	struct extracted of;
	struct sim sim;

	sim_init(&sim, "MLWABC");
	run_plain(&sim);
	/* As of the same wait, known by its return address in a library. */
	sim.trace.contexts = realloc(sim.trace.contexts, 2 * sizeof(*sim.trace.contexts));
	sim.trace.contexts[1] = sim.trace.contexts[0];
	sim.trace.contexts[0].return_offset += 1;
	sim.trace.contexts[0].distance = 0;
	sim.trace.contexts[1].return_offset += 2;
	sim.trace.contexts[1].distance = 8;
	sim.trace.nr_contexts = 2;
	of = extracted_of(&sim.trace);
	is_cut_by(&of, "w", "unsure: cut by one wait, as its loop's function calls it");
	extracted_deinit(&of);
	sim_deinit(&sim);
}

/* The halves are as samples_half() has them, and all sums agree. */
static void halves(void)
{
	uint64_t trees[2] = { 0 }, variants[2] = { 0 }, wrong = 0, nr;
	struct extracted of;
	struct sim sim;

	sim_init(&sim, "MLPWHRGSTUFabcdef");
	run_dispatch(&sim);
	of = extracted_of(&sim.trace);
	nr = of.result.nr_units;
	for (uint64_t i = 0; i < nr; i++)
		wrong += of.result.units[i].half != samples_half(i, nr);
	for (uint32_t i = 0; i < of.samples.nr_trees; i++)
		for (int half = 0; half < 2; half++)
			trees[half] += of.samples.trees[i].units[half];
	for (uint32_t i = 0; i < of.samples.nr_units; i++)
		for (int half = 0; half < 2; half++)
			variants[half] += of.samples.units[i].units[half];
	is_number(wrong, 0, "each unit is in its half");
	is_number(of.samples.loops[0].units, nr, "the loop has all units");
	is_number(trees[0] + trees[1], nr, "the trees have all units");
	ok(trees[0] && trees[1] && trees[0] == variants[0] && trees[1] == variants[1],
	   "trees and variants agree on the halves");
	extracted_deinit(&of);
	sim_deinit(&sim);
}

/* More variants and trees than a profile keeps, each a subset of 15 calls. */
static void many_variants(void)
{
	enum { UNITS = 21000 };
	struct samples joined = { 0 };
	struct extracted of;
	struct thread t;
	struct sim sim;

	sim_init(&sim, "MLWabcdefghijklmno");
	sim_image(&sim, 1, BASE);
	begin(&t, &sim, 7);
	for (uint32_t i = 0; i <= UNITS; i++) {
		call(&t, 'W', 1 | LOOP);
		wait_call(&t, 1, SYS_read, 'W', 5, 1, SLEEP_NS);
		ret(&t);
		for (uint32_t bit = 0; bit < 15; bit++)
			if (i >> bit & 1)
				leaf(&t, 'a' + (int)bit, 2 + bit);
	}
	sim_finish(&sim);
	of = extracted_of(&sim.trace);
	is_number(of.samples.nr_trees, UNITS, "many: each unit is a tree of its own");
	is_number(of.samples.nr_units, UNITS, "many: and a variant of its own");
	ok(!samples_join(&joined, &of.samples), "many: they are joined to a profile");
	is_number(joined.nr_units, SAMPLES_MAX_UNITS, "many: which keeps so many variants");
	is_number(joined.loops[0].units, UNITS, "many: but knows of all units");
	samples_deinit(&joined);
	extracted_deinit(&of);
	sim_deinit(&sim);
}

int main(void)
{
	plan(CHECKS);
	plain();
	unseen_wait();
	dispatch();
	flat();
	silent_events();
	hits_without_time();
	queue(true);
	queue(false);
	shared_mark();
	requests();
	connection();
	process();
	seldom();
	never();
	unsure();
	halves();
	many_variants();
	return tap_status();
}
