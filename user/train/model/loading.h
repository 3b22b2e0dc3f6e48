/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A model as the module takes it: the arrays of the netlink spec, in its order
 * and with its indices.
 *
 * Only what is needed goes in: event loops that have types, in the samples'
 * order, and objects that carry a guard or a boundary, behind the program,
 * which is always the first.  The model's guards keep their numbers; a site
 * that begins events becomes a guard behind them, one without contexts, where
 * its function carries none.  Types keep their ids.
 */
#ifndef _USER_TRAIN_MODEL_LOADING_H
#define _USER_TRAIN_MODEL_LOADING_H

#include <linux/perfguard.h>

#include "data/model.h"

struct loading {
	struct perfguard_loop *courses;
	struct perfguard_boundary *boundaries;
	struct perfguard_guard *guards;
	struct perfguard_type *types;
	struct perfguard_calling_context *contexts;
	struct perfguard_weight *weights;
	uint32_t *objects; /* by object of the loading: that of the samples */
	uint32_t *functions; /* by guard: of the samples */
	uint32_t *loops; /* by event loop: of the samples */
	uint32_t nr_courses;
	uint32_t nr_boundaries;
	uint32_t nr_guards;
	uint32_t nr_types;
	uint32_t nr_contexts;
	uint32_t nr_weights;
	uint32_t nr_objects;
};

/*
 * @least_final: by type, see novelty-floor.h.  Nothing in samples or model is trusted.
 * Returns 0; -ENODATA (no type was learnt), -E2BIG (more than the
 * module takes) or -EINVAL (they contradict each other), with *@ret_why a
 * static text that completes "the profile ..."; or -ENOMEM.
 */
int loading_init(struct loading *loading, const struct samples *samples,
		 const struct model *model, const int16_t *least_final,
		 const char **ret_why);
void loading_deinit(struct loading *loading);

/* No request has a limit any more. */
void loading_forget_requests(struct loading *loading);

#endif /* _USER_TRAIN_MODEL_LOADING_H */
