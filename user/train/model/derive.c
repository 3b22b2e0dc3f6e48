// SPDX-License-Identifier: GPL-2.0
/*
 * The table of contents of the learning.  derive() below goes from samples to
 * the model in this order; each step is a file of its own:
 *
 *	make_types()		types/clustering	call trees that are alike
 *	choose_guards()		guards/guard-share	the hits that a unit may have
 *				guards/select		functions that distinguish types
 *				guards/reuse-guards	those that were timed stay
 *	predict_unmerged()	guards/predict		how well they do it
 *	merge_types()		guards/merge		types that they cannot distinguish
 *	learn()			guards/weights		the weights of rule W
 *	describe_types()	types/describe		size, example, cost
 *	set_limits()		guards/timed		the times of each type
 *				model/type-limits	from when on a unit is late
 *	set_objectives()	model/objectives	limits that people have set
 *	predict()		guards/predict		the same on held-back units
 *
 * Before it, a recording becomes samples: trace/ reads the events, loops/ finds
 * where units begin and end, samples/extract and samples/extract-timing cut
 * them, samples/join adds them to what the profile knew.  After it,
 * model/loading gives the model to the module, guards/novelty-floor the scores
 * below which a unit is of no known type.
 */

#include "train/model/derive.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "train/guards/features.h"
#include "train/guards/guard-share.h"
#include "train/guards/merge.h"
#include "train/guards/predict.h"
#include "train/guards/reuse-guards.h"
#include "train/guards/timed.h"
#include "train/guards/weights.h"
#include "train/model/objectives.h"
#include "train/model/request-limits.h"
#include "train/model/tail.h"
#include "train/model/type-limits.h"
#include "train/samples/times.h"
#include "train/types/describe.h"

void derive_options_init(struct derive_options *options)
{
	*options = (struct derive_options){
		.budget = 0.02,
		.hit_ns = 1000,
		.early_slack = SELECT_EARLY_SLACK,
		.merge_limit = MERGE_LIMIT,
		.reuse_slack = DERIVE_REUSE_SLACK,
		.rule = { THRESHOLD_RATE, 0.001 },
	};
	cluster_options_init(&options->cluster);
	options->cluster.training_half = true;
}

/* What is at hand while a model is made. */
struct derivation {
	const struct samples *samples;
	const struct derive_options *options;
	struct signatures signatures;
	struct types types;
	double *budget; /* by loop: hits a unit */
	uint32_t *functions; /* that carry a guard, rising */
	uint32_t nr_functions;
	struct model *model;
};

static bool are_possible(const struct derive_options *options)
{
	return options->budget > 0 && options->budget <= 1 && options->hit_ns > 0 &&
	       options->hits >= 0 && options->early_slack >= 0 && options->merge_limit > 0 &&
	       options->rule.value > 0 &&
	       (!options->nr_guards || options->select == SELECT_PAPER);
}

static int make_types(struct derivation *derivation)
{
	const struct derive_options *options = derivation->options;
	const struct samples *samples = derivation->samples;
	struct clustering own = { 0 };
	struct clustering *clustering = options->clustering ? options->clustering : &own;
	int ret = clustering_find(clustering, samples, &options->cluster);

	if (!ret)
		ret = types_init(&derivation->types, samples, clustering->of_tree);
	clustering_deinit(&own);
	return ret;
}

/* The time that guards may take, as hits. */
static int set_budgets(struct derivation *derivation)
{
	const struct derive_options *options = derivation->options;
	uint32_t nr_loops = derivation->samples->nr_loops;

	if (array_new(derivation->budget, nr_loops))
		return -ENOMEM;
	for (uint32_t i = 0; i < nr_loops; i++)
		derivation->budget[i] =
			options->hits > 0 ? options->hits
					  : guard_share_hits(&derivation->signatures, i,
							     options->budget, options->hit_ns);
	return 0;
}

static int choose_guards(struct derivation *derivation)
{
	struct select_options options = {
		.method = derivation->options->select,
		.early_slack = derivation->options->early_slack,
		.is_inline = derivation->options->is_inline,
		.nr_guards = derivation->options->nr_guards,
	};
	int ret = set_budgets(derivation);

	if (ret)
		return ret;
	options.budget = derivation->budget;
	if (array_new(derivation->functions, derivation->samples->nr_functions))
		return -ENOMEM;
	if (derivation->options->kept) {
		derivation->nr_functions = derivation->options->nr_kept;
		memcpy(derivation->functions, derivation->options->kept,
		       derivation->nr_functions * sizeof(*derivation->functions));
		return 0;
	}
	ret = select_guards(&derivation->signatures, &derivation->types, &options,
			    derivation->functions, &derivation->nr_functions);
	if (ret || options.nr_guards)
		return ret;
	return reuse_guards(&derivation->signatures, &derivation->types, &options,
			    derivation->options->reuse_slack, derivation->functions,
			    &derivation->nr_functions);
}

