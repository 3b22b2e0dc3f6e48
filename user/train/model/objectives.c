// SPDX-License-Identifier: GPL-2.0

#include "train/model/objectives.h"

#include <errno.h>

static void tighten(struct model_type *type, uint64_t limit_ns)
{
	if (limit_ns && (!type->objective_ns || limit_ns < type->objective_ns))
		type->objective_ns = limit_ns;
}

void set_objectives(const struct samples *samples, const uint32_t *type_of_tree,
		    struct model *model)
{
	for (uint32_t i = 0; i < model->nr_types; i++)
		tighten(&model->types[i], samples_objective(samples, 0));
	for (uint32_t i = 0; i < samples->nr_trees; i++)
		if (type_of_tree[i] != SAMPLES_NONE)
			tighten(&model->types[type_of_tree[i]],
				samples_objective(samples, samples->trees[i].hash));
}

/* Those of its other trees that were the type's before are no more. */
static int forget(struct samples *samples, const struct model *model, uint32_t type)
{
	int ret = 0;

	for (uint32_t i = 0; i < model->nr_trees && !ret; i++)
		if (model->type_of_tree[i] == type)
			ret = samples_set_objective(samples, samples->trees[i].hash, 0);
	return ret;
}

int objective_set(struct samples *samples, const struct model *model, uint32_t type,
		  uint64_t limit_ns)
{
	uint32_t at = model_find_type(model, type), example;

	if (!type)
		return samples_set_objective(samples, 0, limit_ns);
	example = at == SAMPLES_NONE ? SAMPLES_NONE : model->types[at].example;
	if (example == SAMPLES_NONE)
		return -ENOENT;
	return forget(samples, model, at) ?:
	       samples_set_objective(samples, samples->trees[example].hash, limit_ns);
}
