/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A model as the tables that perfguard/infer.h works on, one for each loop.
 * A type's index in its loop's table is that in the model less first_type; a
 * site's number is the index of the guard.
 */
#ifndef _USER_TRAIN_GUARDS_INFER_TABLES_H
#define _USER_TRAIN_GUARDS_INFER_TABLES_H

#include <stdbool.h>

#include <perfguard/infer.h>

#include "data/model.h"
#include "data/samples.h"

struct table {
	struct infer_table table;
	struct infer_state *state; /* for one unit at a time */
	uint32_t first_type;
	void *room; /* of the table */
};

struct infer_tables {
	struct table *loops;
	uint32_t nr_loops;
	uint32_t *guard_of; /* by function of the samples, or SAMPLES_NONE */
	struct infer_type *types;
	struct infer_context *contexts;
	struct infer_weight *weights;
};

/*
 * @model's types and contexts must be sorted by loop.  @is_paper: by the
 * paper's rule.  Returns 0, -EINVAL for a model whose numbers do not fit
 * together or to @samples, or -ENOMEM.
 */
int infer_tables_init(struct infer_tables *tables, const struct samples *samples,
		      const struct model *model, bool is_paper);
void infer_tables_deinit(struct infer_tables *tables);

/* Begin a unit of @loop with these hits; returns false if a guard lacks one's context. */
bool infer_tables_feed(const struct infer_tables *tables, uint32_t loop,
		       const struct samples_hit *hits, uint32_t nr);

/* The index in the model of a type of @table; SAMPLES_NONE for INFER_NO_TYPE. */
static inline uint32_t infer_tables_type(const struct table *table, uint16_t type)
{
	return type == INFER_NO_TYPE ? SAMPLES_NONE : table->first_type + type;
}

#endif /* _USER_TRAIN_GUARDS_INFER_TABLES_H */
