/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The rows of a features table, parted by the hits of the guards chosen so far, and
 * the information that another guard would add.
 *
 * Rows of a group have the same signature.  The rows of a type in a group are
 * a cell; a group of one cell is settled, nothing more can be distinguished there.
 */
#ifndef _USER_TRAIN_GUARDS_PARTITION_H
#define _USER_TRAIN_GUARDS_PARTITION_H

#include <stdint.h>

#include "base/hash-index.h"
#include "train/guards/features.h"

/*
 * A share of the units, and parts of it that are summed while a gain is found.  A level's sum
 * is over units.
 */
struct partition_cell {
	double share;
	double with; /* has the feature at hand */
	double seen; /* has any feature of the column */
	double level; /* of its type */
	uint32_t group;
	uint32_t next; /* cell of the group */
};

struct partition_group {
	double share;
	double with;
	double most_with; /* greatest cell's */
	double level_with;
	double seen;
	double level_seen;
	double most; /* greatest cell */
	double level;
	uint32_t first_cell;
	uint32_t nr_cells;
};

struct partition {
	const struct features *features;
	uint32_t *cell_of; /* by row */
	struct partition_cell *cells;
	struct partition_group *groups;
	uint32_t nr_cells;
	uint32_t nr_groups;
	uint32_t *feature; /* by row, scratch, like the rest */
	uint32_t *cells_with;
	uint32_t *cells_seen;
	uint32_t *groups_with;
	uint32_t *groups_seen;
	struct hash_index index; /* of cells or groups while they are made */
};

struct partition_gain {
	double bits; /* of the types' entropy, given the signature */
	double right; /* share of units right if each group's greatest cell is said */
	double spread; /* of the variance of levels, given the signature */
};

/* Nothing is chosen.  @features must outlive it.  Returns 0 or -ENOMEM. */
int partition_init(struct partition *partition, const struct features *features);
void partition_deinit(struct partition *partition);

/* The information that a guard in @function would add. */
struct partition_gain partition_gain(struct partition *partition, uint32_t function);

/* Choose @function.  Returns 0 or -ENOMEM. */
int partition_split(struct partition *partition, uint32_t function);

#endif /* _USER_TRAIN_GUARDS_PARTITION_H */
