// SPDX-License-Identifier: GPL-2.0

#include <errno.h>
#include <sys/syscall.h>

#include "tap.h"
#include "train/gather.h"
#include "units.h"

enum {
	CHECKS = 46,
	PID = 100,
	SLEEP_NS = 1000,
};

#define BASE UINT64_C(0x555500000000)

/* The units that are to be found, as letters; written while the program runs. */
static char expected[1 << 16];

static void expect(char unit)
{
	size_t length = strlen(expected);

	expected[length] = unit;
	expected[length + 1] = '\0';
}

/* A thread in the loop's function L, which M has called. */
static void begin(struct thread *t, struct sim *sim, uint32_t tid)
{
	*expected = '\0';
	thread_start(t, sim, PID, tid, 1, BASE);
	call_from(t, 'M', BASE + SIM_LIBRARY + 8);
	call(t, 'L', 0);
}

/* The one loop's boundaries by role, as the letters w, c and s. */
static void is_cut_by(const struct gathered *of, const char *roles, const char *name)
{
	static const char letters[] = { 'w', 'c', 's' };
	const struct samples_loop *loop = of->samples.loops;
	char got[16] = "";

	for (uint32_t i = 0; i < loop->nr_boundaries && i < 15; i++)
		got[i] = letters[loop->boundaries[i].role];
	if (!ok(of->samples.nr_loops == 1 && !strcmp(got, roles), "%s", name))
		diag("%u loops, boundaries '%s', expected '%s'", of->samples.nr_loops, got, roles);
}

/* Wait for one event, handle it. */
static void run_plain(struct sim *sim)
{
	struct thread t;

	sim_image(sim, 1, BASE);
	begin(&t, sim, 7);
	for (uint32_t i = 0; i < 100; i++) {
		call(&t, 'W', 1 | LOOP);
		wait_call(&t, 1, SYS_read, 'W', 5, 1, SLEEP_NS);
		ret(&t);
		call(&t, 'A', 2 | LOOP);
		leaf(&t, 'B', 0);
		if (i >= 50)
			leaf(&t, 'C', 1);
		ret(&t);
		if (i < 99)
			expect(i < 50 ? 'b' : 'c');
	}
	thread_end(&t);
	sim_finish(sim);
}

static void plain(void)
{
	static const struct tree_name names[] = { { 'b', "AB W" }, { 'c', "AB AC W" }, { 0 } };
	const struct gather_unit *unit;
	struct gathered of;
	struct sim sim;

	sim_init(&sim, "MLWABC");
	run_plain(&sim);
	of = gathered_of(&sim.trace);
	is_units(&of, 0, names, expected, "plain loop: a unit from each wait to the next");
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
	gathered_deinit(&of);
	sim_deinit(&sim);
}

/*
 * As redis: L calls P, which waits in W, and then calls a handler for each
 * event, indirectly and in a loop.  F writes out all replies; T runs timers.
 */
static void handle(struct thread *t, int what)
{
	call(t, 'H', 3 | INDIRECT | LOOP);
	call(t, 'R', 0);
	system_call(t, SYS_read, 10, 30);
	ret(t);
	call(t, what, 1 | INDIRECT);
	leaves(t, "abcdef", 0);
	ret(t);
	ret(t);
	expect((char)what);
}

static void iterate(struct thread *t, const char *events, bool with_timer)
{
	call(t, 'P', 0 | LOOP);
	call(t, 'W', 1);
	wait_call(t, 1, SYS_epoll_wait, 'P', 3, 1, SLEEP_NS);
	ret(t);
	if (!*events)
		expect('T');
	for (; *events; events++)
		handle(t, *events);
	if (with_timer) {
		call(t, 'T', 4);
		leaf(t, 'U', 0 | INDIRECT | LOOP);
		ret(t);
	}
	ret(t);
	leaf(t, 'F', 5 | LOOP);
}

static const struct tree_name dispatched[] = {
	{ 'G', "PHGa PHGb PHGc PHGd PHGe PHGf PHR" },
	{ 'S', "PHR PHSa PHSb PHSc PHSd PHSe PHSf" },
	{ 'T', "F PTU PW" },
	{ 0 },
};

