// SPDX-License-Identifier: GPL-2.0

#include "train/guards/select.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "train/guards/features.h"
#include "train/guards/greedy.h"
#include "train/guards/levels.h"
#include "train/guards/predict.h"
#include "train/guards/refine.h"
#include "train/guards/weights.h"

/* What the variance of levels is worth, compared with accuracy. */
#define SPREAD_WORTH 2.0
/* So much more of it than the best way has is no loss. */
#define SPREAD_SLACK 1.05

enum {
	NR_OBJECTIVES = 2,
	NR_PRICES = 3,
	NR_LIMITS = 3,
	NR_WAYS = NR_OBJECTIVES * NR_PRICES * NR_LIMITS,
};

static const uint32_t limits[NR_LIMITS] = { FEATURES_MAX_HITS, 4, 1 };

/* A choice and what it is worth. */
struct guard_choice {
	uint32_t *functions;
	uint32_t nr;
	struct select_score score;
};

/* The units that are taken for one type: by how much their levels vary. */
struct taken {
	double units;
	double level;
	double squares;
};

static double spread(const struct taken *taken, uint32_t nr)
{
	double squares = 0, units = 0;

	for (uint32_t i = 0; i < nr; i++) {
		if (!(taken[i].units > 0))
			continue;
		squares += taken[i].squares - taken[i].level * taken[i].level / taken[i].units;
		units += taken[i].units;
	}
	return units > 0 ? fmax(squares / units, 0) : 0;
}

/* Each unit counts with the level of the type that it is of. */
static void take_units(struct predictor *predictor, const struct types *types,
		       const double *levels, struct taken *taken)
{
	const struct samples *samples = predictor->signatures->samples;

	for (uint32_t i = 0; i < samples->nr_units; i++) {
		double units = (double)types_learnt(types, samples, i), level;
		uint32_t said;

		if (!(units > 0))
			continue;
		said = predictor_unit(predictor, i).end;
		if (said == SAMPLES_NONE)
			continue;
		level = levels[types->of_tree[samples->units[i].tree]];
		taken[said].units += units;
		taken[said].level += units * level;
		taken[said].squares += units * level * level;
	}
}

static int rate_spread(const struct signatures *signatures, const struct types *types,
		       const struct model *model, double *ret)
{
	struct predictor predictor = { 0 };
	struct taken *taken = NULL;
	double *levels = NULL;
	int error = array_new(taken, types->nr) ?: array_new(levels, types->nr);

	if (!error)
		error = levels_of_types(signatures->samples, types, levels);
	if (!error)
		error = predictor_init(&predictor, signatures, model, false);
	if (!error) {
		take_units(&predictor, types, levels, taken);
		*ret = spread(taken, types->nr);
	}
	predictor_deinit(&predictor);
	free(taken);
	free(levels);
	return error;
}

int select_rate(const struct signatures *signatures, const struct types *types,
		const uint32_t *functions, uint32_t nr, struct select_score *ret)
{
	uint32_t nr_loops = signatures->samples->nr_loops;
	struct model_prediction *predictions;
	struct model model = { 0 };
	double units = 0;
	int error;

	*ret = (struct select_score){ 0 };
	if (array_new(predictions, nr_loops))
		return -ENOMEM;
	error = weights_learn(signatures, types, functions, nr, &model);
	if (!error)
		error = predict_units(signatures, types, &model, false, 0, predictions, NULL);
	if (!error)
		error = rate_spread(signatures, types, &model, &ret->spread);
	for (uint32_t i = 0; i < nr_loops && !error; i++) {
		double here = (double)predictions[i].units;

		ret->end += here * predictions[i].accuracy_end;
		ret->half += here * predictions[i].accuracy_half;
		ret->hits += here * predictions[i].hits;
		units += here;
	}
	if (units > 0) {
		ret->end /= units;
		ret->half /= units;
		ret->hits /= units;
	}
	model_deinit(&model);
	free(predictions);
	return error;
}

double select_worth(const struct select_score *score)
{
	return score->end / (1 + SPREAD_WORTH * score->spread);
}

