/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The greedy choice of guards: one after the other the one with the most information about
 * the units' types, and about how long they take, for its price, as long as the budget lasts.  What exceeds
 * the rest of the budget is left out.
 *
 * It is lazy: a function is priced again only when it would be the next, for
 * its gain mostly becomes less with each guard.
 */
#ifndef _USER_TRAIN_GUARDS_GREEDY_H
#define _USER_TRAIN_GUARDS_GREEDY_H

#include <stdbool.h>
#include <stdint.h>

#include "train/guards/features.h"

enum {
	/*
	 * More hits of all guards together no unit may make, be it learnt from or
	 * held back: others may make a few more, and 25 is their limit.  Of jumps as many
	 * as cost that.
	 */
	GREEDY_WORST_UNIT = 20,
	/*
	 * What each hit after the first of a guard in a unit counts for there: it is
	 * called in a loop, or once a request of a batch, and that may be longer.
	 */
	GREEDY_FURTHER_HIT = 3,
};

/* Added to a guard's price, in hits a unit: one that is hardly ever hit is not for free. */
#define GREEDY_FREE_HITS 0.003

enum greedy_objective {
	GREEDY_ENTROPY, /* uncertainty of the type, in bits, and of the time */
	GREEDY_ACCURACY, /* share of units right if each signature's best type is said; the same */
};

enum greedy_price {
	GREEDY_PLAIN, /* the gain alone */
	GREEDY_PER_HIT,
	GREEDY_PER_ROOT, /* of the hits */
};

struct greedy_options {
	enum greedy_objective objective;
	enum greedy_price price;
	uint32_t max_hits; /* of a guard in a unit; so many breakpoints', or as much of jumps' */
	const double *budget; /* by loop: mean hits a unit, stepped ones count more */
	bool is_eager; /* price every function in every step: slow, for tests */
};

/*
 * Choose.  @ret has room for all functions of the samples and gets *@ret_nr of
 * them, rising.  Returns 0 or -ENOMEM.
 */
int greedy_choose(const struct features *features, const struct greedy_options *options,
		  uint32_t *ret, uint32_t *ret_nr);

/*
 * Returns 1 if these may be guards together, as far as the worst unit is concerned, 0 if
 * not, or -ENOMEM.
 */
int greedy_allows(const struct features *features, const uint32_t *functions, uint32_t nr);

#endif /* _USER_TRAIN_GUARDS_GREEDY_H */
