/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Limits that people have set: service-level objectives beside what was learnt.
 */
#ifndef _USER_TRAIN_MODEL_OBJECTIVES_H
#define _USER_TRAIN_MODEL_OBJECTIVES_H

#include "data/model.h"

/*
 * Give each type of @model the strictest of the objectives that are of all types, or of one of
 * its trees; @type_of_tree by tree, or SAMPLES_NONE.  Those of trees that are no more known
 * are of no type.
 */
void set_objectives(const struct samples *samples, const uint32_t *type_of_tree,
		    struct model *model);

/*
 * Set an objective of the type with this number, 0 of all types; no limit (0) takes it off.
 * It counts once the model is derived again.  Returns 0, -ENOENT without such a type, or
 * -ENOMEM.
 */
int objective_set(struct samples *samples, const struct model *model, uint32_t type,
		  uint64_t limit_ns);

#endif /* _USER_TRAIN_MODEL_OBJECTIVES_H */
