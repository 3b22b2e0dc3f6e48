// SPDX-License-Identifier: GPL-2.0

#include "train/samples/find-added.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <linux/perfguard.h>
#include <perfguard/added-time.h>

#include "base/array.h"

enum {
	MIN_CALM = 30, /* units of a timing to which nothing was added */
	MIN_ADDED = 10, /* units, in all, to which something was */
	RARE = 8, /* there are so many calm ones for each of them */
	ONE_IN = 100, /* to which more was added than is taken off */
};

/*
 * An interrupt is taken to add as much where too few were seen: twice what it adds to units of
 * three servers, 9 to 11 us by counted instructions.
 */
#define ASSUMED_NS 20000

/* Units of which more than one in ONE_IN is so many times the median differ by themselves. */
#define ALIKE 1.5

struct added_time {
	struct timed_unit **units; /* by timing, causes, the calm ones first, and a part of time */
	size_t nr_units;
	uint64_t *seen_ns; /* added to each unit of timings with few of them */
	size_t nr_seen;
	uint64_t ns[SAMPLES_NR_CAUSES]; /* what is taken off */
};

static uint32_t bit_of(enum samples_cause cause)
{
	return UINT32_C(1) << cause;
}

/* The part of a unit's time that shows a cause: work for the events of a batch may wait, too. */
static enum samples_part part_of(enum samples_cause cause)
{
	return cause == SAMPLES_BATCH ? SAMPLES_OWN : SAMPLES_CPU;
}

static int compare_units(const void *a, const void *b, enum samples_part part)
{
	const struct timed_unit *left = *(struct timed_unit *const *)a;
	const struct timed_unit *right = *(struct timed_unit *const *)b;

	return order_of(left->timing, right->timing) ?: order_of(left->causes, right->causes) ?:
	       order_of(left->parts_ns[part], right->parts_ns[part]);
}

static int compare_own(const void *a, const void *b)
{
	return compare_units(a, b, SAMPLES_OWN);
}

static int compare_cpu(const void *a, const void *b)
{
	return compare_units(a, b, SAMPLES_CPU);
}

static void sort_units(struct added_time *added, enum samples_part part)
{
	if (added->nr_units)
		qsort(added->units, added->nr_units, sizeof(*added->units),
		      part == SAMPLES_OWN ? compare_own : compare_cpu);
}

/* Where the timing that begins at @begin ends. */
static size_t timing_end(const struct added_time *added, size_t begin)
{
	size_t end = begin;

	while (end < added->nr_units && added->units[end]->timing == added->units[begin]->timing)
		end++;
	return end;
}

/*
 * Of @nr units of one timing, whether those with this cause alone, which are from *@begin to
 * *@end, are few beside the *@calm ones.
 */
static bool is_rare(struct timed_unit *const *units, size_t nr, enum samples_cause cause,
		    size_t *calm, size_t *begin, size_t *end)
{
	uint32_t bit = bit_of(cause);

	*calm = array_bisect(i, nr, units[i]->causes > 0);
	*begin = array_bisect(i, nr, units[i]->causes >= bit);
	*end = array_bisect(i, nr, units[i]->causes > bit);
	return *calm >= MIN_CALM && (*end - *begin) * RARE <= *calm;
}

/* @nr units of one timing.  Returns whether they say what is added, by however few of them. */
static bool compare_kinds(struct added_time *added, struct timed_unit *const *units, size_t nr,
			  enum samples_cause cause)
{
	enum samples_part part = part_of(cause);
	uint64_t usual_ns, most_ns;
	size_t calm, begin, end;

	if (!is_rare(units, nr, cause, &calm, &begin, &end))
		return false;
	usual_ns = units[calm / 2]->parts_ns[part];
	most_ns = units[calm - 1 - calm / ONE_IN]->parts_ns[part];
	if ((double)most_ns > ALIKE * (double)usual_ns)
		return false;
	for (size_t i = begin; i < end; i++) {
		uint64_t ns = units[i]->parts_ns[part];

		added->seen_ns[added->nr_seen++] = ns > usual_ns ? ns - usual_ns : 0;
	}
	return true;
}

/* Of enough units. */
static uint64_t usually_added(struct added_time *added)
{
	size_t nr = added->nr_seen;
	uint64_t ns;

	qsort(added->seen_ns, nr, sizeof(*added->seen_ns), order_u64);
	ns = added->seen_ns[nr - 1 - nr / ONE_IN];
	return ns < PERFGUARD_MAX_ADDED_NS ? ns : PERFGUARD_MAX_ADDED_NS;
}