static bool is_equal(const struct guard_choice *a, const struct guard_choice *b)
{
	return a->nr == b->nr && !memcmp(a->functions, b->functions, a->nr * sizeof(*a->functions));
}

/* The ways with one table of features: @nr choices are there already. */
static int try_ways(const struct features *features, const struct types *types,
		    const double *budget, struct guard_choice *choices, uint32_t *nr)
{
	const struct signatures *signatures = features->signatures;

	for (int way = 0; way < NR_WAYS; way++) {
		struct greedy_options options = {
			.objective = way / (NR_PRICES * NR_LIMITS),
			.price = (way / NR_LIMITS + GREEDY_PER_HIT) % NR_PRICES,
			.max_hits = limits[way % NR_LIMITS],
			.budget = budget,
		};
		struct guard_choice *choice = &choices[*nr];
		uint32_t same = 0;
		int ret;

		if (array_new(choice->functions, signatures->samples->nr_functions))
			return -ENOMEM;
		ret = greedy_choose(features, &options, choice->functions, &choice->nr);
		while (!ret && same < *nr && !is_equal(&choices[same], choice))
			same++;
		if (!ret && same == *nr)
			ret = select_rate(signatures, types, choice->functions, choice->nr,
					  &choice->score);
		if (ret || same < *nr) {
			free(choice->functions);
			choice->functions = NULL;
		} else {
			(*nr)++;
		}
		if (ret)
			return ret;
	}
	return 0;
}

/* True if @a is better, where only the end counts or both are good there. */
static bool is_better(const struct select_score *a, const struct select_score *b, bool is_early)
{
	double end = select_worth(a) - select_worth(b), half = a->half - b->half;
	double first = is_early ? half : end, second = is_early ? end : half;

	if (first > 0 || first < 0)
		return first > 0;
	if (second > 0 || second < 0)
		return second > 0;
	return a->hits < b->hits;
}

bool select_is_as_good(const struct select_score *score, const struct select_score *best,
		       double slack)
{
	return select_worth(score) >= select_worth(best) - slack &&
	       score->spread <= SPREAD_SLACK * best->spread;
}

static const struct guard_choice *best_choice(const struct guard_choice *choices, uint32_t nr,
					      double slack)
{
	const struct guard_choice *best = &choices[0], *early = NULL;

	for (uint32_t i = 1; i < nr; i++)
		if (is_better(&choices[i].score, &best->score, false))
			best = &choices[i];
	if (slack <= 0)
		return best;
	for (uint32_t i = 0; i < nr; i++)
		if (select_is_as_good(&choices[i].score, &best->score, slack) &&
		    (!early || is_better(&choices[i].score, &early->score, true)))
			early = &choices[i];
	return early;
}

/* Where guards jump: the best one at the end and what is to be added to it; choice @nr becomes that. */
static int try_refined(const struct features *features, const struct types *types,
		       const struct select_options *options, struct guard_choice *choices,
		       uint32_t *nr)
{
	const struct guard_choice *best = best_choice(choices, *nr, 0), *early = &choices[0];
	struct guard_choice *refined = &choices[*nr];

	for (uint32_t i = 1; i < *nr; i++)
		if (is_better(&choices[i].score, &early->score, true))
			early = &choices[i];
	if (array_new(refined->functions, features->signatures->samples->nr_functions))
		return -ENOMEM;
	memcpy(refined->functions, best->functions, best->nr * sizeof(*best->functions));
	refined->nr = best->nr;
	refined->score = best->score;
	(*nr)++;
	return refine_guards(features, types, options, early->functions, early->nr,
			     refined->functions, &refined->nr, &refined->score);
}

