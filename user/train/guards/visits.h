/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How often the units of a type meet a context, in training: what a late unit's
 * own contexts are compared with.
 */
#ifndef _USER_TRAIN_GUARDS_VISITS_H
#define _USER_TRAIN_GUARDS_VISITS_H

#include <stdint.h>

#include "data/model.h"
#include "data/samples.h"

struct visit {
	uint32_t type; /* index into the model's types */
	uint32_t guard;
	uint32_t depth;
	uint32_t most; /* hits in one unit */
	uint64_t units; /* of the type, that met it */
	uint64_t hits; /* in all of them */
};

struct visits {
	struct visit *entries; /* by type, guard and depth */
	uint32_t nr;
	uint64_t *units; /* of each type, whether they met any or not */
};

/* Of all types and guards of a sound profile.  Returns 0 or -ENOMEM. */
int visits_init(struct visits *visits, const struct samples *samples, const struct model *model);
void visits_deinit(struct visits *visits);

/* NULL if no unit of the type ever did. */
const struct visit *visits_find(const struct visits *visits, uint32_t type, uint32_t guard,
				uint32_t depth);

#endif /* _USER_TRAIN_GUARDS_VISITS_H */
