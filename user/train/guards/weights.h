/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What rule W of perfguard/infer.h is trained with: the start scores of types
 * and the weights of contexts, from the units that are learnt from.
 *
 * Of a type's n units, k met a context: the chance is (k + a) / (n + 2a), with
 * a = WEIGHTS_SMOOTHING.  A type none of whose units met a context is no
 * candidate of it, which stands for a chance of 2^-10.  A type's prior is
 * (n + 1) / (units + types) of its loop.
 */
#ifndef _USER_TRAIN_GUARDS_WEIGHTS_H
#define _USER_TRAIN_GUARDS_WEIGHTS_H

#include "data/model.h"
#include "train/guards/signature.h"
#include "train/types/types.h"

#define WEIGHTS_SMOOTHING 0.1

/*
 * Make the types of @model, with loop and start scores, and its guards, contexts
 * and weights.  @functions are the @nr ones that carry a guard, rising.  What
 * was there before of these arrays is freed.  Returns 0 or -ENOMEM.
 */
int weights_learn(const struct signatures *signatures, const struct types *types,
		  const uint32_t *functions, uint32_t nr, struct model *model);

#endif /* _USER_TRAIN_GUARDS_WEIGHTS_H */
