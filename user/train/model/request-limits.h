/* SPDX-License-Identifier: GPL-2.0 */
/*
 * From when on a request is late, by the type of the unit that reads it: as type-limits.h has
 * it of a unit's own time, at the same rate of false alarms, of the requests.
 */
#ifndef _USER_TRAIN_MODEL_REQUEST_LIMITS_H
#define _USER_TRAIN_MODEL_REQUEST_LIMITS_H

#include "data/model.h"
#include "train/model/threshold.h"

/*
 * Set the requests, and their limits, of the @nr types of a loop.  @times are of the units of each,
 * those that are learnt from and those that are held back.  Returns 0 or -ENOMEM.
 */
int request_limits_set(struct model_type *types, struct samples_parts *const times[2], uint32_t nr,
		       const struct threshold_rule *rule);

#endif /* _USER_TRAIN_MODEL_REQUEST_LIMITS_H */
