/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Types that the guards cannot distinguish become one, instead of being
 * pretended.
 */
#ifndef _USER_TRAIN_GUARDS_MERGE_H
#define _USER_TRAIN_GUARDS_MERGE_H

#include "train/guards/signature.h"
#include "train/types/types.h"

/*
 * A pair of types is merged if more training units are mistaken between the two
 * than this share of the smaller type's.
 */
#define MERGE_LIMIT 0.25

/*
 * Merge types, those with the most mistakes first, as long as rule W with
 * guards in the @nr @functions becomes more often right on the training units.
 * Returns 0, -EINVAL or -ENOMEM.
 */
int merge_types(const struct signatures *signatures, const uint32_t *functions, uint32_t nr,
		double limit, struct types *types);

#endif /* _USER_TRAIN_GUARDS_MERGE_H */