static void run_dispatch(struct sim *sim)
{
	static const char *const mixes[] = { "G", "GS", "SG", "SGS", "SSGS", "" };
	struct thread t;

	sim_image(sim, 1, BASE);
	begin(&t, sim, 7);
	for (uint32_t i = 0; i < 120; i++)
		iterate(&t, mixes[i % 6], i % 6 == 5 || i % 7 == 3);
	call(&t, 'P', 0 | LOOP);
	call(&t, 'W', 1);
	syscall_enter(&t, SYS_epoll_wait);
	thread_end(&t);
	sim_finish(sim);
}

static void dispatch(void)
{
	struct gathered of;
	struct sim sim;

	sim_init(&sim, "MLPWHRGSTUFabcdef");
	run_dispatch(&sim);
	of = gathered_of(&sim.trace);
	is_units(&of, 0, dispatched, expected, "dispatch: a unit an event, wherever it comes");
	is_cut_by(&of, "wc", "dispatch: cut at the read that each event begins with");
	is_number(of.samples.loops[0].cut_off, 0, "dispatch: the last unit ended");
	is_number(of.samples.nr_trees, 3, "dispatch: three trees");
	gathered_deinit(&of);
	sim_deinit(&sim);
}

/* As libevent: L itself dispatches. */
static void run_flat(struct sim *sim)
{
	static const char *const mixes[] = { "G", "GS", "SG", "SGS", "SSGS" };
	struct thread t;

	sim_image(sim, 1, BASE);
	begin(&t, sim, 7);
	for (uint32_t i = 0; i < 200; i++) {
		call(&t, 'W', 1 | INDIRECT | LOOP);
		wait_call(&t, 1, SYS_epoll_wait, 'W', 3, 1, SLEEP_NS);
		ret(&t);
		for (const char *event = mixes[i % 5]; *event; event++)
			handle(&t, *event);
	}
	thread_end(&t);
	sim_finish(sim);
}

static void flat(void)
{
	static const struct tree_name names[] = {
		{ 'G', "HGa HGb HGc HGd HGe HGf HR" },
		{ 'S', "HR HSa HSb HSc HSd HSe HSf" },
		{ 0 },
	};
	struct gathered of;
	struct sim sim;

	sim_init(&sim, "MLWHRGSabcdef");
	run_flat(&sim);
	of = gathered_of(&sim.trace);
	/* The last has no end. */
	expected[strlen(expected) - 1] = '\0';
	is_units(&of, 0, names, expected, "flat dispatch: a unit an event");
	is_cut_by(&of, "wc", "flat dispatch: cut at the read");
	is_number(of.samples.loops[0].cut_off, 1, "flat dispatch: the last unit has no end");
	gathered_deinit(&of);
	sim_deinit(&sim);
}

/* Events that begin with no system call: the handlers' entries tell them apart. */
static void handle_silently(struct thread *t, int what)
{
	call(t, what, 3 | INDIRECT | LOOP);
	leaves(t, "abcdefgh", 0);
	ret(t);
	expect((char)what);
}

static void silent_events(void)
{
	static const struct tree_name names[] = {
		{ 'G', "PGa PGb PGc PGd PGe PGf PGg PGh" },
		{ 'S', "PSa PSb PSc PSd PSe PSf PSg PSh" },
		{ 0 },
	};
	static const char *const mixes[] = { "G", "GS", "SG", "SGS", "SSGS" };
	struct gathered of;
	struct thread t;
	struct sim sim;

	sim_init(&sim, "MLPWGSFabcdefgh");
	sim_image(&sim, 1, BASE);
	begin(&t, &sim, 7);
	for (uint32_t i = 0; i < 100; i++) {
		call(&t, 'P', 0 | LOOP);
		call(&t, 'W', 1);
		wait_call(&t, 1, SYS_epoll_wait, 'P', 3, 1, SLEEP_NS);
		ret(&t);
		for (const char *event = mixes[i % 5]; *event; event++)
			handle_silently(&t, *event);
		ret(&t);
		leaf(&t, 'F', 5 | LOOP);
	}
	call(&t, 'P', 0 | LOOP);
	call(&t, 'W', 1);
	syscall_enter(&t, SYS_epoll_wait);
	sim_finish(&sim);
	of = gathered_of(&sim.trace);
	is_units(&of, 0, names, expected, "events without a system call: a unit each");
	is_cut_by(&of, "wss", "events without a system call: cut at their handlers");
	is_number(of.samples.functions[of.samples.loops[0].boundaries[1].function].name[0], 'G',
		  "events without a system call: the first handler");
	is_number(of.samples.functions[of.samples.loops[0].boundaries[2].function].name[0], 'S',
		  "events without a system call: the second handler");
	gathered_deinit(&of);
	sim_deinit(&sim);
}