static int learn(struct derivation *derivation)
{
	return weights_learn(&derivation->signatures, &derivation->types, derivation->functions,
			     derivation->nr_functions, derivation->model);
}

/* What the guards can do, with the types as they were clustered. */
static int predict_unmerged(struct derivation *derivation, double *accuracy)
{
	uint32_t nr_loops = derivation->samples->nr_loops;
	struct model_prediction *predictions;
	int ret = array_new(predictions, nr_loops) ?: learn(derivation);

	if (!ret)
		ret = predict_units(&derivation->signatures, &derivation->types, derivation->model,
				    false, 1, predictions, NULL);
	for (uint32_t i = 0; i < nr_loops && !ret; i++)
		accuracy[i] = predictions[i].accuracy_end;
	free(predictions);
	return ret;
}

static void price_guards(struct derivation *derivation)
{
	struct model *model = derivation->model;

	for (uint32_t i = 0; i < model->nr_guards; i++) {
		struct model_guard *guard = &model->guards[i];

		guard->cost_ns = guard->hits * derivation->options->hit_ns *
				 features_cost(&derivation->samples->functions[guard->function],
					       derivation->options->is_inline);
	}
}

/* The types of a loop are one after the other. */
struct loop_types {
	struct model_type *types;
	struct samples_parts *times[2];
	uint32_t nr;
};

static void set_type(struct model_type *type, const struct limits *limits,
		     const struct samples_parts *times)
{
	type->times = times->of[SAMPLES_OWN];
	for (int part = 0; part < SAMPLES_NR_PARTS; part++) {
		type->mean_ns[part] = times_mean(&times->of[part]);
		type->limit_ns[part] = limits->ns[part];
	}
	memcpy(type->added_ns, times->added_ns, sizeof(type->added_ns));
	type->confidence = limits->confidence;
	type->units_needed = limits->units_needed;
	type->false_alarms = limits->false_alarms;
}

static int set_limits_of(const struct loop_types *types, const struct threshold_rule *rule,
			 const struct samples_times *const all[2])
{
	struct samples_times both = *all[0];
	struct limits *limits, *tried = NULL;
	int ret = array_new(limits, types->nr) ?: array_new(tried, types->nr);

	if (!ret)
		ret = limits_find_tried(rule, types->times, types->nr, all, tried, limits);
	times_merge(&both, all[1]);
	for (uint32_t i = 0; i < types->nr && !ret; i++) {
		const struct samples_parts *held_back = &types->times[1][i];
		uint64_t units = held_back->of[SAMPLES_OWN].nr;

		types->types[i].held_back_units = units;
		if (units)
			types->types[i].held_back_alarms =
				limits_beyond(&tried[i], held_back) / (double)units;
		set_type(&types->types[i], &limits[i], &types->times[0][i]);
		types->types[i].novel_ns = tail_largest(&both);
	}
	free(limits);
	free(tried);
	return ret;
}

static int set_limits(struct derivation *derivation)
{
	struct model *model = derivation->model;
	struct loop_types types;
	struct timed timed;
	int ret = timed_init(&timed, derivation->samples, model);

	if (ret)
		return ret;
	for (uint32_t i = 0; i < model->nr_types && !ret; i += types.nr) {
		uint32_t loop = model->types[i].loop;

		types = (struct loop_types){
			.types = &model->types[i],
			.times = { &timed.types[0][i], &timed.types[1][i] },
		};
		while (i + types.nr < model->nr_types && model->types[i + types.nr].loop == loop)
			types.nr++;
		ret = request_limits_set(types.types, types.times, types.nr, &derivation->options->rule);
		ret = ret ?: set_limits_of(&types, &derivation->options->rule,
				    (const struct samples_times *[]){ &timed.loops[0][loop],
								      &timed.loops[1][loop] });
	}
	for (uint32_t i = 0; i < model->nr_types && !ret; i++)
		model->types[i].is_carried = timed.has_carried[model->types[i].loop] &&
					     !timed.is_confirmed[i];
	timed_deinit(&timed);
	return ret;
}

/* Guards that the units of @loop hit. */
static uint32_t loop_guards(const struct model *model, uint32_t loop)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < model->nr_guards; i++)
		for (uint32_t j = 0; j < model->nr_contexts; j++)
			if (model->contexts[j].loop == loop && model->contexts[j].guard == i) {
				nr++;
				break;
			}
	return nr;
}

