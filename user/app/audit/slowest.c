// SPDX-License-Identifier: GPL-2.0

#include "app/audit/slowest.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <linux/perfguard.h>

#include "app/common/stacks.h"
#include "base/array.h"

/* Units that run at a time, and stacks of one unit; beyond that, forget. */
#define MAX_RUNNING 4096
#define MAX_STACKS_OF_UNIT 128

static void clear_unit(struct slow_unit *unit)
{
	stacks_free(unit->stacks, unit->nr_stacks);
	free(unit->cgroup);
	memset(unit, 0, sizeof(*unit));
}

static void remove_unit(struct slowest *slowest, uint32_t index)
{
	clear_unit(&slowest->units[index]);
	slowest->units[index] = slowest->units[--slowest->nr];
}

struct slow_unit *slowest_find(struct slowest *slowest, const struct record *record)
{
	for (uint32_t i = 0; i < slowest->nr; i++) {
		const struct record *known = &slowest->units[i].record;

		if (known->tid == record->tid && known->unit == record->unit &&
		    known->image_id == record->image_id)
			return &slowest->units[i];
	}
	return NULL;
}

static struct slow_unit *new_unit(struct slowest *slowest)
{
	struct slow_unit *unit;

	if (array_grow(slowest->units, slowest->nr, slowest->max))
		return NULL;
	unit = &slowest->units[slowest->nr++];
	memset(unit, 0, sizeof(*unit));
	return unit;
}

/* Drop the quickest ended unit if there are more than wanted. */
static void trim(struct slowest *slowest)
{
	uint32_t ended = 0, quickest = 0, oldest = 0;

	for (uint32_t i = 0; i < slowest->nr; i++) {
		const struct slow_unit *units = slowest->units;

		if (units[i].record.seq < units[oldest].record.seq)
			oldest = i;
		if (!units[i].has_ended)
			continue;
		if (!ended || units[i].total_ns < units[quickest].total_ns)
			quickest = i;
		ended++;
	}
	if (ended > slowest->nr_wanted)
		remove_unit(slowest, quickest);
	else if (slowest->nr - ended > MAX_RUNNING)
		remove_unit(slowest, oldest);
}

int slowest_add(struct slowest *slowest, const struct record *record, struct alert_stack *stacks,
		uint32_t nr_stacks, char *cgroup)
{
	struct slow_unit *unit = slowest_find(slowest, record);
	int ret = 0;

	if (!unit)
		unit = new_unit(slowest);
	if (!unit) {
		stacks_free(stacks, nr_stacks);
		free(cgroup);
		return -ENOMEM;
	}
	unit->record = *record;
	unit->record.stacks = NULL;
	unit->record.nr_stacks = 0;
	unit->has_ended = record->kind == PERFGUARD_RECORD_KIND_ENDED;
	unit->has_bare |= !unit->has_ended && !nr_stacks;
	unit->total_ns = record->account.elapsed_ns;
	if (unit->cgroup)
		free(cgroup);
	else
		unit->cgroup = cgroup;
	if (unit->nr_stacks + nr_stacks > MAX_STACKS_OF_UNIT)
		stacks_free(stacks, nr_stacks);
	else
		ret = stacks_append(&unit->stacks, &unit->nr_stacks, stacks, nr_stacks);
	trim(slowest);
	return ret;
}

static int compare_units(const void *left, const void *right)
{
	const struct slow_unit *a = left, *b = right;

	return order_of(b->total_ns, a->total_ns);
}

static bool is_alive(const struct record *record)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/task/%" PRIu32, record->pid, record->tid);
	return !access(path, F_OK);
}

void slowest_drop(struct slowest *slowest, bool (*fn)(const struct slow_unit *unit, void *arg),
		  void *arg)
{
	for (uint32_t i = slowest->nr; i-- > 0;)
		if (fn(&slowest->units[i], arg))
			remove_unit(slowest, i);
}

void slowest_finish(struct slowest *slowest, uint64_t wall_ns)
{
	for (uint32_t i = 0; i < slowest->nr; i++) {
		struct slow_unit *unit = &slowest->units[i];

		if (unit->has_ended || wall_ns <= unit->record.time_ns)
			continue;
		unit->is_cut = !is_alive(&unit->record);
		if (unit->is_cut)
			continue;
		unit->total_ns += wall_ns - unit->record.time_ns;
	}
	if (slowest->nr)
		qsort(slowest->units, slowest->nr, sizeof(*slowest->units), compare_units);
	while (slowest->nr > slowest->nr_wanted)
		clear_unit(&slowest->units[--slowest->nr]);
}

void slowest_deinit(struct slowest *slowest)
{
	while (slowest->nr)
		clear_unit(&slowest->units[--slowest->nr]);
	free(slowest->units);
	memset(slowest, 0, sizeof(*slowest));
}