/*
 * A worker takes jobs from a queue by Q, which waits in W only if there is
 * none.  A job begins with a read (if @reads) in R.
 */
static void run_worker(struct sim *sim, uint32_t tid, uint32_t jobs, bool reads)
{
	struct thread t;

	begin(&t, sim, tid);
	for (uint32_t i = 0; i < jobs; i++) {
		call(&t, 'Q', 1 | LOOP);
		leaf(&t, 'm', 0);
		if (i % 2 == 0) {
			call(&t, 'W', 1);
			wait_call(&t, 1, SYS_futex, 'Q', 0, 0, SLEEP_NS);
			ret(&t);
		}
		leaf(&t, 'u', 2);
		ret(&t);
		call(&t, 'J', 2 | LOOP);
		call(&t, 'R', 0);
		if (reads)
			system_call(&t, SYS_read, 9, 100);
		ret(&t);
		leaves(&t, i % 3 ? "abcdefg" : "abcdefh", 1);
		ret(&t);
		expect(i % 3 ? 'g' : 'h');
	}
	call(&t, 'Q', 1 | LOOP);
	leaf(&t, 'm', 0);
	call(&t, 'W', 1);
	wait_known(&t, 1, SYS_futex, 'Q');
	syscall_enter(&t, SYS_futex);
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
	struct gathered of;
	struct sim sim;

	sim_init(&sim, "MLQWJRabcdefghmu");
	sim_image(&sim, 1, BASE);
	run_worker(&sim, 7, 100, reads);
	sim_finish(&sim);
	of = gathered_of(&sim.trace);
	is_units(&of, 0, reads ? jobs_by_read : jobs_by_function, expected, reads ? "queue: a unit a job, by its read" :
						 "queue: a unit a job, by a function");
	is_cut_by(&of, reads ? "wc" : "ws", how);
	is_number(of.samples.loops[0].has_empty, true, how);
	is_number(of.samples.loops[0].cut_off, 0, how);
	gathered_deinit(&of);
	sim_deinit(&sim);
}

/*
 * A thread of one connection: D reads a request by N, a header and what
 * follows it, and handles it in C.  It polls only if nothing is there yet.
 */
static void receive(struct thread *t, int64_t value)
{
	call(t, 'V', 0);
	wait_call(t, 1, SYS_recvfrom, 'D', 9, value, 0);
	ret(t);
}

static void read_request(struct thread *t, bool is_late)
{
	call(t, 'N', 0);
	if (is_late) {
		receive(t, -EAGAIN);
		call(t, 'K', 1);
		wait_call(t, 1, SYS_poll, 'D', 9, 1, SLEEP_NS);
		ret(t);
	}
	receive(t, 4);
	receive(t, 20);
	ret(t);
}

