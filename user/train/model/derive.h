/* SPDX-License-Identifier: GPL-2.0 */
/*
 * From what training saw to what guarding needs: unit types, guards, weights,
 * predictions, thresholds.  The same samples and options give the same model.
 *
 * Guards are learnt from one half of the units and predicted on the other, which
 * is held back (see samples_half()), as are the thresholds; the thresholds that
 * go into the model use both, and so does the bound of the worst unit.
 */
#ifndef _USER_TRAIN_MODEL_DERIVE_H
#define _USER_TRAIN_MODEL_DERIVE_H

#include "data/model.h"
#include "train/guards/select.h"
#include "train/model/threshold.h"
#include "train/types/cluster.h"
#include "train/types/clustering.h"

/* Default of reuse_slack. */
#define DERIVE_REUSE_SLACK 0.05

struct derive_options {
	struct cluster_options cluster;
	struct clustering *clustering; /* of the model before, renewed if it has to be; or NULL */
	enum select_method select;
	double budget; /* share of a unit's time that guarding may take, see allowance.h */
	double hit_ns; /* what a hit takes; single-stepped ones take 8 times that */
	double hits; /* mean hits a unit instead of the budget; 0: by the budget */
	bool is_inline; /* guards jump where their functions have a window */
	uint32_t nr_guards; /* by the paper's rule, whatever the budget; 0: by the budget */
	const uint32_t *kept; /* these functions carry the guards, rising, and no others; or NULL */
	uint32_t nr_kept;
	double early_slack; /* see select.h */
	double merge_limit; /* see merge.h; 1 or more: never merge */
	/*
	 * The times of a run serve only for guards that were on then.  So guards
	 * of a timing run, all or as many of them as the budget and the worst
	 * unit (see greedy.h) allow, stay if
	 * that costs no more accuracy on the training units than this.  Whether
	 * the model's guards are timed is what timed_units() returns; if not, all
	 * thresholds are the loops' until they are.
	 */
	double reuse_slack;
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
 * Derive the limits of @model again, by the rule that it has them by; its types and guards
 * stay.  Returns 0, -EINVAL or -ENOMEM.
 */
int model_derive_limits(const struct samples *samples, struct model *model);

#endif /* _USER_TRAIN_MODEL_DERIVE_H */
