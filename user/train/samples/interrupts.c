// SPDX-License-Identifier: GPL-2.0

#include "train/samples/interrupts.h"

#include <errno.h>
#include <stdlib.h>

#include <linux/perfguard.h>
#include <perfguard/interrupt.h>

#include "base/array.h"

enum {
	MIN_CALM = 30, /* units of a timing */
	MIN_INTERRUPTED = 10, /* in all */
	RARE = 8, /* there are so many others for each that is interrupted */
	ONE_IN = 100, /* interrupts that add more than is taken off */
};

/* Units of which more than one in ONE_IN is so many times the median differ by themselves. */
#define ALIKE 1.5

struct interrupts {
	struct timed_unit **units; /* by timing, the calm ones first, and CPU time */
	size_t nr_units;
	uint64_t *added_ns; /* by each interrupted unit of timings with few of them */
	size_t nr_added;
};

static int compare_units(const void *a, const void *b)
{
	const struct timed_unit *left = *(struct timed_unit *const *)a;
	const struct timed_unit *right = *(struct timed_unit *const *)b;

	return order_of(left->timing, right->timing) ?:
	       order_of(left->is_interrupted, right->is_interrupted) ?:
	       order_of(left->parts_ns[SAMPLES_CPU], right->parts_ns[SAMPLES_CPU]);
}

/* Of @nr units of one timing, whether those are few that are interrupted; *@calm are not. */
static bool is_rare(struct timed_unit *const *units, size_t nr, size_t *calm)
{
	*calm = array_bisect(i, nr, units[i]->is_interrupted);
	return *calm >= MIN_CALM && (nr - *calm) * RARE <= *calm;
}

/* @nr units of one timing. */
static void compare_kinds(struct interrupts *interrupts, struct timed_unit *const *units, size_t nr)
{
	uint64_t usual_ns, most_ns;
	size_t calm;

	if (!is_rare(units, nr, &calm))
		return;
	usual_ns = units[calm / 2]->parts_ns[SAMPLES_CPU];
	most_ns = units[calm - 1 - calm / ONE_IN]->parts_ns[SAMPLES_CPU];
	if ((double)most_ns > ALIKE * (double)usual_ns)
		return;
	for (size_t i = calm; i < nr; i++) {
		uint64_t ns = units[i]->parts_ns[SAMPLES_CPU];

		interrupts->added_ns[interrupts->nr_added++] = ns > usual_ns ? ns - usual_ns : 0;
	}
}

/* The same units: where the others show what they take, those of which it may be most. */
static void leave_out(struct timed_unit *const *units, size_t nr, uint64_t ns)
{
	size_t calm;

	if (!is_rare(units, nr, &calm))
		return;
	for (size_t i = calm; i < nr; i++)
		units[i]->is_left_out = interrupt_is_most(units[i]->parts_ns[SAMPLES_OWN], ns);
}

/* Where the timing that begins at @begin ends. */
static size_t timing_end(const struct interrupts *interrupts, size_t begin)
{
	size_t end = begin;

	while (end < interrupts->nr_units &&
	       interrupts->units[end]->timing == interrupts->units[begin]->timing)
		end++;
	return end;
}

/* 0 if there were too few to be sure. */
static uint64_t usually_added(struct interrupts *interrupts)
{
	size_t nr = interrupts->nr_added, at;
	uint64_t ns;

	if (nr < MIN_INTERRUPTED)
		return 0;
	qsort(interrupts->added_ns, nr, sizeof(*interrupts->added_ns), order_u64);
	at = nr - 1 - nr / ONE_IN;
	ns = interrupts->added_ns[at];
	return ns < PERFGUARD_MAX_INTERRUPT_NS ? ns : PERFGUARD_MAX_INTERRUPT_NS;
}

static void take_off(const struct interrupts *interrupts, struct samples *samples, uint64_t ns)
{
	for (size_t begin = 0, end; begin < interrupts->nr_units; begin = end) {
		end = timing_end(interrupts, begin);
		leave_out(interrupts->units + begin, end - begin, ns);
	}
	for (size_t i = 0; i < interrupts->nr_units; i++) {
		struct timed_unit *unit = interrupts->units[i];

		if (!unit->is_interrupted)
			continue;
		unit->parts_ns[SAMPLES_OWN] =
			interrupt_take_off(unit->parts_ns[SAMPLES_OWN], ns);
		unit->parts_ns[SAMPLES_CPU] =
			interrupt_take_off(unit->parts_ns[SAMPLES_CPU], ns);
	}
	for (uint32_t i = 0; i < samples->nr_timings; i++)
		for (int half = 0; half < 2; half++)
			samples->timings[i].times[half].interrupt_ns = ns;
}

int interrupts_take_off(struct samples *samples, struct timed_unit *units, size_t nr)
{
	struct interrupts interrupts = { .nr_units = nr };
	int ret = 0;

	if (array_new(interrupts.units, nr) || array_new(interrupts.added_ns, nr))
		ret = -ENOMEM;
	for (size_t i = 0; i < nr && !ret; i++)
		interrupts.units[i] = &units[i];
	if (!ret && nr)
		qsort(interrupts.units, nr, sizeof(*interrupts.units), compare_units);
	for (size_t begin = 0, end; begin < nr && !ret; begin = end) {
		end = timing_end(&interrupts, begin);
		compare_kinds(&interrupts, interrupts.units + begin, end - begin);
	}
	if (!ret)
		take_off(&interrupts, samples, usually_added(&interrupts));
	free(interrupts.units);
	free(interrupts.added_ns);
	return ret;
}