static void connection(void)
{
	static const struct tree_name names[] = {
		{ 'g', "DCa DCb DCc DCd DCe DCf DCg DCh" },
		{ 's', "DCa DCb DCc DCd DCe DCf DCg DCs" },
		{ 0 },
	};
	struct gathered of;
	struct thread t;
	struct sim sim;

	sim_init(&sim, "MLDNVKCabcdefghs");
	sim_image(&sim, 1, BASE);
	begin(&t, &sim, 7);
	for (uint32_t i = 0; i < 100; i++) {
		call(&t, 'D', 1 | LOOP);
		read_request(&t, i % 3 == 0);
		call(&t, 'C', 1);
		leaves(&t, i % 2 ? "abcdefgh" : "abcdefgs", 0);
		ret(&t);
		ret(&t);
		expect(i % 2 ? 'g' : 's');
	}
	call(&t, 'D', 1 | LOOP);
	call(&t, 'N', 0);
	receive(&t, -EAGAIN);
	call(&t, 'K', 1);
	syscall_enter(&t, SYS_poll);
	sim_finish(&sim);
	of = gathered_of(&sim.trace);
	is_units(&of, 0, names, expected, "connection: a unit a request, none for empty spans");
	is_cut_by(&of, "ws", "connection: cut at its poll and a function");
	is_number(of.samples.loops[0].boundaries[0].syscall, SYS_poll,
		  "connection: what never sleeps is no boundary");
	is_number(of.samples.functions[of.samples.loops[0].boundaries[1].function].name[0], 'C',
		  "connection: the function that handles a request");
	is_number(of.samples.loops[0].cut_off, 0, "connection: no unit is cut off");
	gathered_deinit(&of);
	sim_deinit(&sim);
}

/* What can happen on a stack, each in A; the tree that has to come out. */
static void do_oddity(struct thread *t, char what)
{
	uint64_t sp = t->sp;

	switch (what) {
	case 't': /* B ends by jumping to C */
		call(t, 'B', 0);
		jump(t, 'C');
		leaf(t, 'D', 0);
		ret(t);
		break;
	case 'p': /* arguments for C are on the stack */
		leaf(t, 'B', 0);
		t->sp -= 48;
		leaf(t, 'C', 1);
		t->sp = sp;
		break;
	case 'l': /* alloca */
		leaf(t, 'B', 0);
		t->sp -= 8192;
		call(t, 'C', 1);
		leaf(t, 'D', 0);
		ret(t);
		break;
	case 'j': /* longjmp from D to A */
		call(t, 'B', 0);
		call(t, 'C', 0);
		call(t, 'D', 0);
		t->nr_frames -= 3;
		t->sp = sp;
		leaf(t, 'E', 1);
		break;
	case 'r': /* recursion */
		call(t, 'R', 0);
		call(t, 'R', 0);
		leaf(t, 'R', 0);
		leaf(t, 'B', 1);
		ret(t);
		leaf(t, 'C', 1);
		ret(t);
		break;
	case 's': /* a signal in B, on the same stack */
		call(t, 'B', 0);
		t->sp -= 1000;
		call_from(t, 'X', t->base + SIM_LIBRARY + 64);
		system_call(t, SYS_read, 4, 1);
		ret(t);
		t->sp += 1000;
		leaf(t, 'C', 0);
		ret(t);
		break;
	case 'a': /* the same on another stack, above or below */
	case 'b':
		call(t, 'B', 0);
		sp = t->sp;
		t->sp = what == 'a' ? sp + (64 << 20) : sp - (64 << 20);
		call_from(t, 'X', t->base + SIM_LIBRARY + 64);
		system_call(t, SYS_read, 4, 1);
		ret(t);
		t->sp = sp;
		leaf(t, 'C', 0);
		ret(t);
		break;
	case 'u': /* B is called by code that was made while the program ran */
		t->sp -= 64;
		call_from(t, 'B', SIM_NOWHERE);
		leaf(t, 'C', 0);
		ret(t);
		t->sp = sp;
		leaf(t, 'D', 1);
		break;
	}
	t->sp = t->frames[t->nr_frames - 1].slot - 16 * (1 + 'A' % 5);
}

static const struct tree_name oddities[] = {
	{ 't', "AB ACD W" },
	{ 'p', "AB AC W" },
	{ 'l', "AB ACD W" },
	{ 'j', "ABCD AE W" },
	{ 'r', "ARC ARRB ARRR W" },
	{ 's', "ABC ABX W" },
	{ 'a', "ABC W" },
	{ 'u', "ABC AD W" },
	{ 0 },
};

