/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which type each call tree is of.  The types of a loop have consecutive
 * numbers.
 */
#ifndef _USER_TRAIN_TYPES_TYPES_H
#define _USER_TRAIN_TYPES_TYPES_H

#include <stdint.h>

#include "data/samples.h"

struct types {
	uint32_t *of_tree; /* SAMPLES_NONE if the tree has none */
	uint32_t *loop; /* by type */
	uint32_t *nr_merged; /* by type: clusters it was made of */
	uint32_t *first; /* by loop, and one more */
	uint32_t nr;
};

/*
 * Number the types of all loops from @cluster, the number of each tree's
 * cluster in its loop or SAMPLES_NONE, in the order of these numbers.  Returns
 * 0 or -ENOMEM.
 */
int types_init(struct types *types, const struct samples *samples, const uint32_t *cluster);
int types_copy(struct types *types, const struct samples *samples, const struct types *from);
void types_deinit(struct types *types);

/* Units of a variant that count in training: with a type, and of the first half. */
static inline uint64_t types_learnt(const struct types *types, const struct samples *samples,
				    uint32_t unit)
{
	if (types->of_tree[samples->units[unit].tree] == SAMPLES_NONE)
		return 0;
	return samples->units[unit].units[0];
}

/* Make one type of two of the same loop; the smaller number stays. */
void types_join(struct types *types, const struct samples *samples, uint32_t a, uint32_t b);

#endif /* _USER_TRAIN_TYPES_TYPES_H */
