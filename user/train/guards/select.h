/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which functions carry a guard.
 *
 * By information: a greedy choice by a guard's information about the units' types is
 * right only most of the time, so it is made in several ways and what rule W
 * gets out of each on the training units decides.  Half of the ways also look
 * at the beginnings of units, for a verdict while they still run.
 *
 * By the paper's rule: functions that the fewest types call come first, as
 * long as the budget lasts.
 */
#ifndef _USER_TRAIN_GUARDS_SELECT_H
#define _USER_TRAIN_GUARDS_SELECT_H

#include "train/guards/signature.h"
#include "train/types/types.h"

enum select_method {
	SELECT_INFORMATION,
	SELECT_PAPER,
};

/* Share of the weight that beginnings get in the ways that look at them. */
#define SELECT_PREFIX_SHARE 0.5
/* Default of early_slack. */
#define SELECT_EARLY_SLACK 0.01

struct select_options {
	enum select_method method;
	/* By loop: mean hits of all guards a unit; a single-stepped one counts as 8. */
	const double *budget;
	/*
	 * How much accuracy at the end of the training units is given up for
	 * accuracy half-way: of the ways that are at most this much worse than
	 * the best at the end, and distinguish times as well as that, the best
	 * half-way is taken.  0: none, and the beginnings are not looked at.
	 */
	double early_slack;
	const bool *allowed; /* by function; NULL: all are.  By information only. */
	bool is_inline; /* guards jump where their functions have a window */
	/* So many, as far as there are, whatever the budget; 0: by it.  By the paper's rule only. */
	uint32_t nr_guards;
};

/* How good a choice is on the training units, over all loops. */
struct select_score {
	double end;
	double half;
	double hits;
	double spread; /* variance of levels of the units that are taken for one type: levels.h */
};

/* What a choice is worth at the end of units. */
double select_worth(const struct select_score *score);

/*
 * True if @score is hardly worse than @best at the end.  Accuracy at the end may be given up for
 * accuracy half-way, limits may not: a rare unit that takes several times as long as its type's
 * others is hardly worth anything as accuracy.  @slack: see early_slack.
 */
bool select_is_as_good(const struct select_score *score, const struct select_score *best,
		       double slack);

/*
 * @ret has room for all functions of the samples and gets *@ret_nr, rising.
 * Returns 0, -EINVAL or -ENOMEM.
 */
int select_guards(const struct signatures *signatures, const struct types *types,
		  const struct select_options *options, uint32_t *ret, uint32_t *ret_nr);

/* Score the @nr @functions. */
int select_rate(const struct signatures *signatures, const struct types *types,
		const uint32_t *functions, uint32_t nr, struct select_score *ret);

#endif /* _USER_TRAIN_GUARDS_SELECT_H */
