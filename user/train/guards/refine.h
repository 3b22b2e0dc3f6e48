/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Guards beyond those that are best at the end of units, for a verdict while units run.
 *
 * The greedy choice takes guards for what they say; rule W adds the weights of all contexts,
 * as if each said something of its own, and is right in fewer units where many say the same.
 * Where hits are cheap nothing else limits them: so here each is tried by the rule itself.
 */
#ifndef _USER_TRAIN_GUARDS_REFINE_H
#define _USER_TRAIN_GUARDS_REFINE_H

#include "train/guards/features.h"
#include "train/guards/select.h"

/* So many more of the units are to be right half-way with a further guard. */
#define REFINE_LEAST 0.0005

/*
 * Add those of @more to the *@nr @functions, rising, of @score, that make units right half-way, as
 * long as what is lost at the end is no more than @options allow.  @features: of the same units, for
 * prices.  @functions has room for all functions of the samples; *@score becomes theirs.
 * Returns 0 or -ENOMEM.
 */
int refine_guards(const struct features *features, const struct types *types,
		  const struct select_options *options, const uint32_t *more, uint32_t nr_more,
		  uint32_t *functions, uint32_t *nr, struct select_score *score);

#endif /* _USER_TRAIN_GUARDS_REFINE_H */
