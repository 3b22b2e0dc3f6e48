// SPDX-License-Identifier: GPL-2.0
/*
 * Whether the cost of guarding is independent of its scale: "name figure"
 * lines, in guest instructions, each less the cost without guards.
 *
 *   scale-AXIS-NUMBER-unit    the two ends of a unit with nothing in it
 *   scale-AXIS-NUMBER-first   a guard's first hit in its context in a unit
 *   scale-AXIS-NUMBER-again   one after that
 *
 * The axes are threads, guards, types and targets.  One is varied at a time, the
 * others are as in the base.  All threads are in mid-unit; some of them, spread
 * over all, measure in turn.  The other targets are copies of this program, each
 * a program of its own for the module.
 *
 * usage: scale           (scale other: one of the other targets)
 */

#include <err.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "copy.h"
#include "linux/perfguard.h"
#include "self.h"
#include "turns.h"

/* A round has to end before the next tick of a timer. */
enum { UNITS = 40, ROUNDS = 10, REPEATS = 3 };
enum { MAX_GUARDS = 1000, MAX_TARGETS = 16, MAX_MEASURED = 16 };
enum { NR_MET = 10, NR_CANDIDATES = 2, STRIDE = 16 };

#define NEVER_NS (1000000000000ULL)

extern void first_guard(void);
__asm__(".text\n.p2align 4\n.globl first_guard\n.type first_guard, @function\n"
	"first_guard:\n\t"
	".rept 1000\n\t.p2align 4\n\tpush %rbp\n\tpop %rbp\n\tret\n\t.endr\n");

struct setting {
	uint32_t threads;
	uint32_t guards;
	uint32_t types;
	uint32_t targets;
};

static const struct setting base = { .threads = 1, .guards = 10, .types = 10, .targets = 1 };

/* The difference of a setting from the base. */
static const struct axis {
	const char *name;
	size_t at;
	uint32_t numbers[4];
} axes[] = {
	{ "threads", offsetof(struct setting, threads), { 1, 100, 1000, 10000 } },
	{ "guards", offsetof(struct setting, guards), { 10, 100, 1000 } },
	{ "types", offsetof(struct setting, types), { 10, 100, 1000 } },
	{ "targets", offsetof(struct setting, targets), { 1, 4, 16 } },
};

/* The contents of a unit: nothing, a hit of each guard, and some more of each. */
enum way { EMPTY, ONCE, OFTEN, NR_WAYS };

static const uint32_t times_met[NR_WAYS] = { 0, 1, 1 + REPEATS };

static struct self_guard guards[MAX_GUARDS];
static void (*met[NR_MET])(void);

/* All units are done here, so that the guards have one depth. */
static __attribute__((noipa)) uint64_t run_units(uint32_t units, uint32_t times)
{
	uint64_t start = self_now();

	for (uint32_t i = 0; i < units; i++) {
		self_unit();
		for (uint32_t j = 0; j < times; j++)
			for (uint32_t k = 0; k < NR_MET; k++)
				met[k]();
	}
	return self_now() - start;
}

static void note_depth(void)
{
	for (int i = 0; i < NR_MET; i++)
		met[i] = self_mark;
	run_units(1, 1);
	self_note_depth();
}

/* Those that are met are spread over all. */
static void choose_met(uint32_t nr_guards)
{
	for (uint32_t i = 0; i < NR_MET; i++)
		met[i] = (void (*)(void))((uintptr_t)first_guard +
					  (uintptr_t)STRIDE * (i * nr_guards / NR_MET));
}

static struct self_profile profile_of(const struct setting *setting)
{
	return (struct self_profile){
		.guards = guards,
		.nr_guards = setting->guards,
		.nr_types = setting->types,
		.threshold_ns = NEVER_NS,
		.target_flags = PERFGUARD_TARGET_FLAGS_ACCOUNT,
	};
}

/* The least of some rounds, of a unit in each of the ways: a tick falls into the others. */
static void measure(void *argument)
{
	double *ret = argument;

	for (enum way way = EMPTY; way < NR_WAYS; way++) {
		uint64_t best = UINT64_MAX;

		for (int round = 0; round < ROUNDS; round++) {
			uint64_t took = run_units(UNITS, times_met[way]);

			best = took < best ? took : best;
		}
		ret[way] = (double)best / UNITS;
	}
}

