// SPDX-License-Identifier: GPL-2.0

#include "app/watch/late-units.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "app/common/stacks.h"
#include "base/array.h"

enum {
	/* A unit whose thread is killed never ends. */
	MAX_UNITS = 4096,
	MAX_STACKS = 128,
};

static void clear(struct late_unit *unit)
{
	stacks_free(unit->stacks, unit->nr_stacks);
	memset(unit, 0, sizeof(*unit));
}

void late_units_remove(struct late_units *units, struct late_unit *unit)
{
	clear(unit);
	*unit = units->entries[--units->nr];
}

static void remove_oldest(struct late_units *units)
{
	struct late_unit *oldest = units->entries;

	for (uint32_t i = 1; i < units->nr; i++)
		if (units->entries[i].heard < oldest->heard)
			oldest = &units->entries[i];
	late_units_remove(units, oldest);
}

struct late_unit *late_units_get(struct late_units *units, const struct record *record)
{
	struct late_unit *unit;

	for (uint32_t i = 0; i < units->nr; i++) {
		unit = &units->entries[i];
		if (unit->unit != record->unit || unit->tid != record->tid ||
		    unit->target_id != record->target_id)
			continue;
		unit->heard = ++units->heard;
		return unit;
	}
	if (units->nr == MAX_UNITS)
		remove_oldest(units);
	if (array_grow(units->entries, units->nr, units->max))
		return NULL;
	unit = &units->entries[units->nr++];
	*unit = (struct late_unit){
		.target_id = record->target_id,
		.tid = record->tid,
		.unit = record->unit,
		.heard = ++units->heard,
	};
	return unit;
}

void late_units_deinit(struct late_units *units)
{
	for (uint32_t i = 0; i < units->nr; i++)
		clear(&units->entries[i]);
	free(units->entries);
	memset(units, 0, sizeof(*units));
}

void late_unit_reset(struct late_unit *unit)
{
	const struct late_unit old = *unit;

	clear(unit);
	unit->target_id = old.target_id;
	unit->tid = old.tid;
	unit->unit = old.unit;
	unit->heard = old.heard;
}

static int compare_stacks(const void *left, const void *right)
{
	const struct alert_stack *a = left, *b = right;

	return order_of(a->at_ns, b->at_ns) ?: order_of(a->tid, b->tid);
}

static void thin_out(struct late_unit *unit)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < unit->nr_stacks; i++) {
		if (i % 2)
			free(unit->stacks[i].frames);
		else
			unit->stacks[nr++] = unit->stacks[i];
	}
	unit->nr_stacks = nr;
}

int late_unit_add(struct late_unit *unit, struct alert_stack *stacks, uint32_t nr)
{
	while (unit->nr_stacks > MAX_STACKS)
		thin_out(unit);
	if (stacks_append(&unit->stacks, &unit->nr_stacks, stacks, nr))
		return -ENOMEM;
	qsort(unit->stacks, unit->nr_stacks, sizeof(*unit->stacks), compare_stacks);
	return 0;
}
