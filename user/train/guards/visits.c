// SPDX-License-Identifier: GPL-2.0

#include "train/guards/visits.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

static int compare(const void *left, const void *right)
{
	const struct visit *a = left, *b = right;

	return order_of(a->type, b->type) ?: order_of(a->guard, b->guard) ?:
	       order_of(a->depth, b->depth);
}

static uint32_t type_of(const struct model *model, const struct samples_unit *unit)
{
	return unit->tree < model->nr_trees ? model->type_of_tree[unit->tree] : SAMPLES_NONE;
}

static uint64_t count_hits(const struct samples *samples, const struct model *model,
			   const uint32_t *guards)
{
	uint64_t nr = 0;

	for (uint32_t i = 0; i < samples->nr_units; i++) {
		const struct samples_unit *unit = &samples->units[i];

		if (type_of(model, unit) == SAMPLES_NONE)
			continue;
		for (uint32_t j = 0; j < unit->nr_hits; j++)
			nr += guards[unit->hits[j].function] != SAMPLES_NONE;
	}
	return nr;
}

static void take_unit(struct visits *visits, const struct samples_unit *unit, uint32_t type,
		      const uint32_t *guards)
{
	uint64_t units = unit->units[0] + unit->units[1];

	visits->units[type] += units;
	for (uint32_t i = 0; i < unit->nr_hits; i++) {
		const struct samples_hit *hit = &unit->hits[i];

		if (guards[hit->function] == SAMPLES_NONE || !units)
			continue;
		visits->entries[visits->nr++] = (struct visit){
			.type = type,
			.guard = guards[hit->function],
			.depth = hit->depth,
			.most = hit->count,
			.units = units,
			.hits = units * hit->count,
		};
	}
}

/* Sort them, and make one of equal ones. */
static void join(struct visits *visits)
{
	uint32_t nr = 0;

	if (visits->nr)
		qsort(visits->entries, visits->nr, sizeof(*visits->entries), compare);
	for (uint32_t i = 0; i < visits->nr; i++) {
		const struct visit *visit = &visits->entries[i];
		struct visit *last = nr ? &visits->entries[nr - 1] : NULL;

		if (!last || compare(last, visit)) {
			visits->entries[nr++] = *visit;
			continue;
		}
		last->units += visit->units;
		last->hits += visit->hits;
		if (visit->most > last->most)
			last->most = visit->most;
	}
	visits->nr = nr;
}

int visits_init(struct visits *visits, const struct samples *samples, const struct model *model)
{
	uint32_t *guards = model_guard_of(model, samples->nr_functions);
	uint64_t nr;

	memset(visits, 0, sizeof(*visits));
	if (!guards)
		return -ENOMEM;
	nr = count_hits(samples, model, guards);
	if (nr < UINT32_MAX)
		visits->entries = calloc(nr + 1, sizeof(*visits->entries));
	visits->units = calloc(model->nr_types + 1u, sizeof(*visits->units));
	if (!visits->entries || !visits->units) {
		free(guards);
		visits_deinit(visits);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < samples->nr_units; i++) {
		uint32_t type = type_of(model, &samples->units[i]);

		if (type != SAMPLES_NONE)
			take_unit(visits, &samples->units[i], type, guards);
	}
	free(guards);
	join(visits);
	return 0;
}

void visits_deinit(struct visits *visits)
{
	free(visits->entries);
	free(visits->units);
	memset(visits, 0, sizeof(*visits));
}

const struct visit *visits_find(const struct visits *visits, uint32_t type, uint32_t guard,
				uint32_t depth)
{
	struct visit key = { .type = type, .guard = guard, .depth = depth };

	if (!visits->nr)
		return NULL;
	return bsearch(&key, visits->entries, visits->nr, sizeof(key), compare);
}
