// SPDX-License-Identifier: GPL-2.0

#include "train/guards/novelty-floor.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "train/guards/infer-tables.h"

/* The tables have no floor yet, so a unit fits by its contexts alone. */
static void learn(const struct samples *samples, const struct infer_tables *tables, int16_t *least)
{
	for (uint32_t i = 0; i < samples->nr_units; i++) {
		const struct samples_unit *unit = &samples->units[i];
		uint32_t loop = samples->trees[unit->tree].loop, type;
		struct table *table = &tables->loops[loop];
		int score;

		if (!unit->units[0] || !infer_tables_feed(tables, loop, unit->hits, unit->nr_hits))
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

static void judge(const struct samples *samples, const struct infer_tables *tables,
		  struct novelty_floor_share *shares)
{
	for (uint32_t i = 0; i < samples->nr_units; i++) {
		const struct samples_unit *unit = &samples->units[i];
		uint32_t loop = samples->trees[unit->tree].loop;
		struct table *table = &tables->loops[loop];

		if (!unit->units[1] || !table->table.nr_types)
			continue;
		shares[loop].units += unit->units[1];
		if (!infer_tables_feed(tables, loop, unit->hits, unit->nr_hits) ||
		    !infer_fits(&table->table, table->state))
			shares[loop].novel += unit->units[1];
	}
}

int novelty_floors_init(struct novelty_floors *floors, const struct samples *samples,
			const struct model *model)
{
	struct infer_tables tables = { 0 };
	int ret = array_new(floors->least_final, model->nr_types);

	if (array_new(floors->shares, samples->nr_loops))
		ret = -ENOMEM;
	if (!ret)
		ret = samples_are_sound(samples) ? 0 : -EINVAL;
	if (!ret)
		ret = infer_tables_init(&tables, samples, model, false);
	if (!ret) {
		for (uint32_t i = 0; i < model->nr_types; i++)
			floors->least_final[i] = INT16_MIN;
		learn(samples, &tables, floors->least_final);
		for (uint32_t i = 0; i < model->nr_types; i++)
			tables.types[i].least_final = floors->least_final[i];
		judge(samples, &tables, floors->shares);
	}
	infer_tables_deinit(&tables);
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
	double *novel;

	array_new(novel, nr_loops);
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
