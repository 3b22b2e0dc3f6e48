/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What is at hand while samples are carried; the steps are a file each.
 */
#ifndef _USER_TRAIN_CARRY_CARRY_STATE_H
#define _USER_TRAIN_CARRY_CARRY_STATE_H

#include "base/hash-index.h"
#include "train/carry/carry.h"

/* A function of the samples: which one it is in the fingerprints of its file. */
struct carried_function {
	uint32_t old; /* FUNCTION_MATCH_NONE if there are none */
	uint32_t new;
	const struct samples_function *site; /* in the new file; NULL if there is none */
};

/* Where a function is hit, below the frame of a loop. */
struct carried_depth {
	uint32_t loop;
	uint32_t function;
	uint32_t old;
	int64_t new; /* less than 0: not known */
};

struct carrying_samples {
	struct samples *samples;
	const struct carry_object *objects;
	struct carry_report *report;
	struct carried_function *functions; /* by function of the samples */
	struct carried_depth *depths;
	size_t max_depths;
	struct hash_index by_depth;
};

/* Find the functions in the new files. */
void carry_functions(struct carrying_samples *carrying);

/* Find at which depths functions are hit in the new builds.  Returns 0 or -ENOMEM. */
int carry_depths(struct carrying_samples *carrying);

enum {
	CARRY_DEPTH_UNKNOWN = -1,
	CARRY_DEPTH_UNSEEN = -2, /* no unit of the structure runs shows it */
};

/* The new depth of a function that is hit at @depth in units of @loop, or one of these. */
int64_t carry_depth(const struct carrying_samples *carrying, uint32_t loop, uint32_t function,
		    uint32_t depth);

/* Find the waits and other boundaries of the loops.  Returns 0 or -ENOMEM. */
int carry_waits(struct carrying_samples *carrying);

/* Put the new functions in the old ones' place, and take out what is lost.  Returns 0 or -ENOMEM. */
int carry_replace(struct carrying_samples *carrying);

#endif /* _USER_TRAIN_CARRY_CARRY_STATE_H */
