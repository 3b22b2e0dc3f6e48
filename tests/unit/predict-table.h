/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How accuracy depends on the number of hits: for the evaluation.
 */
#ifndef _PGUARD_PREDICT_TABLE_H
#define _PGUARD_PREDICT_TABLE_H

#include <errno.h>
#include <stdlib.h>

#include "data/model.h"
#include "train/guards/predict.h"
#include "train/guards/select.h"
#include "train/guards/weights.h"

/* A budget, a loop, a way to select guards and a rule to infer types by. */
struct predict_row {
	enum select_method method;
	bool is_paper; /* the paper's rule of inference */
	struct model_prediction prediction; /* on the held-back units */
};

static const double budgets[] = { 0.25, 0.5, 1, 2, 4, 8 };

enum {
	NR_BUDGETS = sizeof(budgets) / sizeof(budgets[0]),
	NR_METHODS = 2,
	NR_RULES = 2,
};

struct work {
	const struct signatures *signatures;
	const struct types *types;
	double *budget; /* by loop */
	uint32_t *functions;
	struct model_prediction *predictions; /* by loop */
	struct predict_row *rows;
	uint32_t nr_rows;
};

static inline int add_rows(struct work *work, const struct model *model, double hits,
		    enum select_method method)
{
	uint32_t nr_loops = work->signatures->samples->nr_loops;

	for (int rule = 0; rule < NR_RULES; rule++) {
		int ret = predict_units(work->signatures, work->types, model, rule, 1,
					work->predictions, NULL);

		if (ret)
			return ret;
		for (uint32_t i = 0; i < nr_loops; i++) {
			struct predict_row *row = &work->rows[work->nr_rows++];

			row->method = method;
			row->is_paper = rule;
			row->prediction = work->predictions[i];
			row->prediction.budget = hits;
			row->prediction.nr_guards = model->nr_guards;
			row->prediction.accuracy_unmerged = work->predictions[i].accuracy_end;
		}
	}
	return 0;
}

static inline int try_budget(struct work *work, double hits, struct select_options *options)
{
	struct model model = { 0 };
	uint32_t nr;
	int ret;

	for (uint32_t i = 0; i < work->signatures->samples->nr_loops; i++)
		work->budget[i] = hits;
	options->budget = work->budget;
	ret = select_guards(work->signatures, work->types, options, work->functions, &nr);
	if (!ret)
		ret = weights_learn(work->signatures, work->types, work->functions, nr, &model);
	if (!ret)
		ret = add_rows(work, &model, hits, options->method);
	model_deinit(&model);
	return ret;
}

/*
 * Select at 0.25, 0.5, 1, 2, 4 and 8 hits a unit, by either method, and predict
 * by either rule.  No types are merged, and none has a threshold: ties go to
 * the smaller type, which is the more frequent one, and so the paper's rule does
 * better here than with thresholds.  @early_slack as in select.h.  @ret gets a
 * malloc'ed array of *@ret_nr rows: by budget, method, rule, loop.  Returns 0,
 * -EINVAL or -ENOMEM.
 */
static inline int predict_table(const struct signatures *signatures, const struct types *types,
		  double early_slack, struct predict_row **ret, uint32_t *ret_nr)
{
	const struct samples *samples = signatures->samples;
	struct work work = { .signatures = signatures, .types = types };
	int error = 0;

	*ret = NULL;
	*ret_nr = 0;
	work.budget = calloc((size_t)samples->nr_loops + 1, sizeof(*work.budget));
	work.functions = calloc((size_t)samples->nr_functions + 1, sizeof(*work.functions));
	work.predictions = calloc((size_t)samples->nr_loops + 1, sizeof(*work.predictions));
	work.rows = calloc((size_t)NR_BUDGETS * NR_METHODS * NR_RULES * samples->nr_loops + 1,
			   sizeof(*work.rows));
	if (!work.budget || !work.functions || !work.predictions || !work.rows)
		error = -ENOMEM;
	for (int i = 0; i < NR_BUDGETS && !error; i++) {
		for (int method = 0; method < NR_METHODS && !error; method++) {
			struct select_options options = {
				.method = method,
				.early_slack = early_slack,
			};

			error = try_budget(&work, budgets[i], &options);
		}
	}
	free(work.budget);
	free(work.functions);
	free(work.predictions);
	if (error) {
		free(work.rows);
		return error;
	}
	*ret = work.rows;
	*ret_nr = work.nr_rows;
	return 0;
}

#endif /* _PGUARD_PREDICT_TABLE_H */
