// SPDX-License-Identifier: GPL-2.0
/* From samples to a model: types, guards, predictions and thresholds together. */

#include <errno.h>
#include <math.h>

#include "data/model.h"
#include "synthetic.h"
#include "tap.h"
#include "train/guards/guard-share.h"
#include "train/model/derive.h"
#include "train/types/describe.h"
#include "train/samples/times.h"

static const struct synthetic program = {
	.types = 20, .functions = 200, .parts = 30, .parts_per_type = 4, .calls_per_part = 15,
	.noise = 3, .noise_chance = 0.3, .hot = 2, .units = 2000, .stepped = 9,
};

static uint32_t guards_of(const struct model *model, uint32_t *functions)
{
	for (uint32_t i = 0; i < model->nr_guards; i++)
		functions[i] = model->guards[i].function;
	return model->nr_guards;
}

static bool are_equal(const struct model *a, const struct model *b)
{
	return a->nr_types == b->nr_types && a->nr_guards == b->nr_guards &&
	       a->nr_contexts == b->nr_contexts && a->nr_weights == b->nr_weights &&
	       !memcmp(a->types, b->types, a->nr_types * sizeof(*a->types)) &&
	       !memcmp(a->guards, b->guards, a->nr_guards * sizeof(*a->guards)) &&
	       !memcmp(a->contexts, b->contexts, a->nr_contexts * sizeof(*a->contexts)) &&
	       !memcmp(a->weights, b->weights, a->nr_weights * sizeof(*a->weights)) &&
	       !memcmp(a->predictions, b->predictions,
		       a->nr_predictions * sizeof(*a->predictions)) &&
	       !memcmp(a->type_of_tree, b->type_of_tree, a->nr_trees * sizeof(uint32_t));
}

static void test_structure(struct samples *samples, const struct derive_options *options,
			   struct model *model)
{
	struct model again;

	ok(!model_derive(samples, options, model), "a model is derived");
	ok(model->nr_types == program.types && model->nr_trees == program.types,
	   "a type for each different tree");
	ok(model->nr_predictions == 1 && model->predictions[0].units == program.units &&
	   fabs(model->predictions[0].budget - GUARD_SHARE_HITS) < 1e-9,
	   "without times the budget is 2 hits");
	ok(model->predictions[0].accuracy_end >= 0.95 && model->predictions[0].hits <= 2.4 &&
	   model->predictions[0].worst <= 20, "with which types are known (%.1f %% at %.2f hits)",
	   100 * model->predictions[0].accuracy_end, model->predictions[0].hits);
	ok(!model->types[0].limit_ns[SAMPLES_OWN] &&
	   model->types[0].confidence == MODEL_CONFIDENCE_NONE &&
	   model->types[0].units_needed == 2995, "there are no thresholds, and it is said why");
	ok(!model_derive(samples, options, &again) && are_equal(model, &again),
	   "the same samples give the same model");
	model_deinit(&again);
}

static void test_times(struct samples *samples, const struct derive_options *options,
		       struct model *model)
{
	uint32_t functions[200], nr = guards_of(model, functions), nr_right = 0;
	uint32_t nr_full = 0, nr_kept = 0;
	double alarms = 0, units = 0;

	synthetic_time(samples, functions, nr, 5);
	model_deinit(model);
	ok(!model_derive(samples, options, model), "a model with times");
	for (uint32_t i = 0; i < model->nr_guards; i++)
		nr_kept += synthetic_is_guard(functions, nr, model->guards[i].function);
	ok(model->nr_guards == nr && nr_kept == nr, "keeps the guards that were timed");
	for (uint32_t i = 0; i < model->nr_types; i++) {
		const struct model_type *type = &model->types[i];
		double mean = 1e5 * (type->example + 1) * exp(0.005);

		nr_right += fabs(times_mean(&type->times) / mean - 1) < 0.15;
		nr_full += type->confidence == MODEL_CONFIDENCE_FULL;
		alarms += type->held_back_alarms * (double)type->held_back_units;
		units += (double)type->held_back_units;
	}
	ok(nr_right >= model->nr_types - 2, "%u of %u types have their mean time", nr_right,
	   model->nr_types);
	ok(nr_full && nr_full < model->nr_types, "%u have full confidence, the rare ones not",
	   nr_full);
	ok(units > 9999 && alarms / units < 0.002, "%.3f %% of held-back units are false alarms",
	   100 * alarms / units);
}

/* Other guard sets: one that lacks a guard does not count, one that has more does. */
static void test_coverage(struct samples *samples, const struct derive_options *options,
			  struct model *model)
{
	uint32_t functions[200], nr = guards_of(model, functions), best = 0, last;
	uint64_t before = 0, less = 0, more = 0;

