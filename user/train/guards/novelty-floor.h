/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What is still like a type: the lowest final score with which a unit of it
 * ended in training, less a slack.  A unit that ends lower, or met a context
 * that is not the type's, is novel (infer_fits()).
 *
 * The next of n + 1 units is the lowest with a chance of 1 in n + 1 even if
 * nothing has changed, and then mostly not by much.  The slack is what "not by
 * much" stands for.  A context that all units of a type met takes more bits
 * away than that when it is not met.
 *
 * On profiles of five servers, in loops of more than 500 units held back, the
 * slack changed the share of novel units in one (3.90 % to 3.74 %; 8 bits:
 * 3.50 %).  The share was 0 to 3.7 %, and never more than 0.7 points above that
 * of the units whose call tree had not been seen.
 */
#ifndef _USER_TRAIN_GUARDS_NOVELTY_FLOOR_H
#define _USER_TRAIN_GUARDS_NOVELTY_FLOOR_H

#include "data/model.h"

#define NOVELTY_FLOOR_SLACK_BITS 2

/* Of a loop's units that were held back. */
struct novelty_floor_share {
	uint64_t units;
	uint64_t novel;
};

struct novelty_floors {
	int16_t *least_final; /* by type; INT16_MIN where no unit was seen */
	struct novelty_floor_share *shares; /* by loop */
};

/*
 * Learn the floors from the units that are learnt from, and count what they
 * make novel of those held back.  Returns 0, -EINVAL or -EEXIST for a model
 * that contradicts itself or the samples, or -ENOMEM.
 */
int novelty_floors_init(struct novelty_floors *floors, const struct samples *samples,
			const struct model *model);
void novelty_floors_deinit(struct novelty_floors *floors);

/* By loop, the share of novel units: of @nr_loops, malloc'ed; NULL if there is no memory. */
double *novelty_floors_by_loop(const struct novelty_floors *floors, uint32_t nr_loops);

/* Share of novel units to expect, by the mix of loops in training; -1: not known. */
double novelty_floors_novel(const struct novelty_floors *floors, uint32_t nr_loops);

#endif /* _USER_TRAIN_GUARDS_NOVELTY_FLOOR_H */
