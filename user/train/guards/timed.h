/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How long units of each type took in the timing runs: the type of a timed unit
 * is what the model infers from the guards it hit.
 */
#ifndef _USER_TRAIN_GUARDS_TIMED_H
#define _USER_TRAIN_GUARDS_TIMED_H

#include <stdbool.h>

#include "data/model.h"

struct timed {
	struct samples_parts *types[2]; /* by type: learnt from, and held back */
	struct samples_times *loops[2]; /* by loop: the same, of all its types; their own time */
	bool *is_confirmed; /* by type: units of this build were timed */
	bool *has_carried; /* by loop: units of another build were */
	uint32_t nr_types;
	uint32_t nr_loops;
};

/*
 * The type of the units of each timing, as @model's guards infer it; SAMPLES_NONE of those
 * that hit one of them in a context that it does not know, or in whose run not all of them were on.  @ret has room for all timings.  Returns as below.
 */
int timed_types(const struct samples *samples, const struct model *model, uint32_t *ret);

/*
 * For types those timings of @samples count in whose runs all of @model's
 * guards were on, for loops all.  Returns 0, -EINVAL or -ENOMEM.
 */
int timed_init(struct timed *timed, const struct samples *samples, const struct model *model);
void timed_deinit(struct timed *timed);

/* True if all @nr @functions, rising, are among those of @guards. */
bool timed_covers(const struct samples_guards *guards, const uint32_t *functions, uint32_t nr);

/* Timed units of the runs in which all of the @nr @functions, rising, had guards. */
uint64_t timed_units(const struct samples *samples, const uint32_t *functions, uint32_t nr);

/*
 * Mean own time of a unit of @loop in all timing runs, less what the guards took at
 * @hit_ns a hit; 0 if none was timed.
 */
double timed_mean(const struct samples *samples, uint32_t loop, double hit_ns);

#endif /* _USER_TRAIN_GUARDS_TIMED_H */
