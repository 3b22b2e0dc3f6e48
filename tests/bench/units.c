// SPDX-License-Identifier: GPL-2.0
/*
 * An event loop whose units call functions with probes, to measure the cost of a
 * unit.  It executes the commands on its standard input, and answers each line
 * with one:
 *
 *   probes KIND        where the functions are in the file: offsets
 *   measure KIND [ROUNDS]
 *                      guest instructions of a unit: the mean, and of the round
 *                      that took the least
 *   arm KIND [FLAGS]   the module guards it, with these flags of a target
 *   counts             units and hits that the module counted, and of these the
 *                      hits that were single-stepped; then it is disarmed
 *
 * KIND is none, push (an instruction that the kernel emulates) or mov (one
 * that it steps).  Run under scripts/vm --icount.
 */

#include <err.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "linux/perfguard.h"
#include "self.h"

enum { UNITS = 100, ROUNDS = 40, NR_HITS = 4, NR_TYPES = 100, NR_CANDIDATES = 2 };

#define NEVER_NS (1000000000000ULL)

/* All are as long, without probes. */
#define FUNCTION(name, code)                                                  \
	extern void name(void);                                               \
	__asm__(".text\n.p2align 4\n.globl " #name "\n"                       \
		".type " #name ", @function\n" #name ":\n\t" code "\n\tret\n" \
		".size " #name ", .-" #name "\n")

#define PUSH "push %rbp\n\tpop %rbp"
#define MOV "mov %rsi, %rax\n\tmov %rdi, %rax"

FUNCTION(none0, MOV);
FUNCTION(push0, PUSH);
FUNCTION(push1, PUSH);
FUNCTION(push2, PUSH);
FUNCTION(push3, PUSH);
FUNCTION(mov0, MOV);
FUNCTION(mov1, MOV);
FUNCTION(mov2, MOV);
FUNCTION(mov3, MOV);

struct kind {
	const char *name;
	uint32_t nr_guards;
	void (*functions[NR_HITS])(void);
};

static const struct kind kinds[] = {
	{ "none", 0, { none0, none0, none0, none0 } },
	{ "push", NR_HITS, { push0, push1, push2, push3 } },
	{ "mov", NR_HITS, { mov0, mov1, mov2, mov3 } },
};

static const struct kind mark = { "mark", 0, { self_mark, self_mark, self_mark, self_mark } };

static const struct kind *kind_of(const char *name)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strcmp(kinds[i].name, name))
			return &kinds[i];
	errx(2, "no kind %s", name);
}

static __attribute__((noinline)) uint64_t run_units(const struct kind *kind)
{
	uint64_t start = self_now();

	for (int i = 0; i < UNITS; i++) {
		self_unit();
		for (int j = 0; j < NR_HITS; j++)
			kind->functions[j]();
	}
	return self_now() - start;
}

static void measure(const struct kind *kind, uint32_t rounds)
{
	uint64_t best = UINT64_MAX, start = self_now();

	for (uint32_t i = 0; i < rounds; i++) {
		uint64_t took = run_units(kind);

		best = took < best ? took : best;
	}
	printf("%.1f %.1f\n", (double)(self_now() - start) / (UNITS * rounds),
	       (double)best / UNITS);
}

static void tell_probes(const struct kind *kind)
{
	for (uint32_t i = 0; i < kind->nr_guards; i++)
		printf("%s%" PRIu64, i ? " " : "", self_offset(kind->functions[i]));
	printf("\n");
}

static void arm(const struct kind *kind, uint32_t flags)
{
	struct self_guard guards[NR_HITS] = { 0 };
	struct self_profile profile = {
		.guards = guards,
		.nr_guards = kind->nr_guards,
		.nr_types = NR_TYPES,
		.threshold_ns = NEVER_NS,
		.target_flags = flags,
	};

	for (uint32_t i = 0; i < kind->nr_guards; i++) {
		guards[i].function = kind->functions[i];
		guards[i].candidates = NR_CANDIDATES;
	}
	self_arm(&profile);
	printf("armed\n");
}

static void tell_counts(void)
{
	struct self_counts counts;

	self_unit(); /* the last one ends */
	counts = self_counts();
	if (counts.unknown_hits || counts.stray_hits || counts.late)
		errx(1, "%" PRIu64 " unknown, %" PRIu64 " outside of units, %" PRIu64 " late",
		     counts.unknown_hits, counts.stray_hits, counts.late);
	printf("%" PRIu64 " %" PRIu64 " %" PRIu64 "\n", counts.units, counts.hits,
	       counts.stepped);
	self_disarm();
}

int main(void)
{
	char line[128], verb[32], name[32];
	uint32_t number;

	self_init();
	run_units(&mark);
	self_note_depth();
	while (fgets(line, sizeof(line), stdin)) {
		number = 0;
		if (sscanf(line, "%31s %31s %" SCNu32, verb, name, &number) < 1)
			continue;
		if (!strcmp(verb, "probes"))
			tell_probes(kind_of(name));
		else if (!strcmp(verb, "measure"))
			measure(kind_of(name), number ? number : ROUNDS);
		else if (!strcmp(verb, "arm"))
			arm(kind_of(name), number);
		else if (!strcmp(verb, "counts"))
			tell_counts();
		else
			errx(2, "%s?", verb);
		fflush(stdout);
	}
	return 0;
}
