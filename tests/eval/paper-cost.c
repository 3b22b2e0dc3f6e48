// SPDX-License-Identifier: GPL-2.0
/*
 * The cost of each piece of guarding, in guest instructions: "name figure" lines.
 * Each figure is that of a call, or of a unit, with the probe on, less that of
 * the same without.
 *
 * usage: paper-cost BARE_KO
 *
 * BARE_KO is the module in tests/bench/bare, which installs a probe that does
 * nothing: the cost of the kernel itself.
 */

#include <err.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <linux/perfguard.h>

#include "self.h"

enum { CALLS = 1000, ROUNDS = 5, NR_TYPES = 64, NR_LATE = 9 };

#define NEVER_NS (1000000000000ULL)
#define SOON_NS (400000ULL)

/* Functions of one or two instructions; the first one carries the guard. */
#define FUNCTION(name, code)                                                  \
	extern void name(void);                                               \
	__asm__(".text\n.p2align 4\n.globl " #name "\n"                       \
		".type " #name ", @function\n" #name ":\n\t" code "\n\tret\n")

#define PUSH "push %rbp\n\tpop %rbp"

FUNCTION(one, PUSH);
FUNCTION(two, PUSH);
FUNCTION(eight, PUSH);
FUNCTION(many, PUSH);
FUNCTION(unknown, PUSH);
FUNCTION(by_module, "mov %rdi, %rax");
FUNCTION(stepped, "sub $8, %rsp\n\tadd $8, %rsp");
FUNCTION(bare, PUSH);

#define GUARD(name, nr) { .function = name, .candidates = nr }

static const struct self_guard guards[] = {
	GUARD(one, 1), GUARD(two, 2), GUARD(eight, 8), GUARD(many, NR_TYPES), GUARD(unknown, 0),
	GUARD(by_module, 1), GUARD(stepped, 1),
};

static const char *const names[] = {
	"1-candidate", "2-candidates", "8-candidates", "64-candidates", "unknown-context",
	"1-candidate-by-module", "1-candidate-stepped",
};

enum { NR_GUARDS = sizeof(guards) / sizeof(guards[0]) };

/* Measured without probes. */
static double call_free, unit_free;

/* Calls in the unit that runs; and calls in a unit of their own. */
static __attribute__((noinline)) uint64_t repeat(void (*call)(void), int calls)
{
	uint64_t start = self_now();

	for (int i = 0; i < calls; i++)
		call();
	return self_now() - start;
}

static __attribute__((noinline)) uint64_t repeat_units(void (*call)(void), int units)
{
	uint64_t start = self_now();

	for (int i = 0; i < units; i++) {
		self_unit();
		call();
	}
	return self_now() - start;
}

/* The same with a hit before, so that the unit has a type by both rules. */
static __attribute__((noinline)) uint64_t repeat_typed(void (*call)(void), int units)
{
	uint64_t start = self_now();

	for (int i = 0; i < units; i++) {
		self_unit();
		one();
		call();
	}
	return self_now() - start;
}

/*
 * The least of some rounds, of one call: a timer's tick falls into the others.
 * All goes by here, so that each way has one depth.
 */
static __attribute__((noinline)) double least(uint64_t (*way)(void (*call)(void), int calls), void (*call)(void))
{
	uint64_t best = UINT64_MAX;

	for (int round = 0; round < ROUNDS; round++) {
		uint64_t took;

		self_unit();
		took = way(call, CALLS);
		best = took < best ? took : best;
	}
	return (double)best / CALLS;
}

static void print_figure(const char *before, const char *name, double figure)
{
	char text[128];

	snprintf(text, sizeof(text), "%s%s", before, name);
	self_tell(text, figure);
}

static void note_depths(void)
{
	static uint64_t (*const ways[])(void (*call)(void), int calls) = {
		repeat, repeat_units, repeat_typed,
	};

	for (int i = 0; i < 3; i++) {
		least(ways[i], self_mark);
		self_note_depth();
	}
}

static void measure_bare_probe(const char *module)
{
	self_bare_on(module, bare);
	self_tell("bare-probe", least(repeat, bare) - call_free);
	self_bare_off();
}

/* The thread was in no hooked call since the profile came. */
static void measure_outside(void)
{
	uint64_t best = UINT64_MAX;
	struct self_counts counts;

	for (int round = 0; round < ROUNDS; round++) {
		uint64_t took = repeat(one, CALLS);

		best = took < best ? took : best;
	}
	counts = self_counts();
	if (counts.stray_hits != ROUNDS * CALLS || counts.units)
		errx(1, "%" PRIu64 " hits outside of units", counts.stray_hits);
	self_tell("outside-a-unit", (double)best / CALLS - call_free);
}

static void measure_hits(const char *rule)
{
	double typed = least(repeat_typed, bare);

	print_figure(rule, "unit-with-a-hit", typed - unit_free);
	for (int i = 0; i < NR_GUARDS; i++)
		print_figure(rule, names[i], least(repeat, guards[i].function) - call_free);
	for (int i = 1; i < NR_GUARDS; i++) {
		char name[128];

		snprintf(name, sizeof(name), "%s-first", names[i]);
		print_figure(rule, name, least(repeat_typed, guards[i].function) - typed);
	}
}

static void check_hits(void)
{
	struct self_counts counts = self_counts();

	/* The guard without contexts is measured twice; nothing is printed for the current unit. */
	self_unit();
	counts = self_counts();
	if (counts.hits < 2 * NR_GUARDS * ROUNDS * CALLS ||
	    counts.unknown_hits != 2 * ROUNDS * CALLS ||
	    counts.stepped < 2 * ROUNDS * CALLS || counts.late)
		errx(1, "%" PRIu64 " hits, %" PRIu64 " unknown, %" PRIu64 " stepped, %" PRIu64
		     " late", counts.hits, counts.unknown_hits, counts.stepped, counts.late);
}

static void measure_profile(struct self_profile *profile)
{
	profile->target_flags = 0;
	self_arm(profile);
	measure_outside();
	self_tell("unit", least(repeat_units, bare) - unit_free);
	measure_hits("");
	check_hits();
	self_disarm();

	profile->target_flags = PERFGUARD_TARGET_FLAGS_ACCOUNT;
	self_arm(profile);
	self_tell("unit-with-account", least(repeat_units, bare) - unit_free);
	self_disarm();

	profile->target_flags = 0;
	profile->flags = PERFGUARD_PROFILE_FLAGS_PAPER;
	self_arm(profile);
	measure_hits("paper-");
	check_hits();
	self_disarm();
}

static uint64_t time_call(void (*call)(void))
{
	uint64_t start = self_now();

	call();
	return self_now() - start;
}

/* The hit by which the unit is found to be late, the one after it, and its end. */
static void measure_late(struct self_profile *profile)
{
	uint64_t found[NR_LATE], after[NR_LATE], end[NR_LATE], clock[NR_LATE], free;
	struct self_counts counts;

	profile->flags = 0;
	profile->target_flags = PERFGUARD_TARGET_FLAGS_ACCOUNT;
	profile->threshold_ns = SOON_NS;
	self_arm(profile);
	for (int i = 0; i < NR_LATE; i++) {
		uint64_t start;

		self_unit();
		start = self_now();
		while (self_now() - start < SOON_NS + SOON_NS / 10)
			;
		clock[i] = time_call(bare);
		found[i] = time_call(one);
		after[i] = time_call(one);
		end[i] = time_call(self_unit);
	}
	counts = self_counts();
	/* The last one may not have ended. */
	if (counts.late < NR_LATE || counts.late > NR_LATE + 1)
		errx(1, "%" PRIu64 " of %d units were late", counts.late, NR_LATE);
	self_disarm();
	free = self_middle(clock, NR_LATE);
	self_tell("late-found", (double)(self_middle(found, NR_LATE) - free));
	self_tell("late-after", (double)(self_middle(after, NR_LATE) - free));
	self_tell("late-end", (double)(self_middle(end, NR_LATE) - free) - unit_free + call_free);
}

int main(int argc, char **argv)
{
	struct self_profile profile = {
		.guards = guards,
		.nr_guards = NR_GUARDS,
		.nr_types = NR_TYPES,
		.threshold_ns = NEVER_NS,
	};

	if (argc != 2)
		errx(2, "usage: paper-cost BARE_KO");
	self_init();
	note_depths();
	call_free = least(repeat, one);
	unit_free = least(repeat_units, bare);
	self_tell("free-call", call_free);
	self_tell("free-unit", unit_free);
	measure_bare_probe(argv[1]);
	measure_profile(&profile);
	measure_late(&profile);
	return 0;
}
