/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How far limits reach beyond the means of the units that guards leave together.
 *
 * A timing run shows how long the units take that hit the same contexts.  Where only some of
 * its guards stay, units of several such kinds become one, and its limit must allow for the longest
 * of them, though they be few.  The reach is the power mean of the kinds' median times by their
 * mean, in bits, the mean over units: how often a limit is doubled.  The power is the sixth, so
 * a kind of one unit in a thousand that takes ten times as long as others makes it three times the
 * mean.  It is 0 where all that stays together takes equally long.
 */
#ifndef _USER_TRAIN_GUARDS_REACH_H
#define _USER_TRAIN_GUARDS_REACH_H

#include "data/samples.h"

struct reach_kind; /* the units of a timing */

struct reach {
	struct reach_kind *kinds;
	uint32_t nr_kinds;
	const uint32_t *functions;
	uint32_t nr_functions;
	uint64_t *features; /* by function, then kind: hash of its depths there, or 0 */
};

/*
 * Of the timings, learnt from, in whose runs all @nr @functions, rising, had guards; none is
 * chosen.  @functions must outlive it.  Returns 0 or -ENOMEM.
 */
int reach_init(struct reach *reach, const struct samples *samples, const uint32_t *functions,
	       uint32_t nr);
void reach_deinit(struct reach *reach);

/* *@ret gets the reach if the function at @at were chosen too.  Returns 0 or -ENOMEM. */
int reach_try(const struct reach *reach, uint32_t at, double *ret);

/* Choose the function at @at. */
void reach_choose(struct reach *reach, uint32_t at);

/* *@ret gets the reach of what is chosen.  Returns 0 or -ENOMEM. */
int reach_now(const struct reach *reach, double *ret);

#endif /* _USER_TRAIN_GUARDS_REACH_H */
