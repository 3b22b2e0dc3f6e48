// SPDX-License-Identifier: GPL-2.0

#include "out/top/top-sums.h"

#include <stddef.h>

/* Of late units the run queue is not known, and of each no more than eight times its limit. */
struct top_sums top_sums_of(const struct armed_type *type)
{
	struct top_sums ret = { 0 };

	if (!type)
		return ret;
	ret.units = type->units + type->late;
	ret.late = type->late;
	ret.starved = type->starved;
	ret.ns = type->elapsed_ns + type->late_elapsed_ns;
	ret.part_ns[TOP_CPU] = type->cpu_ns + type->late_cpu_ns;
	ret.part_ns[TOP_RUNQUEUE] = type->runqueue_ns;
	ret.part_ns[TOP_BLOCKED] = type->elapsed_ns - type->cpu_ns - type->runqueue_ns +
				   type->late_blocked_ns;
	return ret;
}

void top_sums_add(struct top_sums *to, const struct top_sums *from)
{
	to->units += from->units;
	to->late += from->late;
	to->starved += from->starved;
	to->ns += from->ns;
	for (int i = 0; i < TOP_NR_PARTS; i++)
		to->part_ns[i] += from->part_ns[i];
}

uint32_t top_bucket_of(uint32_t first, uint32_t at)
{
	uint64_t bucket = 2 * ((uint64_t)first + at) + 1;

	return bucket < PERFGUARD_HIST_BUCKETS ? (uint32_t)bucket : PERFGUARD_HIST_BUCKETS - 1;
}