static void odd_stacks(void)
{
	static const char whats[] = "tpljrsabu";
	struct gathered of;
	struct thread t;
	struct sim sim;

	sim_init(&sim, "MLWABCDERX");
	sim_image(&sim, 1, BASE);
	begin(&t, &sim, 7);
	for (uint32_t i = 0; i <= 90; i++) {
		call(&t, 'W', 1 | LOOP);
		wait_call(&t, 1, SYS_poll, 'W', 5, 1, SLEEP_NS);
		ret(&t);
		call(&t, 'A', 2 | LOOP);
		do_oddity(&t, whats[i % 9]);
		ret(&t);
		/* These two trees are equal to others. */
		if (i < 90)
			expect(whats[i % 9] == 'l' ? 't' : whats[i % 9] == 'b' ? 'a' : whats[i % 9]);
	}
	sim_finish(&sim);
	of = gathered_of(&sim.trace);
	is_units(&of, 0, oddities, expected, "tail calls, alloca, longjmp, signals and the like");
	is_number(of.samples.loops[0].foreign_stack, 20, "entries on another stack are told");
	is_cut_by(&of, "w", "reads in signal handlers mark nothing");
	gathered_deinit(&of);
	sim_deinit(&sim);
}

static void plain_iteration(struct thread *t, bool is_long)
{
	call(t, 'W', 1 | LOOP);
	wait_call(t, 1, SYS_read, 'W', 5, 1, SLEEP_NS);
	ret(t);
	call(t, 'A', 2 | LOOP);
	leaf(t, 'B', 0);
	if (is_long)
		leaf(t, 'C', 1);
	ret(t);
	expect(is_long ? 'c' : 'b');
}

static const struct tree_name plain_trees[] = { { 'b', "AB W" }, { 'c', "AB AC W" }, { 0 } };

/* The thread's last unit has no end. */
static void cut_expected(void)
{
	expected[strlen(expected) - 1] = '\0';
}

/* Processes, one of which executes the program anew, and a tid that is used again. */
static void lives(void)
{
	const uint64_t other = UINT64_C(0x560000000000);
	struct gathered of;
	struct thread t;
	struct sim sim;

	sim_init(&sim, "MLWABC");
	sim_image(&sim, 1, BASE);
	sim_image(&sim, 2, other);
	for (uint32_t life = 0; life < 4; life++) {
		uint32_t image = life == 1 || life == 3 ? 2 : 1;

		thread_start(&t, &sim, life < 2 ? 100 : 101, 7, image, image == 2 ? other : BASE);
		if (!life)
			*expected = '\0';
		call_from(&t, 'M', t.base + SIM_LIBRARY + 8);
		call(&t, 'L', 0);
		for (uint32_t i = 0; i < 20; i++)
			plain_iteration(&t, i == life);
		cut_expected();
		/* By exec: the next START comes without an END. */
		if (life)
			thread_end(&t);
	}
	sim_finish(&sim);
	of = gathered_of(&sim.trace);
	is_units(&of, 0, plain_trees, expected, "exec, tids used again, load addresses: equal trees");
	is_number(of.samples.nr_loops, 1, "images of one program have one loop");
	is_number(of.samples.loops[0].cut_off, 4, "each life's last unit is cut off");
	is_number(of.result.units[18].pid, 100, "process of the second life's first units");
	is_number(of.result.units[40].pid, 101, "process of the third life's units");
	gathered_deinit(&of);
	sim_deinit(&sim);
}

/* A thread that made two waits only: where its frame is, others tell. */
static void short_lived(void)
{
	struct gathered of;
	struct thread t;
	struct sim sim;

	sim_init(&sim, "MLWABC");
	sim_image(&sim, 1, BASE);
	begin(&t, &sim, 7);
	for (uint32_t i = 0; i < 20; i++)
		plain_iteration(&t, false);
	begin(&t, &sim, 8);
	plain_iteration(&t, true);
	plain_iteration(&t, false);
	cut_expected();
	sim_finish(&sim);
	of = gathered_of(&sim.trace);
	is_units(&of, 8, plain_trees, expected, "a thread of two waits has a unit");
	gathered_deinit(&of);
	sim_deinit(&sim);

	sim_init(&sim, "MLWABC");
	sim_image(&sim, 1, BASE);
	begin(&t, &sim, 8);
	plain_iteration(&t, true);
	plain_iteration(&t, false);
	sim_finish(&sim);
	of = gathered_of(&sim.trace);
	is_units(&of, 8, plain_trees, "", "and none if there are no others");
	gathered_deinit(&of);
	sim_deinit(&sim);
}

