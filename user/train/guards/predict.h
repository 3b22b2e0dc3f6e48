/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a model's guards infer of units whose call tree is known: the same code
 * that runs in the module, on the contexts that training saw.
 */
#ifndef _USER_TRAIN_GUARDS_PREDICT_H
#define _USER_TRAIN_GUARDS_PREDICT_H

#include "data/model.h"
#include "train/guards/infer-tables.h"
#include "train/guards/signature.h"
#include "train/types/types.h"

struct predictor {
	const struct signatures *signatures;
	struct infer_tables tables;
	bool is_paper;
};

struct predict_verdict {
	uint32_t half; /* type after half of the unit's events, or SAMPLES_NONE */
	uint32_t end; /* type at its end */
	uint32_t hits; /* of guards */
};

/*
 * @model's guards, contexts, weights and start scores must be there; it may go
 * after this.  @is_paper: by the paper's rule, and a unit without a hit is of
 * the most frequent type.  Returns 0, -EINVAL or -ENOMEM.
 */
int predictor_init(struct predictor *predictor, const struct signatures *signatures,
		   const struct model *model, bool is_paper);
void predictor_deinit(struct predictor *predictor);

struct predict_verdict predictor_unit(struct predictor *predictor, uint32_t unit);

/* By type: units of it, and those of which the end's verdict is right. */
struct predict_share {
	uint64_t units;
	uint64_t right;
};

/*
 * Predict for the units of @half (0: training, 1: held back).  @ret has room
 * for a prediction of each loop, all but whose budget, guards and unmerged
 * accuracy is set.  @shares, by type, may be NULL.  Thresholds are right where
 * @model has none of both types only if the type is.  Returns as above.
 */
int predict_units(const struct signatures *signatures, const struct types *types,
		  const struct model *model, bool is_paper, int half,
		  struct model_prediction *ret, struct predict_share *shares);

#endif /* _USER_TRAIN_GUARDS_PREDICT_H */
