/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Compare two profiles.  Types are the same if they call mostly the same of those functions
 * that not all types call; see same-function.h.
 */
#ifndef _USER_TRAIN_MODEL_COMPARE_H
#define _USER_TRAIN_MODEL_COMPARE_H

#include "data/difference.h"
#include "data/model.h"

/* A profile, and how long the units of its types take. */
struct compare_side {
	const struct samples *samples;
	const struct model *model;
	const struct samples_parts *times; /* by type */
	const uint64_t *least_ns; /* by type: shorter times were not distinguished; or NULL */
};

/*
 * A time that differs by a twentieth is sure to have changed if chance makes one in a hundred
 * comparisons of profiles show any such difference; see part-test.h.  @b may have least_ns.
 * Returns 0, -E2BIG or -ENOMEM; difference_deinit() in the first case.
 */
int compare_profiles(const struct compare_side *a, const struct compare_side *b,
		     struct difference *ret);

void difference_deinit(struct difference *difference);

#endif /* _USER_TRAIN_MODEL_COMPARE_H */