	for (uint32_t i = 0; i < model->nr_types; i++)
		before += model->types[i].times.nr;
	for (uint32_t i = 1; i < nr; i++)
		if (model->guards[i].hits > model->guards[best].hits)
			best = i;
	/* without the one that is hit most the others would not be chosen */
	memmove(&functions[best], &functions[best + 1], (nr - best - 1) * sizeof(*functions));
	synthetic_time(samples, functions, nr - 1, 1);
	guards_of(model, functions);
	model_deinit(model);
	model_derive(samples, options, model);
	for (uint32_t i = 0; i < model->nr_types; i++)
		less += model->types[i].times.nr;
	ok(before && less == before, "times without one of the guards do not count");
	for (last = 199; functions[nr - 1] == last;)
		last--;
	ok(functions[nr - 1] < last, "there is a function beyond the last guard");
	functions[nr] = last;
	synthetic_time(samples, functions, nr + 1, 1);
	model_deinit(model);
	model_derive(samples, options, model);
	for (uint32_t i = 0; i < model->nr_types; i++)
		more += model->types[i].times.nr;
	ok(more == before + 2 * program.units, "times with more guards do");
}

/* Hits a unit that are planned for so much of the mean time, in hits. */
static double plan_of(struct samples *samples, struct derive_options options, double share,
		      double mean_ns)
{
	struct model model;
	double planned;

	options.budget = 1000 * share / mean_ns;
	model_derive(samples, &options, &model);
	planned = model.predictions[0].budget;
	model_deinit(&model);
	return planned;
}

/* Mean hits of @function in the units learnt from. */
static double mean_hits(const struct samples *samples, uint32_t function)
{
	double hits = 0, units = 0;

	for (uint32_t i = 0; i < samples->nr_units; i++) {
		const struct samples_unit *unit = &samples->units[i];

		units += (double)unit->units[0];
		for (uint32_t j = 0; j < unit->nr_hits; j++)
			if (unit->hits[j].function == function)
				hits += (double)unit->units[0] * unit->hits[j].count;
	}
	return hits / units;
}

/* What a unit takes without any guard for types is no guard's. */
static void test_allowance(struct samples *samples, const struct derive_options *options,
			   double mean_ns)
{
	struct samples_loop *loop = &samples->loops[0], was = *loop;
	struct samples_boundary site = { .role = SAMPLES_ROLE_EVENT_SITE };
	double hits;

	ok(fabs(plan_of(samples, *options, 4.25, mean_ns) - 4) < 1e-6,
	   "the ends of a unit take a quarter of a hit");
	ok(fabs(plan_of(samples, *options, 0.2, mean_ns) - 0.05) < 1e-6,
	   "but a quarter of the share is for guards");
	ok(fabs(plan_of(samples, *options, 40, mean_ns) - GUARD_SHARE_MAX_HITS) < 1e-6,
	   "and there are never more than add something");
	for (uint32_t i = 0; i < samples->nr_functions && !site.function; i++)
		if (mean_hits(samples, i) > 0.5 && mean_hits(samples, i) < 2)
			site.function = i;
	hits = mean_hits(samples, site.function);
	loop->boundaries = &site;
	loop->nr_boundaries = 1;
	ok(hits > 0 && fabs(plan_of(samples, *options, 4.45, mean_ns) - (4 - hits)) < 1e-6,
	   "where events have sites, these are hit (%.3f), and ends take more", hits);
	*loop = was;
}

static void test_budget(struct samples *samples, struct derive_options options)
{
	double planned, mean = 0, units = 0;
	struct model model;

	for (uint32_t i = 0; i < samples->nr_timings; i++) {
		for (int half = 0; half < 2; half++) {
			mean += (double)samples->timings[i].times[half].of[SAMPLES_OWN].sum_ns;
			units += (double)samples->timings[i].times[half].of[SAMPLES_OWN].nr;
		}
		mean -= 1000 * (double)samples->timings[i].nr_contexts_hit;
	}
	mean /= units;
	test_allowance(samples, &options, mean);
	options.budget = 1000 * (0.7 + GUARD_SHARE_WAIT_HITS) / mean;
	model_derive(samples, &options, &model);
	planned = model.predictions[0].budget;
	ok(fabs(planned - 0.7) < 1e-6, "a share of the time is so many hits (%.3f)", planned);
	ok(model.predictions[0].hits <= 0.85, "that are kept (%.2f)", model.predictions[0].hits);
	model_deinit(&model);
	options.hits = 1;
	model_derive(samples, &options, &model);
	ok(fabs(model.predictions[0].budget - 1) < 1e-9, "or hits are requested");
	model_deinit(&model);
}

