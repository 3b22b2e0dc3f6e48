/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What is said of types, apart from how they are identified: size, example, cost.
 */
#ifndef _USER_TRAIN_TYPES_DESCRIBE_H
#define _USER_TRAIN_TYPES_DESCRIBE_H

#include "data/model.h"
#include "train/types/types.h"

/*
 * Set id, units, trees, example, paths and functions of @model's types, which
 * are those of @types.  Returns 0 or -ENOMEM.
 */
int describe_types(const struct samples *samples, const struct types *types, struct model *model);

#endif /* _USER_TRAIN_TYPES_DESCRIBE_H */
