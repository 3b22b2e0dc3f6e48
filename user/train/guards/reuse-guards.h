/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Guards of timing runs may stay, though others would now be chosen: the
 * times of a run serve only for guards that were on then.
 */
#ifndef _USER_TRAIN_GUARDS_REUSE_GUARDS_H
#define _USER_TRAIN_GUARDS_REUSE_GUARDS_H

#include "train/guards/select.h"

enum {
	/* Guards of so many timing runs are considered, those with the most units. */
	REUSE_MAX_RUNS = 8,
};

/* Of timed guards that are worse than the best by no more than this, the most timed stay. */
#define REUSE_EQUAL 0.01

/*
 * The *@nr @functions are those chosen by @options, in an array with room for
 * all functions.  They are exchanged for guards of a timing run (all, or the
 * best that the budget and the worst unit allow, by information or by the
 * limits that they make: reach.h) if these were timed more, and
 * on the training units cost at most REUSE_EQUAL of accuracy, or @slack where
 * the chosen ones were not timed.  Returns 0, -EINVAL or -ENOMEM.
 */
int reuse_guards(const struct signatures *signatures, const struct types *types,
		 const struct select_options *options, double slack, uint32_t *functions,
		 uint32_t *nr);

#endif /* _USER_TRAIN_GUARDS_REUSE_GUARDS_H */
