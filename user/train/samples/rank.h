/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The order of an array's elements without moving them, with equal ones
 * together: element sorted[0] comes first, and rank[i] is the number of
 * different elements before element i.
 */
#ifndef _USER_TRAIN_SAMPLES_RANK_H
#define _USER_TRAIN_SAMPLES_RANK_H

#include <stdint.h>

struct ranks {
	uint32_t *sorted;
	uint32_t *rank;
	uint32_t nr; /* of different elements */
};

/* As qsort_r()'s; @a and @b are indices, 0 means the same. */
typedef int ranks_compare(const void *context, uint32_t a, uint32_t b);

/* Returns 0 or -ENOMEM. */
int ranks_init(struct ranks *ranks, uint32_t nr, ranks_compare *compare, const void *context);
void ranks_deinit(struct ranks *ranks);

#endif /* _USER_TRAIN_SAMPLES_RANK_H */
