// SPDX-License-Identifier: GPL-2.0

#include "train/types/describe.h"

#include <stdlib.h>

#include "base/array.h"

/* Sum up the trees of each type. */
static void add_trees(const struct samples *samples, const struct types *types,
		      struct model *model)
{
	for (uint32_t i = 0; i < samples->nr_trees; i++) {
		const struct samples_tree *tree = &samples->trees[i], *example;
		uint64_t units = tree->units[0] + tree->units[1];
		struct model_type *type;

		if (types->of_tree[i] == SAMPLES_NONE)
			continue;
		type = &model->types[types->of_tree[i]];
		example = type->example == SAMPLES_NONE ? NULL : &samples->trees[type->example];
		if (!example || units > example->units[0] + example->units[1])
			type->example = i;
		type->nr_trees++;
		type->units += units;
		type->paths += (double)units * tree->nr_leaves;
	}
	for (uint32_t i = 0; i < model->nr_types; i++)
		if (model->types[i].units)
			model->types[i].paths /= (double)model->types[i].units;
}

/* Of units, only so many variants are kept: the mean is over those. */
static int add_functions(const struct samples *samples, const struct types *types,
			 struct model *model)
{
	uint32_t *last;
	double *units = NULL;
	int ret = array_new(last, samples->nr_functions) ?: array_new(units, model->nr_types);

	for (uint32_t i = 0; i < samples->nr_units && !ret; i++) {
		const struct samples_unit *unit = &samples->units[i];
		double all = (double)unit->units[0] + (double)unit->units[1];
		uint32_t type = types->of_tree[unit->tree], nr = 0;

		if (type == SAMPLES_NONE)
			continue;
		for (uint32_t j = 0; j < unit->nr_hits; j++) {
			nr += last[unit->hits[j].function] != i + 1;
			last[unit->hits[j].function] = i + 1;
		}
		model->types[type].functions += all * nr;
		units[type] += all;
	}
	for (uint32_t i = 0; i < model->nr_types && !ret; i++)
		if (units[i] > 0)
			model->types[i].functions /= units[i];
	free(last);
	free(units);
	return ret;
}

int describe_types(const struct samples *samples, const struct types *types, struct model *model)
{
	for (uint32_t i = 0; i < model->nr_types; i++) {
		model->types[i].id = i + 1;
		model->types[i].example = SAMPLES_NONE;
		model->types[i].units = 0;
	}
	add_trees(samples, types, model);
	return add_functions(samples, types, model);
}
