// SPDX-License-Identifier: GPL-2.0
/*
 * What the stacks of late units take, by their size in KiB: "name figure" lines,
 * in guest instructions, of this thread and of the watch together.
 *
 *   stack-found-KIB    the hit that finds a unit late
 *   stack-again-KIB    each further stack, while the unit stays late
 *
 * Between the frames lies what programs leave there: numbers, and addresses of
 * the heap, of the stack, and of code.
 */

#include <err.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <linux/perfguard.h>

#include "data/alert-record.h"
#include "link/link.h"
#include "self.h"

enum { KIB = 1024, MAX_KIB = 64, ROUNDS = 7, LATE_NS = 400000, TURNS = 8000000 };

extern void guarded(void);
__asm__(".text\n.p2align 4\n.globl guarded\n.type guarded, @function\n"
	"guarded:\n\tendbr64\n\tret\n");

static const struct self_guard guards[] = { { .function = guarded, .candidates = 1 } };

/* What a unit took: the hit that may find it late, and what comes after it. */
struct sample {
	uint64_t found;
	uint64_t after;
};

struct tally {
	uint64_t next_seq;
	uint32_t stacks;
	uint32_t by_hits; /* units that a hit found late */
};

static uint64_t word_of(uint32_t i)
{
	static void *heap;

	if (!heap)
		heap = malloc(MAX_KIB * KIB);
	switch (i * 7 % 8) {
	case 0: return (uint64_t)(uintptr_t)heap + i;
	case 1: return (uint64_t)(uintptr_t)&i;
	case 2: return (uint64_t)(uintptr_t)guarded + i % 16;
	case 3: return (uint64_t)(uintptr_t)heap + 8 * (uint64_t)i;
	case 4: return i;
	case 5: return (uint64_t)(uintptr_t)&malloc + i % 64;
	default: return 0;
	}
}

static __attribute__((noinline)) void spin(void)
{
	uint64_t turns = TURNS;

	__asm__ volatile("1: dec %0; jnz 1b" : "+r"(turns) : : "cc");
}

/*
 * A unit; with guards it is late when it meets the first, just before the watch
 * would find it so, and long after it.
 */
static __attribute__((noinline)) struct sample do_unit(void)
{
	struct sample ret = { 0 };
	uint64_t start;

	self_unit();
	start = self_now();
	while (self_now() - start < LATE_NS + LATE_NS / 40)
		;
	start = self_now();
	guarded();
	ret.found = self_now() - start;
	spin();
	self_unit();
	ret.after = self_now() - start - ret.found;
	return ret;
}

/* The same, so deep in the stack. */
static __attribute__((noipa)) struct sample do_deep(uint32_t kib)
{
	uint32_t nr = kib * KIB / sizeof(uint64_t);
	volatile uint64_t words[nr];

	for (uint32_t i = 0; i < nr; i++)
		words[i] = word_of(i);
	(void)words[nr - 1];
	return do_unit();
}

static int count_stacks(struct record *record, void *arg)
{
	struct tally *tally = arg;

	tally->next_seq = record->seq + 1;
	tally->stacks += record->nr_stacks;
	tally->by_hits += record->found_by == PERFGUARD_FOUND_BY_GUARD;
	return 0;
}

/* The middle of some units; without stacks, what a unit takes; else, what each stack adds. */
static struct sample measure_units(struct link *link, uint32_t kib, const struct sample *free)
{
	static struct tally tally;
	uint64_t found[ROUNDS], after[ROUNDS];
	struct sample sample;
	int missed = 0;

	for (int i = 0; i < ROUNDS; i++) {
		sample = do_deep(kib);
		tally.stacks = tally.by_hits = 0;
		link_wakeup_clear(link);
		if (link_alerts(link, tally.next_seq, count_stacks, &tally))
			errx(1, "alerts: %s", link_error(link));
		if (free && tally.stacks < 3)
			errx(1, "%" PRIu32 " stacks of a late unit", tally.stacks);
		/* The watchdog may come first, by chance: that is another figure. */
		if (free && !tally.by_hits) {
			if (++missed > ROUNDS)
				errx(1, "it is not the hit that finds a unit late");
			i--;
			continue;
		}
		found[i] = sample.found - (free ? free->found : 0);
		after[i] = sample.after;
		if (free)
			after[i] = (sample.after - free->after) / (tally.stacks - 1);
	}
	return (struct sample){
		.found = self_middle(found, ROUNDS),
		.after = self_middle(after, ROUNDS),
	};
}

static void print_figure(const char *name, uint32_t kib, double figure)
{
	char text[64];

	snprintf(text, sizeof(text), "stack-%s-%" PRIu32, name, kib);
	self_tell(text, figure);
}

static void measure(struct link *link, uint32_t kib)
{
	struct self_profile profile = {
		.guards = guards,
		.nr_guards = 1,
		.nr_types = 1,
		.threshold_ns = LATE_NS,
		.target_flags = PERFGUARD_TARGET_FLAGS_ACCOUNT,
	};
	struct sample free = measure_units(link, kib, NULL), late;

	self_arm(&profile);
	late = measure_units(link, kib, &free);
	self_disarm();
	print_figure("found", kib, (double)late.found);
	print_figure("again", kib, (double)late.after);
}

int main(void)
{
	static const uint32_t sizes[] = { 1, 8, 40 };
	struct link *link;

	self_init();
	/* Somebody listens, as most of the time. */
	if (link_open(&link) || link_wakeup_open(link))
		errx(1, "link: %s", link_error(link));
	for (uint32_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		measure(link, sizes[i]);
	link_close(link);
	return 0;
}