static int select_by_information(const struct signatures *signatures, const struct types *types,
				 const struct select_options *options, uint32_t *ret,
				 uint32_t *ret_nr)
{
	struct guard_choice choices[2 * NR_WAYS + 1] = { 0 };
	uint32_t nr = 0;
	int error = 0;

	for (int is_early = 0; is_early <= (options->early_slack > 0) && !error; is_early++) {
		const struct features_options table = {
			.prefix_share = is_early ? SELECT_PREFIX_SHARE : 0,
			.allowed = options->allowed,
			.is_inline = options->is_inline,
		};
		struct features features;

		error = features_init(&features, signatures, types, &table);
		if (error)
			break;
		error = try_ways(&features, types, options->budget, choices, &nr);
		if (!error && is_early && options->is_inline)
			error = try_refined(&features, types, options, choices, &nr);
		features_deinit(&features);
	}
	if (!error) {
		const struct guard_choice *best = best_choice(choices, nr, options->early_slack);

		memcpy(ret, best->functions, best->nr * sizeof(*ret));
		*ret_nr = best->nr;
	}
	for (uint32_t i = 0; i < nr; i++)
		free(choices[i].functions);
	return error;
}

/* A function as the paper's rule sees it. */
struct spread {
	uint32_t function;
	uint32_t nr_types;
	double price;
};

static int compare_spreads(const void *a, const void *b)
{
	const struct spread *x = a, *y = b;

	if (x->nr_types != y->nr_types)
		return order_of(x->nr_types, y->nr_types);
	if (x->price < y->price || x->price > y->price)
		return x->price < y->price ? -1 : 1;
	return order_of(x->function, y->function);
}

/* Of the units learnt from. */
static uint32_t count_types(const struct features *features, const struct types *types,
			    uint32_t function, uint32_t *last)
{
	const struct features_column *column = &features->columns[function];
	const struct samples *samples = features->signatures->samples;
	uint32_t nr = 0;

	for (size_t i = column->first_hit; i < column->first_hit + column->nr_hits; i++) {
		uint32_t unit = features->hits[i].unit;
		uint32_t type = types->of_tree[samples->units[unit].tree];

		if (!types_learnt(types, samples, unit))
			continue;
		nr += last[type] != function + 1;
		last[type] = function + 1;
	}
	return nr;
}

static bool take_from(double *rest, const double *price, uint32_t nr_loops)
{
	for (uint32_t i = 0; i < nr_loops; i++)
		if (price[i] > rest[i])
			return false;
	for (uint32_t i = 0; i < nr_loops; i++)
		rest[i] -= price[i];
	return true;
}

static int select_as_paper(const struct signatures *signatures, const struct types *types,
			   const struct select_options *options, uint32_t *ret, uint32_t *ret_nr)
{
	const struct samples *samples = signatures->samples;
	struct spread *spreads = NULL;
	double *rest = NULL;
	uint32_t *last = NULL, nr = 0;
	const struct features_options table = { .is_inline = options->is_inline };
	struct features features;
	int error = features_init(&features, signatures, types, &table);

	if (!error)
		error = array_new(spreads, samples->nr_functions) ?:
			array_new(rest, samples->nr_loops) ?: array_new(last, types->nr);
	if (error)
		goto out;
	memcpy(rest, options->budget, samples->nr_loops * sizeof(*rest));
	for (uint32_t i = 0; i < samples->nr_functions; i++)
		if (features.columns[i].price > 0)
			spreads[nr++] = (struct spread){ i, count_types(&features, types, i, last),
							 features.columns[i].price };
	qsort(spreads, nr, sizeof(*spreads), compare_spreads);
	for (uint32_t i = 0; i < nr; i++)
		if (options->nr_guards ? i < options->nr_guards :
		    take_from(rest, &features.loop_price[(size_t)spreads[i].function *
							 samples->nr_loops], samples->nr_loops))
			ret[(*ret_nr)++] = spreads[i].function;
	qsort(ret, *ret_nr, sizeof(*ret), order_u32);
out:
	features_deinit(&features);
	free(spreads);
	free(rest);
	free(last);
	return error;
}

int select_guards(const struct signatures *signatures, const struct types *types,
		  const struct select_options *options, uint32_t *ret, uint32_t *ret_nr)
{
	*ret_nr = 0;
	if (options->method == SELECT_PAPER)
		return select_as_paper(signatures, types, options, ret, ret_nr);
	return select_by_information(signatures, types, options, ret, ret_nr);
}