/* Guards that stay of those that were timed, if @hits are those of one of them in a unit. */
static uint32_t count_kept(struct samples *samples, const struct derive_options *options,
			   struct samples_hit *hit, uint16_t hits)
{
	uint16_t was = hit->count;
	struct model model;
	uint32_t ret;

	hit->count = hits;
	model_derive(samples, options, &model);
	ret = model.nr_guards;
	for (uint32_t i = 0; i < model.nr_guards; i++)
		if (model.guards[i].function == hit->function)
			ret += 1000;
	model_deinit(&model);
	hit->count = was;
	return ret;
}

/* A hit of one of the functions in a unit that was only held back. */
static struct samples_hit *held_back_hit(struct samples *samples, const uint32_t *functions,
					 uint32_t nr)
{
	for (uint32_t i = 0; i < samples->nr_units; i++) {
		struct samples_unit *unit = &samples->units[i];

		for (uint32_t j = 0; j < unit->nr_hits && !unit->units[0]; j++)
			if (synthetic_is_guard(functions, nr, unit->hits[j].function))
				return &unit->hits[j];
	}
	return NULL;
}

/* A unit that the guards of the timing run were not chosen by hits one of them often. */
static void test_worse(struct samples *samples, struct derive_options options,
		       const uint32_t *functions, uint32_t nr)
{
	struct samples_hit *hit = held_back_hit(samples, functions, nr);
	struct samples_loop *loop = &samples->loops[0], was = *loop;
	struct samples_boundary site = { .role = SAMPLES_ROLE_EVENT_SITE };
	uint32_t kept;

	options.hits = GUARD_SHARE_MAX_HITS;
	options.reuse_slack = 1;
	ok(hit && count_kept(samples, &options, hit, 1) == nr + 1000,
	   "what was timed stays, where there is room");
	kept = count_kept(samples, &options, hit, 17);
	ok(kept && kept < nr, "without a guard that a unit held back turns out to hit too often");
	options.select = SELECT_PAPER;
	ok(count_kept(samples, &options, hit, 17) == nr + 1000, "which is all one to the paper's rule");
	options.select = SELECT_INFORMATION;
	/* room for all others */
	options.hits = 1e-6;
	for (uint32_t i = 0; i < nr; i++)
		if (functions[i] != hit->function)
			options.hits += mean_hits(samples, functions[i]);
	kept = count_kept(samples, &options, hit, 1);
	site.function = hit->function;
	loop->boundaries = &site;
	loop->nr_boundaries = 1;
	ok(kept != nr - 1 && count_kept(samples, &options, hit, 1) == nr - 1,
	   "a site where events begin takes no room, nor does it stay to identify types");
	*loop = was;
}

/* Guards that were timed stay as long as the budget and the slack allow. */
static void test_keep(struct samples *samples, struct derive_options options)
{
	uint32_t functions[200], nr = 0, nr_timed = 0, nr_limited = 0;
	struct model model;

	for (uint32_t i = 0; i < samples->guards[0].nr; i++)
		functions[nr++] = samples->guards[0].functions[i];
	test_worse(samples, options, functions, nr);
	options.hits = 1.2;
	options.reuse_slack = 1;
	model_derive(samples, &options, &model);
	for (uint32_t i = 0; i < model.nr_guards; i++)
		nr_timed += synthetic_is_guard(functions, nr, model.guards[i].function);
	ok(model.nr_guards && model.nr_guards < nr && nr_timed == model.nr_guards &&
	   model.types[0].times.nr, "a smaller budget gets the best of the guards that were timed");
	model_deinit(&model);
	/* now only a function that is no use as a guard was timed */
	for (uint32_t i = 0; i < samples->nr_guards; i++) {
		samples->guards[i].functions[0] = 0;
		samples->guards[i].nr = 1;
	}
	options.reuse_slack = DERIVE_REUSE_SLACK;
	model_derive(samples, &options, &model);
	for (uint32_t i = 0; i < model.nr_types; i++)
		nr_limited += model.types[i].limit_ns[SAMPLES_OWN] &&
			      model.types[i].confidence == MODEL_CONFIDENCE_NONE;
	ok(model.nr_guards > 1 && nr_limited == model.nr_types,
	   "guards that were not have the loop's limit for all types");
	model_deinit(&model);
}