/* Unlike interrupts, batches are no more of long units than of short ones. */
static bool are_batches_rare(const struct added_time *added)
{
	size_t batched = 0;

	for (size_t i = 0; i < added->nr_units; i++)
		batched += !!(added->units[i]->causes & bit_of(SAMPLES_BATCH));
	return batched * (RARE + 1) <= added->nr_units;
}

/* Where units are alike, too few with a cause say nothing of batches; interrupts come to all. */
static void find(struct added_time *added, enum samples_cause cause)
{
	bool are_alike = false;

	if (cause == SAMPLES_BATCH && !are_batches_rare(added))
		return;
	sort_units(added, part_of(cause));
	added->nr_seen = 0;
	for (size_t begin = 0, end; begin < added->nr_units; begin = end) {
		end = timing_end(added, begin);
		are_alike |= compare_kinds(added, added->units + begin, end - begin, cause);
	}
	if (added->nr_seen >= MIN_ADDED)
		added->ns[cause] = usually_added(added);
	else if (cause == SAMPLES_INTERRUPT && are_alike)
		added->ns[cause] = ASSUMED_NS;
}

/*
 * Whether a unit says nothing of its type: more than the half of it may have been added, and
 * without that it is no longer than calm ones.  A longer one may be late, so it counts.
 */
static bool says_nothing(uint64_t own_ns, uint64_t added_ns, uint64_t most_calm_ns)
{
	return added_time_is_most(own_ns, added_ns) &&
	       (own_ns < added_ns || own_ns - added_ns <= most_calm_ns);
}

static void take_off_unit(struct timed_unit *unit, uint64_t added_ns, bool is_longer)
{
	uint64_t *parts_ns = unit->parts_ns;

	parts_ns[SAMPLES_OWN] = is_longer ? parts_ns[SAMPLES_OWN] - added_ns :
					    added_time_take_off(parts_ns[SAMPLES_OWN], added_ns);
	parts_ns[SAMPLES_CPU] = added_time_take_off(parts_ns[SAMPLES_CPU], added_ns);
}

/* @nr units of one timing, by own time; where calm ones show what they take, some are left out. */
static void take_off(const struct added_time *added, struct timed_unit *const *units, size_t nr)
{
	size_t calm, begin, end;
	uint64_t most_calm_ns = 0;
	uint32_t rare = 0;

	for (int cause = 0; cause < SAMPLES_NR_CAUSES; cause++)
		if (is_rare(units, nr, cause, &calm, &begin, &end))
			rare |= bit_of(cause);
	if (rare)
		most_calm_ns = units[calm - 1 - calm / ONE_IN]->parts_ns[SAMPLES_OWN];
	for (size_t i = 0; i < nr; i++) {
		bool is_rare_unit = units[i]->causes & rare;
		uint64_t own_ns = units[i]->parts_ns[SAMPLES_OWN], ns = 0;

		for (int cause = 0; cause < SAMPLES_NR_CAUSES; cause++)
			if (units[i]->causes & bit_of(cause))
				ns += added->ns[cause];
		units[i]->is_left_out = is_rare_unit && says_nothing(own_ns, ns, most_calm_ns);
		take_off_unit(units[i], ns, is_rare_unit && !units[i]->is_left_out);
	}
}

static void find_all(struct added_time *added, struct samples *samples)
{
	for (int cause = 0; cause < SAMPLES_NR_CAUSES; cause++)
		find(added, cause);
	sort_units(added, SAMPLES_OWN);
	for (size_t begin = 0, end; begin < added->nr_units; begin = end) {
		end = timing_end(added, begin);
		take_off(added, added->units + begin, end - begin);
	}
	for (uint32_t i = 0; i < samples->nr_timings; i++)
		for (int half = 0; half < 2; half++)
			memcpy(samples->timings[i].times[half].added_ns, added->ns,
			       sizeof(added->ns));
}

int find_added(struct samples *samples, struct timed_unit *units, size_t nr)
{
	struct added_time added = { .nr_units = nr };
	int ret = 0;

	if (array_new(added.units, nr) || array_new(added.seen_ns, nr))
		ret = -ENOMEM;
	for (size_t i = 0; i < nr && !ret; i++)
		added.units[i] = &units[i];
	if (!ret)
		find_all(&added, samples);
	free(added.units);
	free(added.seen_ns);
	return ret;
}