/* Two threads take turns; the events of both go to one ring. */
static void run_turns(struct sim *sim)
{
	static const char *const mixes[] = { "G", "GS", "SG", "SGS", "SSGS", "" };
	struct thread a, b;

	sim_image(sim, 1, BASE);
	begin(&a, sim, 7);
	begin(&b, sim, 8);
	for (uint32_t i = 0; i < 60; i++) {
		iterate(&a, mixes[i % 6], i % 6 == 5);
		iterate(&b, mixes[(i + 2) % 6], i % 7 == 3);
	}
	sim_finish(sim);
}

static const struct gather_unit *find_unit(const struct gathered *of,
					   const struct gather_unit *wanted)
{
	for (uint64_t i = 0; i < of->result.nr_units; i++) {
		const struct gather_unit *unit = &of->result.units[i];

		if (unit->tid == wanted->tid && unit->start_ns == wanted->start_ns &&
		    unit->end_ns == wanted->end_ns)
			return unit;
	}
	return NULL;
}

/* Of what is told with losses, nothing is wrong, and only what they touch is missing. */
static void compare_lossy(const struct gathered *whole, const struct gathered *lossy,
			  const struct sim *sim, uint64_t *wrong, uint64_t *missing)
{
	uint64_t untouched = 0, found = 0;

	for (uint64_t i = 0; i < lossy->result.nr_units; i++) {
		const struct gather_unit *unit = &lossy->result.units[i];
		const struct gather_unit *known = find_unit(whole, unit);

		*wrong += !known || known->hits != unit->hits ||
			  whole->samples.trees[known->tree].hash !=
				  lossy->samples.trees[unit->tree].hash;
	}
	for (uint64_t i = 0; i < whole->result.nr_units; i++) {
		const struct gather_unit *unit = &whole->result.units[i];

		if (unit->start_ns <= sim->told_lost_ns && unit->end_ns >= sim->first_lost_ns)
			continue;
		untouched++;
		found += find_unit(lossy, unit) != NULL;
	}
	/* Each thread may need an iteration, of up to four events, to be sure of its stack. */
	if (untouched - found > 8)
		*missing += untouched - found;
}

static void losses(void)
{
	uint64_t wrong = 0, missing = 0, runs = 0;
	struct gathered whole, lossy;
	struct sim sim;

	sim_init(&sim, "MLPWHRGSTUFabcdef");
	run_turns(&sim);
	whole = gathered_of(&sim.trace);
	sim_deinit(&sim);
	for (uint32_t from = 700; from < 800; from += 1) {
		for (uint32_t nr = 1; nr < 100; nr = nr * 2 + from % 3) {
			sim_init(&sim, "MLPWHRGSTUFabcdef");
			sim.lose_from = from;
			sim.lose_to = from + nr;
			run_turns(&sim);
			lossy = gathered_of(&sim.trace);
			compare_lossy(&whole, &lossy, &sim, &wrong, &missing);
			runs++;
			gathered_deinit(&lossy);
			sim_deinit(&sim);
		}
	}
	is_number(wrong, 0, "losses: no unit is wrong");
	is_number(missing, 0, "losses: only the units that they touch are missing");
	diag("%llu runs with a loss", (unsigned long long)runs);
	gathered_deinit(&whole);
}

int main(void)
{
	plan(CHECKS);
	plain();
	dispatch();
	flat();
	silent_events();
	queue(true);
	queue(false);
	connection();
	odd_stacks();
	lives();
	short_lived();
	losses();
	return tap_status();
}
