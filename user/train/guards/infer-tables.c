// SPDX-License-Identifier: GPL-2.0

#include "train/guards/infer-tables.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

/* How far the arrays of the tables are filled. */
struct fill {
	uint32_t type;
	uint32_t context;
	uint32_t weight;
};

static int add_context(struct infer_tables *tables, const struct model *model, struct table *table,
		       struct fill *fill)
{
	const struct model_context *of = &model->contexts[fill->context];

	if (of->first_weight > model->nr_weights ||
	    of->nr_weights > model->nr_weights - of->first_weight ||
	    of->nr_weights > model->nr_weights - fill->weight)
		return -EINVAL;
	tables->contexts[fill->context++] = (struct infer_context){
		.site = of->guard,
		.depth = of->depth,
		.first_weight = table->table.nr_weights,
		.nr_weights = of->nr_weights,
	};
	for (uint32_t i = 0; i < of->nr_weights; i++) {
		const struct model_weight *weight = &model->weights[of->first_weight + i];

		if (weight->type < table->first_type ||
		    weight->type - table->first_type >= table->table.nr_types)
			return -EINVAL;
		tables->weights[fill->weight++] = (struct infer_weight){
			.type = (uint16_t)(weight->type - table->first_type),
			.early = weight->early,
			.final = weight->final,
		};
	}
	table->table.nr_weights += of->nr_weights;
	table->table.nr_contexts++;
	return 0;
}

static int add_table(struct infer_tables *tables, const struct model *model, uint32_t loop,
		     bool is_paper, struct fill *fill)
{
	struct table *table = &tables->loops[loop];

	table->first_type = fill->type;
	table->table = (struct infer_table){
		.types = &tables->types[fill->type],
		.contexts = &tables->contexts[fill->context],
		.weights = &tables->weights[fill->weight],
		.paper = is_paper,
	};
	for (; fill->type < model->nr_types && model->types[fill->type].loop == loop; fill->type++)
		tables->types[fill->type] = (struct infer_type){
			.threshold_ns = model->types[fill->type].limit_ns[SAMPLES_OWN],
			.id = model->types[fill->type].id,
			.base_early = model->types[fill->type].base_early,
			.base_final = model->types[fill->type].base_final,
			.least_final = INT16_MIN,
		};
	table->table.nr_types = fill->type - table->first_type;
	if (table->table.nr_types > INFER_MAX_TYPES)
		return -EINVAL;
	while (fill->context < model->nr_contexts && model->contexts[fill->context].loop == loop) {
		int ret = add_context(tables, model, table, fill);

		if (ret)
			return ret;
	}
	table->room = malloc(infer_room(&table->table));
	table->state = calloc(1, infer_state_size(&table->table));
	if (!table->room || !table->state)
		return -ENOMEM;
	return infer_table_init(&table->table, table->room);
}

int infer_tables_init(struct infer_tables *tables, const struct samples *samples,
		      const struct model *model, bool is_paper)
{
	struct fill fill = { 0 };
	int ret = 0;

	*tables = (struct infer_tables){ .nr_loops = samples->nr_loops };
	for (uint32_t i = 0; i < model->nr_guards; i++)
		if (model->guards[i].function >= samples->nr_functions)
			return -EINVAL;
	tables->guard_of = model_guard_of(model, samples->nr_functions);
	if (!tables->guard_of || array_new(tables->loops, samples->nr_loops) ||
	    array_new(tables->types, model->nr_types) ||
	    array_new(tables->contexts, model->nr_contexts) ||
	    array_new(tables->weights, model->nr_weights))
		ret = -ENOMEM;
	for (uint32_t i = 0; i < samples->nr_loops && !ret; i++)
		ret = add_table(tables, model, i, is_paper, &fill);
	if (!ret && (fill.type != model->nr_types || fill.context != model->nr_contexts))
		ret = -EINVAL;
	if (ret)
		infer_tables_deinit(tables);
	return ret;
}

void infer_tables_deinit(struct infer_tables *tables)
{
	for (uint32_t i = 0; tables->loops && i < tables->nr_loops; i++) {
		free(tables->loops[i].room);
		free(tables->loops[i].state);
	}
	free(tables->loops);
	free(tables->guard_of);
	free(tables->types);
	free(tables->contexts);
	free(tables->weights);
	memset(tables, 0, sizeof(*tables));
}

bool infer_tables_feed(const struct infer_tables *tables, uint32_t loop,
		       const struct samples_hit *hits, uint32_t nr)
{
	struct table *table = &tables->loops[loop];
	bool is_known = true;

	infer_begin(&table->table, table->state);
	for (uint32_t i = 0; i < nr; i++) {
		uint32_t guard = tables->guard_of[hits[i].function];

		if (guard != SAMPLES_NONE &&
		    !infer_hit(&table->table, table->state, guard, hits[i].depth))
			is_known = false;
	}
	return is_known;
}
