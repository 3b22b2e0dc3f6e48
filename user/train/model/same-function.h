/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which functions of two builds of a program are the same.
 */
#ifndef _USER_TRAIN_MODEL_SAME_FUNCTION_H
#define _USER_TRAIN_MODEL_SAME_FUNCTION_H

#include "data/samples.h"

/* Functions that are the same have the same number. */
struct same_functions {
	uint32_t *numbers[2]; /* by function of either samples; less than nr */
	uint32_t nr;
	uint32_t nr_lost; /* of the first samples' unnamed ones, not found in the other build */
};

/*
 * Functions are the same if they have one name in files of one name; without names, if they are
 * at one place of one build; and in another build of a file, if they stand in the same order
 * and are about as long.  The last is a guess: the alignment of both builds' functions that
 * matches most.  Returns 0 or -ENOMEM; same_functions_deinit() in any case.
 */
int same_functions_init(struct same_functions *same, const struct samples *a,
			const struct samples *b);
void same_functions_deinit(struct same_functions *same);

#endif /* _USER_TRAIN_MODEL_SAME_FUNCTION_H */
