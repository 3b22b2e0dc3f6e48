/* SPDX-License-Identifier: GPL-2.0 */
/*
 * From when on a unit is late: the limits of the parts of its time.
 *
 * The declared rate of false alarms is shared out among the parts that are a type's
 * own: those that are a sizeable share of its time, and not all of it.  A type with enough units has
 * them by the order of its times (threshold.h), so that the rate holds with certainty for the
 * loop's units together, one with fewer by its tail and the
 * shape that the tails of its loop's types have in common (tail.h).  Whether that
 * holds is tried on held-back units, by how many units the types had; where
 * it does not, limits reach further, and where even that does not help, a limit
 * is twice the largest time.
 *
 * By the paper's rule there is one limit, of a unit's own time.
 */
#ifndef _USER_TRAIN_MODEL_TYPE_LIMITS_H
#define _USER_TRAIN_MODEL_TYPE_LIMITS_H

#include "data/model.h"
#include "train/model/threshold.h"

enum { LIMITS_NR_GROUPS = 4 }; /* of types, by their number of units */

/* How far limits reach, by group and part, as tail_limit() has it; 0: no shape fits. */
struct limits_stretch {
	double of[LIMITS_NR_GROUPS][SAMPLES_NR_PARTS];
};

/* Of a type. */
struct limits {
	uint64_t ns[SAMPLES_NR_PARTS]; /* 0: none */
	enum model_confidence confidence;
	uint64_t units_needed; /* more, for full confidence */
	double false_alarms; /* expected share of units beyond one of them */
};

/* The types of a loop. */
struct limits_loop {
	const struct samples_parts *times; /* by type: learnt from */
	const struct samples_parts *held_back; /* by type; NULL: nothing is tried */
	uint32_t nr;
	struct samples_times all; /* own times of all units that are learnt from */
};

/*
 * Set the limits of each type of @loop.  @stretch is as far as they reach, and is
 * made larger where held-back units show that this is too little.
 * Returns 0 or -ENOMEM.
 */
int limits_find(const struct threshold_rule *rule, const struct limits_loop *loop,
		struct limits_stretch *stretch, struct limits *ret);

/* As limits are before anything was tried. */
void limits_stretch_init(struct limits_stretch *stretch);

/*
 * The same from one half of the units, tried on the other, which are @tried, and then from both.
 * @times are by type, and @all of all types, of each half; @times[0] are of both afterwards.
 */
int limits_find_tried(const struct threshold_rule *rule, struct samples_parts *const times[2],
		      uint32_t nr, const struct samples_times *const all[2], struct limits *tried,
		      struct limits *ret);

/* How many of these units exceed each of the limits, in all. */
double limits_beyond(const struct limits *limits, const struct samples_parts *times);

#endif /* _USER_TRAIN_MODEL_TYPE_LIMITS_H */
