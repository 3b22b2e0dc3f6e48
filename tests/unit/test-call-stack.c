// SPDX-License-Identifier: GPL-2.0

#include "servers.h"
#include "tap.h"
#include "units.h"

enum {
	CHECKS = 12,
};

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
	struct extracted of;
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
			note(whats[i % 9] == 'l' ? 't' : whats[i % 9] == 'b' ? 'a' : whats[i % 9]);
	}
	sim_finish(&sim);
	of = extracted_of(&sim.trace);
	is_units(&of, 0, oddities, handled, "tail calls, alloca, longjmp, signals and the like");
	is_number(of.samples.loops[0].foreign_stack, 20, "entries on another stack are counted");
	is_cut_by(&of, "w", "reads in signal handlers mark nothing");
	extracted_deinit(&of);
	sim_deinit(&sim);
}

static const struct tree_name plain_trees[] = { { 'b', "AB W" }, { 'c', "AB AC W" }, { 0 } };

/* Processes, one of which executes the program again, and a tid that is used again. */
static void lives(void)
{
	const uint64_t other = UINT64_C(0x560000000000);
	struct extracted of;
	struct thread t;
	struct sim sim;

	sim_init(&sim, "MLWABC");
	sim_image(&sim, 1, BASE);
	sim_image(&sim, 2, other);
	for (uint32_t life = 0; life < 4; life++) {
		uint32_t image = life == 1 || life == 3 ? 2 : 1;

		thread_start(&t, &sim, life < 2 ? 100 : 101, 7, image, image == 2 ? other : BASE);
		if (!life)
			*handled = '\0';
		call_from(&t, 'M', t.base + SIM_LIBRARY + 8);
		call(&t, 'L', 0);
		for (uint32_t i = 0; i < 20; i++)
			plain_iteration(&t, i == life);
		cut_last();
		/* By exec: the next START comes without an END. */
		if (life)
			thread_end(&t);
	}
	sim_finish(&sim);
	of = extracted_of(&sim.trace);
	is_units(&of, 0, plain_trees, handled, "exec, tids used again, load addresses: equal trees");
	is_number(of.samples.nr_loops, 1, "images of one program have one loop");
	is_number(of.samples.loops[0].cut_off, 4, "each life's last unit is cut off");
	is_number(of.result.units[18].pid, 100, "process of the second life's first units");
	is_number(of.result.units[40].pid, 101, "process of the third life's units");
	extracted_deinit(&of);
	sim_deinit(&sim);
}

/* A thread that made two waits only: where its frame is, others show. */
static void short_lived(void)
{
	struct extracted of;
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
	cut_last();
	sim_finish(&sim);
	of = extracted_of(&sim.trace);
	is_units(&of, 8, plain_trees, handled, "a thread of two waits has a unit");
	extracted_deinit(&of);
	sim_deinit(&sim);

	sim_init(&sim, "MLWABC");
	sim_image(&sim, 1, BASE);
	begin(&t, &sim, 8);
	plain_iteration(&t, true);
	plain_iteration(&t, false);
	sim_finish(&sim);
	of = extracted_of(&sim.trace);
	is_units(&of, 8, plain_trees, "", "and none if there are no others");
	extracted_deinit(&of);
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

static const struct extract_unit *find_unit(const struct extracted *of,
					   const struct extract_unit *wanted)
{
	for (uint64_t i = 0; i < of->result.nr_units; i++) {
		const struct extract_unit *unit = &of->result.units[i];

		if (unit->tid == wanted->tid && unit->start_ns == wanted->start_ns &&
		    unit->end_ns == wanted->end_ns)
			return unit;
	}
	return NULL;
}

/* Of what is extracted with losses, nothing is wrong, and only what they touch is missing. */
static void compare_lossy(const struct extracted *whole, const struct extracted *lossy,
			  const struct sim *sim, uint64_t *wrong, uint64_t *missing)
{
	uint64_t untouched = 0, found = 0;

	for (uint64_t i = 0; i < lossy->result.nr_units; i++) {
		const struct extract_unit *unit = &lossy->result.units[i];
		const struct extract_unit *known = find_unit(whole, unit);

		*wrong += !known || known->hits != unit->hits ||
			  whole->samples.trees[known->tree].hash !=
				  lossy->samples.trees[unit->tree].hash;
	}
	for (uint64_t i = 0; i < whole->result.nr_units; i++) {
		const struct extract_unit *unit = &whole->result.units[i];

		if (unit->start_ns <= sim->reported_lost_ns && unit->end_ns >= sim->first_lost_ns)
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
	struct extracted whole, lossy;
	struct sim sim;

	sim_init(&sim, "MLPWHRGSTUFabcdef");
	run_turns(&sim);
	whole = extracted_of(&sim.trace);
	sim_deinit(&sim);
	for (uint32_t from = 700; from < 800; from += 1) {
		for (uint32_t nr = 1; nr < 100; nr = nr * 2 + from % 3) {
			sim_init(&sim, "MLPWHRGSTUFabcdef");
			sim.lose_from = from;
			sim.lose_to = from + nr;
			run_turns(&sim);
			lossy = extracted_of(&sim.trace);
			compare_lossy(&whole, &lossy, &sim, &wrong, &missing);
			runs++;
			extracted_deinit(&lossy);
			sim_deinit(&sim);
		}
	}
	is_number(wrong, 0, "losses: no unit is wrong");
	is_number(missing, 0, "losses: only the units that they touch are missing");
	diag("%llu runs with a loss", (unsigned long long)runs);
	extracted_deinit(&whole);
}

int main(void)
{
	plan(CHECKS);
	odd_stacks();
	lives();
	short_lived();
	losses();
	return tap_status();
}
