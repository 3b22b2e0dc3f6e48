// SPDX-License-Identifier: GPL-2.0

#include "train/guards/novelty-floor.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "train/guards/infer-tables.h"

struct work {
	const struct samples *samples;
	struct infer_tables tables;
	uint32_t *guard_of; /* by function, or SAMPLES_NONE */
	struct novelty_floors *floors;
};

static int work_init(struct work *work, const struct samples *samples, const struct model *model)
{
	int ret = samples_are_sound(samples) ? 0 : -EINVAL;

	if (!ret)
		ret = infer_tables_init(&work->tables, model, samples->nr_loops, false);
	if (ret)
		return ret;
	for (uint32_t i = 0; i < model->nr_guards; i++)
		if (model->guards[i].function >= samples->nr_functions)
			return -EINVAL;
	work->guard_of = model_guard_of(model, samples->nr_functions);
	return work->guard_of ? 0 : -ENOMEM;
}

static void work_deinit(struct work *work)
{
	infer_tables_deinit(&work->tables);
	free(work->guard_of);
}

/* Let the table's state see the unit; returns whether it knows all its contexts. */
static bool feed(struct work *work, struct table *table, const struct samples_unit *unit)
{
	bool is_known = true;

	infer_begin(&table->table, table->state);
	for (uint32_t i = 0; i < unit->nr_hits; i++) {
		const struct samples_hit *hit = &unit->hits[i];
		uint32_t guard = work->guard_of[hit->function];

		if (guard != SAMPLES_NONE &&
		    !infer_hit(&table->table, table->state, guard, hit->depth))
			is_known = false;
	}
	return is_known;
}

static struct table *table_of(struct work *work, const struct samples_unit *unit)
{
	return &work->tables.loops[work->samples->trees[unit->tree].loop];
}

/* The tables have no floor yet, so a unit fits by its contexts alone. */
static void learn(struct work *work)
{
	int16_t *least = work->floors->least_final;

	for (uint32_t i = 0; i < work->samples->nr_units; i++) {
		const struct samples_unit *unit = &work->samples->units[i];
		struct table *table = table_of(work, unit);
		uint32_t type;
		int score;

		if (!unit->units[0] || !feed(work, table, unit))
			continue;
		type = infer_end(&table->table, table->state);
		if (type == INFER_NO_TYPE || !infer_fits(&table->table, table->state))
			continue;
		score = infer_get(&table->table, table->state, type, 1);
		score -= INFER_PER_BIT * NOVELTY_FLOOR_SLACK_BITS;
		if (score <= INT16_MIN)
			score = INT16_MIN + 1;
		type += table->first_type;
		if (least[type] == INT16_MIN || score < least[type])
			least[type] = (int16_t)score;
	}
}

static void judge(struct work *work)
{
	for (uint32_t i = 0; i < work->samples->nr_units; i++) {
		const struct samples_unit *unit = &work->samples->units[i];
		struct table *table = table_of(work, unit);
		struct novelty_floor_share *share;
		bool is_known;

		if (!unit->units[1] || !table->table.nr_types)
			continue;
		share = &work->floors->shares[work->samples->trees[unit->tree].loop];
		share->units += unit->units[1];
		is_known = feed(work, table, unit);
		if (!is_known || !infer_fits(&table->table, table->state))
			share->novel += unit->units[1];
	}
}

int novelty_floors_init(struct novelty_floors *floors, const struct samples *samples,
			const struct model *model)
{
	struct work work = { .samples = samples, .floors = floors };
	int ret = -ENOMEM;

	floors->least_final = calloc((size_t)model->nr_types + 1, sizeof(*floors->least_final));
	floors->shares = calloc((size_t)samples->nr_loops + 1, sizeof(*floors->shares));
	if (floors->least_final && floors->shares)
		ret = work_init(&work, samples, model);
	if (!ret) {
		for (uint32_t i = 0; i < model->nr_types; i++)
			floors->least_final[i] = INT16_MIN;
		learn(&work);
		for (uint32_t i = 0; i < model->nr_types; i++)
			work.tables.types[i].least_final = floors->least_final[i];
		judge(&work);
	}
	work_deinit(&work);
	if (ret)
		novelty_floors_deinit(floors);
	return ret;
}

void novelty_floors_deinit(struct novelty_floors *floors)
{
	free(floors->least_final);
	free(floors->shares);
	memset(floors, 0, sizeof(*floors));
}

double *novelty_floors_by_loop(const struct novelty_floors *floors, uint32_t nr_loops)
{
	double *novel = calloc((size_t)nr_loops + 1, sizeof(*novel));

	for (uint32_t i = 0; novel && i < nr_loops; i++)
		if (floors->shares[i].units)
			novel[i] = (double)floors->shares[i].novel /
				   (double)floors->shares[i].units;
	return novel;
}

double novelty_floors_novel(const struct novelty_floors *floors, uint32_t nr_loops)
{
	double units = 0, novel = 0;

	for (uint32_t i = 0; i < nr_loops; i++) {
		units += (double)floors->shares[i].units;
		novel += (double)floors->shares[i].novel;
	}
	return units > 0 ? novel / units : -1;
}
