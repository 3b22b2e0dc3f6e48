// SPDX-License-Identifier: GPL-2.0

#include "data/model.h"

#include <stdlib.h>
#include <string.h>

uint32_t *model_guard_of(const struct model *model, uint32_t nr_functions)
{
	uint32_t *guard_of = calloc((size_t)nr_functions + 1, sizeof(*guard_of));

	for (uint32_t i = 0; guard_of && i < nr_functions; i++)
		guard_of[i] = SAMPLES_NONE;
	for (uint32_t i = 0; guard_of && i < model->nr_guards; i++)
		guard_of[model->guards[i].function] = i;
	return guard_of;
}

uint32_t model_find_type(const struct model *model, uint32_t id)
{
	for (uint32_t i = 0; i < model->nr_types; i++)
		if (model->types[i].id == id)
			return i;
	return SAMPLES_NONE;
}

void model_deinit(struct model *model)
{
	free(model->types);
	free(model->guards);
	free(model->contexts);
	free(model->weights);
	free(model->predictions);
	free(model->type_of_tree);
	memset(model, 0, sizeof(*model));
}