/* Begin a unit, in which the thread then sleeps. */
static void enter(void *unused)
{
	(void)unused;
	run_units(1, 1);
}

static uint32_t nr_measured(const struct setting *setting)
{
	return setting->threads < MAX_MEASURED ? setting->threads : MAX_MEASURED;
}

/* The mean of the threads that measure. */
static void measure_threads(const struct setting *setting, double ret[NR_WAYS])
{
	uint32_t nr = nr_measured(setting);
	double took[NR_WAYS];

	memset(ret, 0, sizeof(took));
	for (uint32_t i = 0; i < nr; i++) {
		turns_take(i * setting->threads / nr, measure, took);
		for (int way = 0; way < NR_WAYS; way++)
			ret[way] += took[way] / nr;
	}
}

/* A copy of this program, which guards itself. */
static int be_other(void)
{
	struct self_profile profile = profile_of(&base);

	choose_met(base.guards);
	self_arm(&profile);
	run_units(UNITS, 1);
	if (self_counts().hits != (uint64_t)UNITS * NR_MET)
		errx(1, "another target is not guarded");
	copy_wait();
	self_disarm();
	return 0;
}

static void check_counts(const struct setting *setting)
{
	uint64_t nr = nr_measured(setting), hits = (uint64_t)NR_MET * setting->threads;
	struct self_counts counts = self_counts();

	for (int way = 0; way < NR_WAYS; way++)
		hits += nr * ROUNDS * UNITS * NR_MET * times_met[way];
	if (counts.hits != hits || counts.units != nr * ROUNDS * UNITS * NR_WAYS ||
	    counts.stray_hits || counts.unknown_hits || counts.stepped || counts.late)
		errx(1, "%" PRIu64 " hits for %" PRIu64 ", %" PRIu64 " units, %" PRIu64 " stray, %"
		     PRIu64 " unknown, %" PRIu64 " stepped, %" PRIu64 " late", counts.hits, hits,
		     counts.units, counts.stray_hits, counts.unknown_hits, counts.stepped,
		     counts.late);
}

static void print_figure(const struct axis *axis, uint32_t number, const char *what, double figure)
{
	char text[64];

	snprintf(text, sizeof(text), "scale-%s-%" PRIu32 "-%s", axis->name, number, what);
	self_tell(text, figure);
}

/* With as many other targets; then @took is by how much a unit takes longer. */
static void measure_guarded(const struct setting *setting, double took[NR_WAYS])
{
	struct self_profile profile = profile_of(setting);
	pid_t others[MAX_TARGETS];
	double bare[NR_WAYS];

	measure_threads(setting, bare);
	for (uint32_t i = 1; i < setting->targets; i++)
		others[i] = copy_begin("other");
	self_arm(&profile);
	for (uint32_t i = 0; i < setting->threads; i++)
		turns_take(i, enter, NULL);
	measure_threads(setting, took);
	check_counts(setting);
	self_disarm();
	for (uint32_t i = 1; i < setting->targets; i++)
		copy_end(others[i]);
	for (int way = 0; way < NR_WAYS; way++)
		took[way] -= bare[way];
}

static void measure_setting(const struct axis *axis, uint32_t number)
{
	struct setting setting = base;
	double took[NR_WAYS];

	*(uint32_t *)((char *)&setting + axis->at) = number;
	choose_met(setting.guards);
	turns_begin(setting.threads);
	measure_guarded(&setting, took);
	turns_end();
	print_figure(axis, number, "unit", took[EMPTY]);
	print_figure(axis, number, "first", (took[ONCE] - took[EMPTY]) / NR_MET);
	print_figure(axis, number, "again", (took[OFTEN] - took[ONCE]) / NR_MET / REPEATS);
}

int main(int argc, char **argv)
{
	for (uint32_t i = 0; i < MAX_GUARDS; i++)
		guards[i] = (struct self_guard){ first_guard, NR_CANDIDATES, i * STRIDE, 0 };
	self_init();
	note_depth();
	if (argc == 2 && !strcmp(argv[1], "other"))
		return be_other();
	if (argc != 1)
		errx(2, "usage: scale");
	for (size_t i = 0; i < sizeof(axes) / sizeof(axes[0]); i++)
		for (int j = 0; j < 4 && axes[i].numbers[j]; j++)
			measure_setting(&axes[i], axes[i].numbers[j]);
	return 0;
}
