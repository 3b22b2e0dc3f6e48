// SPDX-License-Identifier: GPL-2.0
/* What is known of the units of a type. */

#include "data/histogram.h"
#include "out/metrics/families.h"

static void put_units(struct exposition *text, const struct metrics_type *type)
{
	exposition_u64(text, NULL, NULL, type->sums.units);
}

static void put_late(struct exposition *text, const struct metrics_type *type)
{
	exposition_u64(text, NULL, NULL, type->sums.late);
}

static void put_starved(struct exposition *text, const struct metrics_type *type)
{
	exposition_u64(text, NULL, NULL, type->sums.starved);
}

static void put_stopped(struct exposition *text, const struct metrics_type *type)
{
	exposition_u64(text, NULL, NULL, type->stopped);
}

static void put_novel(struct exposition *text, const struct metrics_type *type)
{
	exposition_u64(text, NULL, NULL, type->novel);
}

static void put_elapsed(struct exposition *text, const struct metrics_type *type)
{
	exposition_ns(text, NULL, NULL, type->sums.ns);
}

static void put_parts(struct exposition *text, const struct metrics_type *type)
{
	static const char *const parts[] = {
		[TOP_CPU] = "cpu", [TOP_RUNQUEUE] = "runqueue", [TOP_BLOCKED] = "blocked",
	};

	for (int i = 0; i < TOP_NR_PARTS; i++)
		exposition_ns(text, "part", parts[i], type->sums.part_ns[i]);
}

static void put_limits(struct exposition *text, const struct metrics_type *type)
{
	const struct armed_type *armed = type->armed;
	const struct { const char *part; uint64_t ns; } limits[] = {
		{ "own", armed ? armed->own_limit_ns : 0 },
		{ "cpu", armed ? armed->cpu_limit_ns : 0 },
		{ "blocked", armed ? armed->blocked_limit_ns : 0 },
		{ "block_io", armed ? armed->block_io_limit_ns : 0 },
	};

	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++)
		if (limits[i].ns)
			exposition_ns(text, "part", limits[i].part, limits[i].ns);
}

static void put_slow(struct exposition *text, const struct metrics_type *type)
{
	exposition_u64(text, NULL, NULL, type->is_slow);
}

/* Of one unit that fell into bucket @at: its middle; where it is open, the end that is known. */
static uint64_t about_ns(uint32_t first, uint32_t at)
{
	uint64_t above_ns = histogram_bucket_max(top_bucket_of(first, at));
	uint64_t below_ns = first + at ? histogram_bucket_max(top_bucket_of(first, at - 1)) : 0;

	if (!at || at == PERFGUARD_TIMES_BUCKETS - 1)
		return at ? below_ns : above_ns;
	return below_ns + (above_ns - below_ns) / 2;
}

/*
 * Two buckets for each power of two, at the same times for all types: those ends that the type's
 * own buckets have.  What is above these is not distinguished.
 */
static void put_times(struct exposition *text, const struct metrics_type *type)
{
	enum { STEP = 4 };
	const struct remembered_type *times = type->times;
	uint64_t nr = 0, sum_ns = 0;

	if (!times || !times->has_times)
		return;
	for (uint32_t i = 0; i < PERFGUARD_TIMES_BUCKETS; i++) {
		nr += times->nr[i];
		sum_ns += times->nr[i] * about_ns(times->first, i);
		if ((times->first + i) % STEP == STEP - 1 && i < PERFGUARD_TIMES_BUCKETS - 1)
			exposition_bucket(text,
					  histogram_bucket_max(top_bucket_of(times->first, i)), nr);
	}
	exposition_bucket(text, UINT64_MAX, nr);
	exposition_histogram_end(text, sum_ns, nr);
}

const struct metrics_family type_families[] = {
	{ { "perfguard_units", NULL, "Units that ended, late ones among them.", EXPOSITION_COUNTER },
	  .type = put_units },
	{ { "perfguard_units_late", NULL, "Units that ended late.", EXPOSITION_COUNTER },
	  .type = put_late },
	{ { "perfguard_units_starved", NULL,
	    "Units that would be late if their time in the run queue were their own.",
	    EXPOSITION_COUNTER }, .type = put_starved },
	{ { "perfguard_units_stopped", NULL,
	    "Units that would be late if the time in which they were stopped were their own.",
	    EXPOSITION_COUNTER }, .type = put_stopped },
	{ { "perfguard_units_novel", NULL, "Units that did not fit the type that was nearest.",
	    EXPOSITION_COUNTER }, .type = put_novel },
	{ { "perfguard_unit_elapsed_seconds", "seconds", "Time of units by the clock.",
	    EXPOSITION_COUNTER }, .type = put_elapsed },
	{ { "perfguard_unit_seconds", "seconds",
	    "Parts of the time of units; of a late one no run queue, and at most eight times its limit.",
	    EXPOSITION_COUNTER }, .type = put_parts },
	{ { "perfguard_unit_limit_seconds", "seconds", "From when on a unit is late, by the part of its time.",
	    EXPOSITION_GAUGE }, .type = put_limits },
	{ { "perfguard_unit_type_slow", NULL, "Whether the type has become slow as a whole.",
	    EXPOSITION_GAUGE }, .type = put_slow },
	{ { "perfguard_unit_duration_seconds", "seconds",
	    "Time of one unit of 128 without the run queue; its sum is that of the middles of buckets.",
	    EXPOSITION_HISTOGRAM }, .type = put_times },
	{ .family.name = NULL },
};
