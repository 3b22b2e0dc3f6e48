/* SPDX-License-Identifier: GPL-2.0 */
/*
 * From what training saw to what guarding needs: unit types, guards, weights,
 * predictions, thresholds.  The same samples and options give the same model.
 *
 * Guards are learnt on the first half of the units and predicted on the second,
 * as are the thresholds; the thresholds that go into the model use both.
 */
#ifndef _PGUARD_DERIVE_H
#define _PGUARD_DERIVE_H

#include "base/model.h"
#include "cluster.h"
#include "select.h"
#include "threshold.h"

/* Hits a unit, where there is no time to derive them from. */
#define DERIVE_HITS 2.0
/* More hits than that tell nothing new, however much time there is. */
#define DERIVE_MAX_HITS 8.0
/*
 * Guards of a timing run stay if that costs no more accuracy on the training
 * units than this: its times serve for them alone.
 */
#define DERIVE_KEEP_SLACK 0.01

struct derive_options {
	struct cluster_options cluster;
	enum select_method select;
	double budget; /* share of a unit's time that guards may take */
	double hit_ns; /* what a hit takes; single-stepped ones take 8 times that */
	double hits; /* mean hits a unit instead of the budget; 0: by the budget */
	double early_slack; /* see select.h */
	double merge_limit; /* see merge.h; 1 or more: never merge */
	struct threshold_rule rule;
};

/* What is usual: budget 0.02, 1000 ns a hit, rate:0.001 ... */
void derive_options_init(struct derive_options *options);

/*
 * Returns 0, -EINVAL for options or samples that make no sense, -E2BIG or
 * -ENOMEM.  The caller frees @ret by model_deinit().
 */
int model_derive(const struct samples *samples, const struct derive_options *options,
		 struct model *ret);

/*
 * @ret, with room for all types of @model, gets them by mean time, the dearest
 * first.  Returns 0 or -ENOMEM.
 */
int model_rank_types(const struct model *model, uint32_t *ret);

#endif /* _PGUARD_DERIVE_H */
