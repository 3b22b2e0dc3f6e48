// SPDX-License-Identifier: GPL-2.0

#include "data/model.h"

#include <stdlib.h>
#include <string.h>

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