/* Trees 0 and 1 hit the same guards. */
static void test_merge(struct derive_options options)
{
	static struct synthetic_unit unit;
	struct samples samples;
	struct model model;

	synthetic_start(&samples, 4, 3);
	for (int half = 0; half < 2; half++) {
		for (uint32_t tree = 0; tree < 3; tree++) {
			for (uint32_t i = 0; i < 100; i++) {
				unit.nr = 0;
				synthetic_hit(&unit, 0, 16, 1);
				synthetic_hit(&unit, tree < 2 ? 1 : 2, 32, 1);
				synthetic_add(&samples, &unit, tree, half);
			}
		}
	}
	ok(!model_derive(&samples, &options, &model) && model.nr_types == 2,
	   "types that no guard distinguishes become one");
	ok(model.types[0].nr_merged == 2 && model.types[1].nr_merged == 1 &&
	   model.types[0].units == 400 && model.types[0].nr_trees == 2 &&
	   model.type_of_tree[0] == 0 && model.type_of_tree[1] == 0 && model.type_of_tree[2] == 1,
	   "and it is said of how many");
	ok(model.predictions[0].accuracy_end > 0.999 &&
	   fabs(model.predictions[0].accuracy_unmerged - 2. / 3) < 1e-6,
	   "with the accuracy of both before and after");
	ok(fabs(model.types[0].functions - 2) < 1e-9 && fabs(model.types[0].paths - 1) < 1e-9,
	   "a type knows its size");
	model_deinit(&model);
	options.merge_limit = 1;
	ok(!model_derive(&samples, &options, &model) && model.nr_types == 3, "unless not wanted");
	model_deinit(&model);
	samples_deinit(&samples);
}

/* What was clustered is of use until the trees or how they are clustered change. */
static void test_clustering(struct samples *samples, struct derive_options options)
{
	uint32_t functions[200], nr;
	struct clustering kept = { 0 };
	struct model fresh, model;

	model_derive(samples, &options, &fresh);
	options.clustering = &kept;
	ok(!model_derive(samples, &options, &model) && are_equal(&fresh, &model),
	   "keeping the clusters changes no model");
	nr = guards_of(&model, functions);
	synthetic_time(samples, functions, nr, 1);
	model_deinit(&fresh);
	model_deinit(&model);
	model_derive(samples, &options, &model);
	options.clustering = NULL;
	model_derive(samples, &options, &fresh);
	ok(kept.nr_made == 1 && are_equal(&fresh, &model), "they serve when times were added");
	model_deinit(&fresh);
	model_deinit(&model);
	options.clustering = &kept;
	options.cluster.cut = 2;
	ok(!model_derive(samples, &options, &model) && model.nr_types == 1 && kept.nr_made == 2,
	   "but not for another cut");
	model_deinit(&model);
	samples->trees[0].hash++;
	model_derive(samples, &options, &model);
	ok(kept.nr_made == 3, "nor for other trees");
	model_deinit(&model);
	samples->trees[0].units[0]++;
	model_derive(samples, &options, &model);
	ok(kept.nr_made == 4, "nor for other numbers of their units");
	model_deinit(&model);
	clustering_deinit(&kept);
}

static void test_odd(const struct derive_options *options)
{
	struct derive_options wrong = *options;
	struct samples samples = { 0 };
	struct model model;

	ok(!model_derive(&samples, options, &model) && !model.nr_types,
	   "nothing gives an empty model");
	model_deinit(&model);
	synthetic_make(&(struct synthetic){ .types = 3, .functions = 20, .parts = 5,
					    .parts_per_type = 2, .calls_per_part = 4,
					    .units = 50 }, &samples);
	for (uint32_t i = 0; i < samples.nr_units; i++)
		samples.units[i].units[0] = 0;
	for (uint32_t i = 0; i < samples.nr_trees; i++)
		samples.trees[i].units[0] = 0;
	ok(!model_derive(&samples, options, &model), "nor does it fail without training units");
	model_deinit(&model);
	samples.units[0].tree = 3;
	ok(model_derive(&samples, options, &model) == -EINVAL, "a tree that is not there is refused");
	samples.units[0].tree = 0;
	samples.units[1].hits[0].function = 20;
	ok(model_derive(&samples, options, &model) == -EINVAL, "so is a function");
	samples.units[1].hits[0].function = 0;
	wrong.budget = 0;
	ok(model_derive(&samples, &wrong, &model) == -EINVAL, "and a budget of nothing");
	samples_deinit(&samples);
}

int main(void)
{
	struct derive_options options;
	struct samples samples;
	struct model model;

	plan(42);
	derive_options_init(&options);
	synthetic_make(&program, &samples);
	test_structure(&samples, &options, &model);
	test_times(&samples, &options, &model);
	test_coverage(&samples, &options, &model);
	model_deinit(&model);
	test_budget(&samples, options);
	test_keep(&samples, options);
	samples_deinit(&samples);
	synthetic_make(&program, &samples);
	test_clustering(&samples, options);
	samples_deinit(&samples);
	test_merge(options);
	test_odd(&options);
	return tap_status();
}