static int predict(struct derivation *derivation, const double *unmerged)
{
	uint32_t nr_loops = derivation->samples->nr_loops;
	struct model *model = derivation->model;
	struct predict_share *shares;
	int ret = array_new(shares, model->nr_types) ?: array_new(model->predictions, nr_loops);

	model->nr_predictions = ret ? 0 : nr_loops;
	if (!ret)
		ret = predict_units(&derivation->signatures, &derivation->types, model, false, 1,
				    model->predictions, shares);
	for (uint32_t i = 0; i < nr_loops && !ret; i++) {
		if (!derivation->options->nr_guards)
			model->predictions[i].budget = derivation->budget[i];
		model->predictions[i].nr_guards = loop_guards(model, i);
		model->predictions[i].accuracy_unmerged = unmerged[i];
	}
	for (uint32_t i = 0; i < model->nr_types && !ret; i++)
		if (shares[i].units)
			model->types[i].accuracy = (double)shares[i].right /
						   (double)shares[i].units;
	free(shares);
	return ret;
}

static void name_methods(const struct derive_options *options, struct model *model)
{
	model->budget = options->nr_guards ? 0 : options->budget;
	model->is_inline = options->is_inline;
	model->cut = options->cluster.cut;
	snprintf(model->distance, sizeof(model->distance), "%s",
		 options->cluster.distance == DISTANCE_PAPER ? "paper" : "energy");
	snprintf(model->select, sizeof(model->select), "%s",
		 options->select == SELECT_PAPER ? "paper" : "information");
	if (options->rule.kind == THRESHOLD_RATE)
		model->false_alarm_rate = options->rule.value;
	snprintf(model->threshold_rule, sizeof(model->threshold_rule), "%s:%.9g",
		 options->rule.kind == THRESHOLD_RATE ? "rate" : "sigma", options->rule.value);
}

static int keep_type_of_tree(struct derivation *derivation)
{
	const struct samples *samples = derivation->samples;
	struct model *model = derivation->model;

	if (array_new(model->type_of_tree, samples->nr_trees))
		return -ENOMEM;
	model->nr_trees = samples->nr_trees;
	memcpy(model->type_of_tree, derivation->types.of_tree,
	       samples->nr_trees * sizeof(*model->type_of_tree));
	return 0;
}

static int derive(struct derivation *derivation, double *unmerged)
{
	int ret = make_types(derivation);

	if (!ret)
		ret = choose_guards(derivation);
	if (!ret)
		ret = predict_unmerged(derivation, unmerged);
	if (!ret && derivation->options->merge_limit < 1)
		ret = merge_types(&derivation->signatures, derivation->functions,
				  derivation->nr_functions, derivation->options->merge_limit,
				  &derivation->types);
	if (!ret)
		ret = learn(derivation);
	if (!ret)
		ret = describe_types(derivation->samples, &derivation->types, derivation->model);
	if (ret)
		return ret;
	for (uint32_t i = 0; i < derivation->model->nr_types; i++)
		derivation->model->types[i].nr_merged = derivation->types.nr_merged[i];
	price_guards(derivation);
	name_methods(derivation->options, derivation->model);
	set_objectives(derivation->samples, derivation->types.of_tree, derivation->model);
	ret = set_limits(derivation);
	if (!ret)
		ret = predict(derivation, unmerged);
	return ret ? ret : keep_type_of_tree(derivation);
}

int model_derive_limits(const struct samples *samples, struct model *model)
{
	struct derive_options options;
	struct derivation derivation = { .samples = samples, .options = &options, .model = model };

	derive_options_init(&options);
	if (!samples_are_sound(samples) || threshold_parse(model->threshold_rule, &options.rule))
		return -EINVAL;
	return set_limits(&derivation);
}

int model_derive(const struct samples *samples, const struct derive_options *options,
		 struct model *ret)
{
	struct derivation derivation = { .samples = samples, .options = options, .model = ret };
	double *unmerged;
	int error;

	*ret = (struct model){ 0 };
	if (!samples_are_sound(samples) || !are_possible(options))
		return -EINVAL;
	error = signatures_init(&derivation.signatures, samples);
	if (error)
		return error;
	error = array_new(unmerged, samples->nr_loops) ?: derive(&derivation, unmerged);
	if (error)
		model_deinit(ret);
	signatures_deinit(&derivation.signatures);
	types_deinit(&derivation.types);
	free(derivation.budget);
	free(derivation.functions);
	free(unmerged);
	return error;
}
