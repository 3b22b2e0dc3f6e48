/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which function of a file is which one of another build of it, by their fingerprints, as
 * BinDiff and Diaphora find it: by names; by code and form that are unique; then, again and
 * again until nothing is added, by what the functions call that are matched, by who calls them
 * and at which place, and by their order in the file.
 *
 * What is not certain is not matched: a pair needs a mark that no other function of either
 * build has, or a place that only these two can have and a likeness beside it.
 */
#ifndef _USER_TRAIN_CARRY_FUNCTION_MATCH_H
#define _USER_TRAIN_CARRY_FUNCTION_MATCH_H

#include "data/fingerprint.h"

enum { FUNCTION_MATCH_NONE = UINT32_MAX };

struct function_match {
	uint32_t *to; /* by function of the old file: of the new one, or FUNCTION_MATCH_NONE */
	uint32_t *from; /* the inverse */
	uint32_t nr; /* of pairs */
};

/* Returns 0 or -ENOMEM; function_match_deinit() in any case. */
int function_match_init(struct function_match *match, const struct fingerprints *old,
			const struct fingerprints *new);
void function_match_deinit(struct function_match *match);

#endif /* _USER_TRAIN_CARRY_FUNCTION_MATCH_H */
