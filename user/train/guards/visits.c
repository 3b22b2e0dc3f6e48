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

static int take_unit(struct visits *visits, const struct samples_unit *unit, uint32_t type,
		     const uint32_t *guards, size_t *max)
{
	uint64_t units = unit->units[0] + unit->units[1];

	visits->units[type] += units;
	for (uint32_t i = 0; i < unit->nr_hits; i++) {
		const struct samples_hit *hit = &unit->hits[i];

		if (guards[hit->function] == SAMPLES_NONE || !units)
			continue;
		if (array_grow(visits->entries, visits->nr, *max))
			return -ENOMEM;
		visits->entries[visits->nr++] = (struct visit){
			.type = type,
			.guard = guards[hit->function],
			.depth = hit->depth,
			.most = hit->count,
			.units = units,
			.hits = units * hit->count,
		};
	}
	return 0;
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
	size_t max = 0;
	int ret = guards ? 0 : -ENOMEM;

	memset(visits, 0, sizeof(*visits));
	if (!ret)
		ret = array_new(visits->units, model->nr_types);
	for (uint32_t i = 0; i < samples->nr_units && !ret; i++) {
		uint32_t type = type_of(model, &samples->units[i]);

		if (type != SAMPLES_NONE)
			ret = take_unit(visits, &samples->units[i], type, guards, &max);
	}
	free(guards);
	if (ret)
		visits_deinit(visits);
	else
		join(visits);
	return ret;
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
