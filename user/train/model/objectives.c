// SPDX-License-Identifier: GPL-2.0

#include "train/model/objectives.h"

#include <errno.h>
#include <stddef.h>

static void tighten(struct model_type *type, uint64_t limit_ns)
{
	if (!type->objective_ns || limit_ns < type->objective_ns)
		type->objective_ns = limit_ns;
}

void set_objectives(const struct samples *samples, const uint32_t *type_of_tree,
		    struct model *model)
{
	for (uint32_t i = 0; i < samples->nr_objectives; i++) {
		const struct samples_objective *objective = &samples->objectives[i];

		for (uint32_t j = 0; j < model->nr_types && !objective->tree; j++)
			tighten(&model->types[j], objective->limit_ns);
		for (uint32_t j = 0; j < samples->nr_trees && objective->tree; j++)
			if (samples->trees[j].hash == objective->tree &&
			    type_of_tree[j] != SAMPLES_NONE)
				tighten(&model->types[type_of_tree[j]], objective->limit_ns);
	}
}

static const struct model_type *find_type(const struct model *model, uint32_t id)
{
	for (uint32_t i = 0; i < model->nr_types; i++)
		if (model->types[i].id == id)
			return &model->types[i];
	return NULL;
}

/* Those of its other trees that were the type's before are no more. */
static int forget(struct samples *samples, const struct model *model, const struct model_type *type)
{
	int ret = 0;

	for (uint32_t i = 0; i < model->nr_trees && !ret; i++)
		if (model->type_of_tree[i] == (uint32_t)(type - model->types))
			ret = samples_set_objective(samples, samples->trees[i].hash, 0);
	return ret;
}

int objective_set(struct samples *samples, const struct model *model, uint32_t type,
		  uint64_t limit_ns)
{
	const struct model_type *of = type ? find_type(model, type) : NULL;

	if (!type)
		return samples_set_objective(samples, 0, limit_ns);
	if (!of || of->example == SAMPLES_NONE)
		return -ENOENT;
	return forget(samples, model, of) ?:
	       samples_set_objective(samples, samples->trees[of->example].hash, limit_ns);
}
