// SPDX-License-Identifier: GPL-2.0

#include "app/arm/cost-estimate.h"

#include <math.h>

enum {
	MIN_TURNS = 6,
	MAX_TURNS = 48,
	CONFIRMED = 3, /* turns */
	NR_ROUNDS = 16, /* of each subject in a turn */
	MIN_CALLS = 64, /* in a round */
	MAX_CALLS = 4096,
	GRAINS = 64, /* of the clock, at least, in a round */
	MAX_NS = 1000000, /* as the netlink spec has it */
};

/* After that no turn is begun. */
static const uint64_t PATIENCE_NS = 4000000000;

/*
 * What is assumed: so many of the shortest bare system calls, and not less than so
 * many ns.  That is two to ten times what was measured on processors and emulators.
 */
static const struct {
	double calls, ns;
} assumed[COST_NR_SUBJECTS] = {
	[COST_KERNEL_HIT] = { 40, 4000 },
	[COST_MODULE_HIT] = { 40, 4000 },
	[COST_STEPPED_HIT] = { 200, 10000 },
	[COST_CALL] = { 1, 200 },
	[COST_UNIT] = { 4, 800 },
};

/* The lowest values of some turns, rising. */
struct lowest {
	uint32_t nr;
	double values[CONFIRMED];
};

struct estimate {
	struct lowest bare, guarded, handler; /* of a call, ns */
	double ns, doubt;
};

struct run {
	const struct cost_machine *machine;
	uint32_t calls; /* in a round */
	double grain; /* of the clock, by call */
	uint32_t turns;
	struct estimate estimates[COST_NR_SUBJECTS];
};

static void lowest_add(struct lowest *lowest, double value)
{
	uint32_t i = lowest->nr < CONFIRMED ? lowest->nr++ : CONFIRMED;

	for (; i && lowest->values[i - 1] > value; i--)
		if (i < CONFIRMED)
			lowest->values[i] = lowest->values[i - 1];
	if (i < CONFIRMED)
		lowest->values[i] = value;
}

static double doubt(const struct lowest *lowest)
{
	return lowest->nr ? lowest->values[lowest->nr - 1] - lowest->values[0] : 0;
}

/* The shortest step of the clock that was seen. */
static double grain_of(const struct cost_machine *machine)
{
	uint64_t least = UINT64_MAX, last = machine->now(machine->context);

	for (int steps = 0; steps < 8;) {
		uint64_t now = machine->now(machine->context);

		if (now == last)
			continue;
		if (now - last < least)
			least = now - last;
		last = now;
		steps++;
	}
	return (double)least;
}

static void choose_calls(struct run *run)
{
	const struct cost_machine *machine = run->machine;
	double grain = grain_of(machine);

	for (run->calls = MIN_CALLS; run->calls < MAX_CALLS; run->calls *= 2)
		if ((double)machine->round(machine->context, COST_CALL, run->calls) >=
		    GRAINS * grain)
			break;
	run->grain = grain / run->calls;
}

static double shortest(const struct run *run, enum cost_subject subject)
{
	const struct cost_machine *machine = run->machine;
	uint64_t least = UINT64_MAX;

	for (int i = 0; i < NR_ROUNDS; i++) {
		uint64_t ns = machine->round(machine->context, subject, run->calls);

		if (ns < least)
			least = ns;
	}
	return (double)least / run->calls;
}

static void measure_bare(struct run *run)
{
	for (int i = 0; i < COST_NR_SUBJECTS; i++)
		lowest_add(&run->estimates[i].bare, shortest(run, i));
}

static int measure_guarded(struct run *run)
{
	const struct cost_machine *machine = run->machine;
	uint64_t before, after;
	int error = 0;

	for (int i = 0; i < COST_NR_SUBJECTS && !error; i++) {
		struct estimate *estimate = &run->estimates[i];

		if (i < COST_NR_HITS)
			error = machine->handler(machine->context, &before);
		lowest_add(&estimate->guarded, shortest(run, i));
		if (error || i >= COST_NR_HITS)
			continue;
		error = machine->handler(machine->context, &after);
		lowest_add(&estimate->handler,
			   (double)(after - before) / (NR_ROUNDS * run->calls));
	}
	return error;
}

static void settle(struct run *run)
{
	struct estimate *call = &run->estimates[COST_CALL], *unit = &run->estimates[COST_UNIT];

	for (int i = 0; i < COST_NR_SUBJECTS; i++) {
		struct estimate *estimate = &run->estimates[i];

		estimate->ns = estimate->guarded.values[0] - estimate->bare.values[0] -
			       estimate->handler.values[0];
		estimate->doubt = doubt(&estimate->guarded) + doubt(&estimate->bare) +
				  doubt(&estimate->handler) + 2 * run->grain;
	}
	unit->ns -= call->ns;
	unit->doubt += call->doubt;
}

static bool is_known(const struct estimate *estimate)
{
	return estimate->ns >= 1 && estimate->doubt < estimate->ns / 2;
}

static bool are_known(const struct run *run)
{
	bool all = run->turns >= MIN_TURNS;

	for (int i = 0; i < COST_NR_SUBJECTS; i++)
		all &= is_known(&run->estimates[i]);
	return all;
}

static int take_turn(struct run *run)
{
	const struct cost_machine *machine = run->machine;
	int error = machine->set_guarded(machine->context, true);

	if (!error)
		error = measure_guarded(run);
	if (!error)
		error = machine->set_guarded(machine->context, false);
	if (error)
		return error;
	measure_bare(run);
	run->turns++;
	settle(run);
	return 0;
}

static int take_turns(struct run *run)
{
	const struct cost_machine *machine = run->machine;
	uint64_t end = machine->now(machine->context) + PATIENCE_NS;
	int error;

	choose_calls(run);
	measure_bare(run);
	do
		error = take_turn(run);
	while (!error && !are_known(run) && run->turns < MAX_TURNS &&
	       (run->turns < MIN_TURNS || machine->now(machine->context) < end));
	return error;
}

/* At least 1: nothing is free. */
static uint32_t rounded(double ns)
{
	return ns < 1 ? 1 : ns >= MAX_NS ? MAX_NS : (uint32_t)(ns + 0.5);
}

static uint32_t price(const struct run *run, enum cost_subject subject, uint32_t *flags)
{
	const struct estimate *estimate = &run->estimates[subject];
	double most = assumed[subject].calls * run->estimates[COST_CALL].bare.values[0];

	if (is_known(estimate))
		return rounded(estimate->ns);
	*flags |= 1u << subject;
	return rounded(fmax(estimate->ns, fmax(most, assumed[subject].ns)));
}

int cost_estimate(const struct cost_machine *machine, struct armed_prices *ret)
{
	struct run run = { .machine = machine };
	int error = take_turns(&run);

	if (error)
		return error;
	ret->assumed = 0;
	ret->kernel_hit_ns = price(&run, COST_KERNEL_HIT, &ret->assumed);
	ret->module_hit_ns = price(&run, COST_MODULE_HIT, &ret->assumed);
	ret->stepped_hit_ns = price(&run, COST_STEPPED_HIT, &ret->assumed);
	ret->call_ns = price(&run, COST_CALL, &ret->assumed);
	ret->unit_ns = price(&run, COST_UNIT, &ret->assumed);
	ret->handler_ns = rounded(run.estimates[COST_KERNEL_HIT].handler.values[0]);
	return 0;
}
