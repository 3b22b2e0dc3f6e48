/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Times of the machine where a profile is armed in place of those that it was trained
 * with.
 */
#ifndef _USER_TRAIN_MODEL_ADOPT_H
#define _USER_TRAIN_MODEL_ADOPT_H

#include <stdbool.h>

#include "data/model.h"

/* What was seen of a type. */
struct adopt_type {
	struct samples_parts times[2]; /* learnt from, and held back; without block I/O */
	bool is_adopted; /* set: they were taken */
	bool is_slow; /* set: the type is far slower than the others are; not taken */
};

/* How long units take there, by how long they took in training. */
struct adopt_pace {
	double of[SAMPLES_NR_PARTS]; /* 1: as long */
};

enum { ADOPT_MIN_UNITS = 30 };

/*
 * Take into @samples what was seen of each type of @model, @seen by type, in place of what
 * they have; it counts once the model is derived again.  A type that has not
 * ADOPT_MIN_UNITS, or is half as slow again as all types together, keeps its times, as
 * long or short as the machine makes them: *@pace is set to how long that is.
 * Requests count by themselves: those of a type that has ADOPT_MIN_UNITS of them are taken.
 * Returns 0, -ENOENT if the profile has no timed unit, or -ENOMEM.
 */
int adopt_times(struct samples *samples, const struct model *model, struct adopt_type *seen,
		struct adopt_pace *pace);

#endif /* _USER_TRAIN_MODEL_ADOPT_H */
