/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How accuracy depends on the number of hits: for the evaluation.
 */
#ifndef _USER_TRAIN_GUARDS_PREDICT_TABLE_H
#define _USER_TRAIN_GUARDS_PREDICT_TABLE_H

#include "data/model.h"
#include "train/guards/select.h"

/* A budget, a loop, a way to select guards and a rule to infer types by. */
struct predict_row {
	enum select_method method;
	bool is_paper; /* the paper's rule of inference */
	struct model_prediction prediction; /* on the held-back units */
};

/*
 * Select at 0.25, 0.5, 1, 2, 4 and 8 hits a unit, by either method, and predict
 * by either rule.  No types are merged, and none has a threshold: ties go to
 * the smaller type, which is the more frequent one, and so the paper's rule does
 * better here than with thresholds.  @early_slack as in select.h.  @ret gets a
 * malloc'ed array of *@ret_nr rows: by budget, method, rule, loop.  Returns 0,
 * -EINVAL or -ENOMEM.
 */
int predict_table(const struct signatures *signatures, const struct types *types,
		  double early_slack, struct predict_row **ret, uint32_t *ret_nr);

#endif /* _USER_TRAIN_GUARDS_PREDICT_TABLE_H */
