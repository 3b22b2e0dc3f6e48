// SPDX-License-Identifier: GPL-2.0

#include "train/guards/predict.h"

#include <string.h>

int predictor_init(struct predictor *predictor, const struct signatures *signatures,
		   const struct model *model, bool is_paper)
{
	*predictor = (struct predictor){ .signatures = signatures, .is_paper = is_paper };
	return infer_tables_init(&predictor->tables, signatures->samples, model, is_paper);
}

void predictor_deinit(struct predictor *predictor)
{
	infer_tables_deinit(&predictor->tables);
}

/* The guards hit in the unit's first half, or in the rest of it. */
static uint32_t feed_half(struct predictor *predictor, struct table *table, uint32_t unit,
			  bool is_first)
{
	const struct signatures *signatures = predictor->signatures;
	uint32_t hits = 0;

	for (size_t i = signatures->first_hit[unit]; i < signatures->first_hit[unit + 1]; i++) {
		const struct signature_hit *hit = &signatures->hits[i];
		const struct signature_context *context = &signatures->contexts[hit->context];
		uint32_t guard = predictor->tables.guard_of[context->function];

		if (guard == SAMPLES_NONE || (hit->quarter < 2) != is_first)
			continue;
		/* only the paper's rule counts the same context again */
		for (uint32_t n = predictor->is_paper ? hit->count : 1; n; n--)
			infer_hit(&table->table, table->state, guard, context->depth);
		hits += hit->count;
	}
	return hits;
}

static uint32_t to_type(const struct predictor *predictor, const struct table *table,
			uint16_t type)
{
	if (type == INFER_NO_TYPE && predictor->is_paper)
		type = infer_type_at(&table->table, table->table.default_early);
	return infer_tables_type(table, type);
}

struct predict_verdict predictor_unit(struct predictor *predictor, uint32_t unit)
{
	struct table *table = &predictor->tables.loops[signatures_loop(predictor->signatures,
								      unit)];
	struct predict_verdict verdict = { 0 };

	infer_begin(&table->table, table->state);
	verdict.hits = feed_half(predictor, table, unit, true);
	verdict.half = to_type(predictor, table, infer_early(&table->table, table->state));
	verdict.hits += feed_half(predictor, table, unit, false);
	verdict.end = to_type(predictor, table, infer_end(&table->table, table->state));
	return verdict;
}

static bool threshold_is_right(const struct model *model, uint32_t type, uint32_t is)
{
	double own, right, ratio;

	if (type == is)
		return true;
	if (type == SAMPLES_NONE || is == SAMPLES_NONE)
		return false;
	own = (double)model->types[type].limit_ns[SAMPLES_OWN];
	right = (double)model->types[is].limit_ns[SAMPLES_OWN];
	if (!own || !right)
		return false;
	ratio = own / right;
	return ratio >= 0.8 && ratio <= 1.25;
}

static void add_verdict(const struct predict_verdict *verdict, uint32_t is,
			const struct model *model, double units, struct model_prediction *to)
{
	to->hits += units * verdict->hits;
	if (verdict->hits > to->worst)
		to->worst = verdict->hits;
	if (is == SAMPLES_NONE)
		return;
	to->accuracy_end += verdict->end == is ? units : 0;
	to->accuracy_half += verdict->half == is ? units : 0;
	to->threshold_right += threshold_is_right(model, verdict->end, is) ? units : 0;
}

static void divide(struct model_prediction *prediction)
{
	double units = (double)prediction->units;

	if (!prediction->units)
		return;
	prediction->accuracy_end /= units;
	prediction->accuracy_half /= units;
	prediction->threshold_right /= units;
	prediction->hits /= units;
	prediction->unseen /= units;
}

int predict_units(const struct signatures *signatures, const struct types *types,
		  const struct model *model, bool is_paper, int half,
		  struct model_prediction *ret, struct predict_share *shares)
{
	const struct samples *samples = signatures->samples;
	struct predictor predictor;
	int error;

	error = predictor_init(&predictor, signatures, model, is_paper);
	if (error)
		return error;
	for (uint32_t i = 0; i < samples->nr_loops; i++)
		ret[i] = (struct model_prediction){ .loop = i };
	if (shares)
		memset(shares, 0, types->nr * sizeof(*shares));
	for (uint32_t i = 0; i < samples->nr_units; i++) {
		const struct samples_tree *tree = &samples->trees[samples->units[i].tree];
		uint32_t is = types->of_tree[samples->units[i].tree];
		uint64_t units = samples->units[i].units[half];
		struct predict_verdict verdict;

		if (!units)
			continue;
		verdict = predictor_unit(&predictor, i);
		add_verdict(&verdict, is, model, (double)units, &ret[tree->loop]);
		ret[tree->loop].units += units;
		ret[tree->loop].unseen += tree->units[0] ? 0 : (double)units;
		if (shares && is != SAMPLES_NONE) {
			shares[is].units += units;
			shares[is].right += verdict.end == is ? units : 0;
		}
	}
	for (uint32_t i = 0; i < samples->nr_loops; i++)
		divide(&ret[i]);
	predictor_deinit(&predictor);
	return 0;
}
