/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Both builds of a file while their functions are matched.  A matched function has a label,
 * the same in both.
 */
#ifndef _USER_TRAIN_CARRY_MATCH_SIDES_H
#define _USER_TRAIN_CARRY_MATCH_SIDES_H

#include <stdbool.h>

#include "data/fingerprint.h"

struct match_caller {
	uint32_t function;
	uint32_t place; /* of its references, by number */
};

struct match_side {
	const struct fingerprints *prints;
	uint32_t *match; /* by function: of the other side, or UINT32_MAX */
	uint32_t *first_caller; /* by function, and one more */
	struct match_caller *callers;
};

struct match_sides {
	struct match_side of[2]; /* old, new */
	bool *is_by_order; /* by old function: nothing but its place in the file decided */
	uint32_t nr; /* of pairs */
};

/* Returns 0 or -ENOMEM; match_sides_deinit() in any case, which leaves the matches. */
int match_sides_init(struct match_sides *sides, const struct fingerprints *old,
		     const struct fingerprints *new);
void match_sides_deinit(struct match_sides *sides);

/* 0 if it is not matched. */
uint32_t match_label(const struct match_sides *sides, int side, uint32_t function);

/* What a reference is to; 0 if that is a function that is not matched. */
uint64_t match_ref_label(const struct match_sides *sides, int side,
			 const struct fingerprint_ref *ref);

/* From 0, nothing in common, to 1: how alike two functions are. */
double match_likeness(const struct match_sides *sides, uint32_t old, uint32_t new);

/* Match two, unless either is matched or their names contradict.  True if that is done. */
bool match_pair(struct match_sides *sides, uint32_t old, uint32_t new);

/* Match by marks that are unique; by what matched functions refer to; by order.  Return 0 or
 * -ENOMEM; what they did shows by sides->nr. */
int match_by_marks(struct match_sides *sides);
int match_by_references(struct match_sides *sides);
void match_by_order(struct match_sides *sides);

#endif /* _USER_TRAIN_CARRY_MATCH_SIDES_H */
