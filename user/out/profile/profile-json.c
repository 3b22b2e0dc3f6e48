// SPDX-License-Identifier: GPL-2.0

#include "out/profile/profile-json.h"

#include <inttypes.h>
#include <math.h>

#include "base/syscall-name.h"
#include "out/histogram.h"
#include "out/json.h"

static void put_hash(struct json *json, uint64_t hash)
{
	char text[24];

	/* A number of 64 bits does not survive every reader of JSON. */
	snprintf(text, sizeof(text), "%016" PRIx64, hash);
	json_string(json, "hash", text);
}

static void put_object(struct json *json, const struct samples *samples, uint32_t object)
{
	const struct samples_object *of = &samples->objects[object];

	json_string(json, "module", of->path);
	json_string(json, "build_id", of->build_id[0] ? of->build_id : NULL);
}

static void put_function(struct json *json, const char *key, const struct samples *samples,
			 uint32_t function)
{
	const struct samples_function *of;

	if (function == SAMPLES_NONE) {
		json_null(json, key);
		return;
	}
	of = &samples->functions[function];
	json_object(json, key);
	put_object(json, samples, of->object);
	json_u64(json, "offset", of->offset);
	json_string(json, "function", of->name);
	json_end(json);
}

static void put_training(struct json *json, const struct profile_view *view)
{
	const struct training *training = view->training;
	const struct model *model = view->model;

	json_object(json, "training");
	json_string(json, "tool", training->tool);
	json_string(json, "settings", training->settings);
	json_u64(json, "created_s", training->created_s);
	json_u64(json, "changed_s", training->changed_s);
	json_u64(json, "runs", view->samples->runs);
	json_u64(json, "lost", view->samples->lost);
	json_end(json);
	json_object(json, "model");
	json_string(json, "distance", model->distance);
	json_real(json, "cut", model->cut);
	json_string(json, "select", model->select);
	json_real(json, "budget", model->budget);
	json_string(json, "threshold_rule", model->threshold_rule);
	json_real(json, "false_alarm_rate", model->false_alarm_rate);
	json_end(json);
}

static void put_objects(struct json *json, const struct samples *samples)
{
	json_array(json, "objects");
	for (uint32_t i = 0; i < samples->nr_objects; i++) {
		json_object(json, NULL);
		put_object(json, samples, i);
		json_end(json);
	}
	json_end(json);
	json_u64(json, "functions", samples->nr_functions);
}

static void put_boundary(struct json *json, const struct samples *samples,
			 const struct samples_boundary *boundary)
{
	json_object(json, NULL);
	json_string(json, "role", profile_role(boundary->role));
	if (boundary->role == SAMPLES_ROLE_EVENT_SITE) {
		put_function(json, "function", samples, boundary->function);
	} else {
		json_u64(json, "syscall", boundary->syscall);
		json_string(json, "syscall_name", syscall_name(boundary->syscall));
		put_object(json, samples, boundary->object);
		json_u64(json, "return_offset", boundary->return_offset);
		json_u64(json, "distance", boundary->distance);
		if (boundary->rise)
			json_u64(json, "rise", boundary->rise);
		else
			json_null(json, "rise");
	}
	json_end(json);
}

static void put_prediction(struct json *json, const struct profile_view *view,
			   const struct model_prediction *prediction)
{
	json_object(json, NULL);
	json_u64(json, "loop", prediction->loop + 1u);
	json_real(json, "budget", prediction->budget);
	json_u64(json, "nr_guards", prediction->nr_guards);
	json_real(json, "accuracy_end", prediction->accuracy_end);
	json_real(json, "accuracy_half", prediction->accuracy_half);
	json_real(json, "accuracy_unmerged", prediction->accuracy_unmerged);
	json_real(json, "threshold_right", prediction->threshold_right);
	json_real(json, "hits", prediction->hits);
	json_u64(json, "worst", prediction->worst);
	json_real(json, "unseen", prediction->unseen);
	if (view->novel && prediction->units)
		json_real(json, "novel", view->novel[prediction->loop]);
	else
		json_null(json, "novel");
	json_u64(json, "units", prediction->units);
	json_end(json);
}

static void put_loops(struct json *json, const struct profile_view *view)
{
	const struct samples *samples = view->samples;

	json_array(json, "loops");
	for (uint32_t i = 0; i < samples->nr_loops; i++) {
		const struct samples_loop *loop = &samples->loops[i];

		json_object(json, NULL);
		json_u64(json, "loop", i + 1u);
		put_hash(json, loop->hash);
		json_string(json, "comm", loop->comm);
		put_function(json, "function", samples, loop->function);
		json_array(json, "boundaries");
		for (uint32_t j = 0; j < loop->nr_boundaries; j++)
			put_boundary(json, samples, &loop->boundaries[j]);
		json_end(json);
		json_bool(json, "has_empty", loop->has_empty);
		json_u64(json, "units", loop->units);
		json_u64(json, "cut_off", loop->cut_off);
		json_u64(json, "foreign_stack", loop->foreign_stack);
		json_u64(json, "nr_trees", view->loop_trees[i]);
		json_u64(json, "nr_variants", view->loop_variants[i]);
		json_end(json);
	}
	json_end(json);
	json_array(json, "predictions");
	for (uint32_t i = 0; i < view->model->nr_predictions; i++)
		put_prediction(json, view, &view->model->predictions[i]);
	json_end(json);
}

static void put_times(struct json *json, const struct samples_times *times)
{
	uint64_t max_ns = times->nr_largest ? times->largest_ns[0] : UINT64_MAX;

	json_object(json, "times");
	json_u64(json, "nr", times->nr);
	json_u64(json, "sum_ns", times->sum_ns);
	if (times->nr) {
		json_u64(json, "mean_ns", (uint64_t)profile_mean_ns(times));
		json_u64(json, "deviation_ns",
			 (uint64_t)(profile_deviation(times) * profile_mean_ns(times)));
		json_u64(json, "p50", histogram_percentile(times->hist, 500, max_ns));
		json_u64(json, "p99", histogram_percentile(times->hist, 990, max_ns));
		json_u64(json, "max", max_ns);
	}
	json_end(json);
}

static void put_telling(struct json *json, const struct profile_view *view, uint32_t type)
{
	const struct profile_telling *telling = &view->telling[type * PROFILE_MAX_TELLING];
	const struct model *model = view->model;

	json_array(json, "told_by");
	for (int i = 0; i < PROFILE_MAX_TELLING && telling[i].lead; i++) {
		const struct model_context *context = &model->contexts[telling[i].context];

		json_object(json, NULL);
		put_function(json, "function", view->samples,
			     model->guards[context->guard].function);
		json_u64(json, "depth", context->depth);
		json_u64(json, "lead", telling[i].lead);
		json_end(json);
	}
	json_end(json);
}

/* Of a signed number; JSON has no other. */
static void put_score(struct json *json, const char *key, int16_t score)
{
	json_real(json, key, score);
}

static void put_type(struct json *json, const struct profile_view *view, uint32_t index)
{
	const struct model_type *type = &view->model->types[index];

	json_object(json, NULL);
	json_u64(json, "id", type->id);
	json_u64(json, "loop", type->loop + 1u);
	json_u64(json, "units", type->units);
	json_u64(json, "nr_trees", type->nr_trees);
	json_u64(json, "nr_merged", type->nr_merged);
	put_score(json, "base_early", type->base_early);
	put_score(json, "base_final", type->base_final);
	json_real(json, "accuracy", type->accuracy);
	json_real(json, "paths", type->paths);
	json_real(json, "functions", type->functions);
	put_times(json, &type->times);
	if (type->threshold_ns)
		json_u64(json, "threshold_ns", type->threshold_ns);
	else
		json_null(json, "threshold_ns");
	json_string(json, "confidence", profile_confidence(type->confidence));
	json_u64(json, "units_needed", type->units_needed);
	json_real(json, "false_alarms", type->false_alarms);
	json_real(json, "held_back_alarms", type->held_back_alarms);
	json_u64(json, "held_back_units", type->held_back_units);
	put_telling(json, view, index);
	json_end(json);
}

static void put_context(struct json *json, const struct model *model,
			const struct model_context *context)
{
	json_object(json, NULL);
	json_u64(json, "loop", context->loop + 1u);
	json_u64(json, "depth", context->depth);
	json_array(json, "weights");
	for (uint32_t i = 0; i < context->nr_weights; i++) {
		const struct model_weight *weight = &model->weights[context->first_weight + i];

		json_object(json, NULL);
		json_u64(json, "type", model->types[weight->type].id);
		json_u64(json, "early", weight->early);
		json_u64(json, "final", weight->final);
		json_end(json);
	}
	json_end(json);
	json_end(json);
}

static void put_guards(struct json *json, const struct profile_view *view, bool has_hits)
{
	const struct model *model = view->model;

	json_array(json, "guards");
	for (uint32_t i = 0; i < model->nr_guards; i++) {
		const struct model_guard *guard = &model->guards[i];
		const struct samples_function *function =
			&view->samples->functions[guard->function];

		json_object(json, NULL);
		put_function(json, "function", view->samples, guard->function);
		json_u64(json, "site", function->site);
		json_u64(json, "sp_delta", function->sp_delta);
		json_bool(json, "is_stepped", function->cost == SAMPLES_COST_STEPPED);
		json_real(json, "hits", guard->hits);
		json_u64(json, "most_hits", guard->most_hits);
		json_real(json, "cost_ns", guard->cost_ns);
		if (has_hits) {
			json_array(json, "contexts");
			for (uint32_t j = 0; j < model->nr_contexts; j++)
				if (model->contexts[j].guard == i)
					put_context(json, model, &model->contexts[j]);
			json_end(json);
		}
		json_end(json);
	}
	json_end(json);
}

static void put_tree(struct json *json, const struct tree *tree)
{
	const struct samples *samples = tree->view->samples;

	json_object(json, "tree");
	json_u64(json, "type", tree->view->model->types[tree->type].id);
	json_u64(json, "paths", tree->nr_paths);
	json_array(json, "nodes");
	for (uint32_t i = 0; i < tree->nr_nodes; i++) {
		const struct tree_node *node = &tree->nodes[i];

		json_object(json, NULL);
		json_u64(json, "node", i);
		if (i)
			json_u64(json, "parent", node->parent);
		else
			json_null(json, "parent");
		put_function(json, "function", samples, node->function);
		json_bool(json, "is_guard", node->is_guard);
		json_bool(json, "is_telling", node->is_telling);
		json_end(json);
	}
	json_end(json);
	json_end(json);
}

int profile_json(FILE *file, const struct profile_view *view, bool has_hits,
		 const struct tree *tree)
{
	struct json json = { 0 };
	int ret;

	json_object(&json, NULL);
	json_string(&json, "kind", "profile");
	json_string(&json, "path", view->path);
	json_string(&json, "exe", view->samples->objects[0].path);
	json_string(&json, "build_id",
		    view->samples->objects[0].build_id[0] ? view->samples->objects[0].build_id :
							    NULL);
	put_training(&json, view);
	put_objects(&json, view->samples);
	put_loops(&json, view);
	json_array(&json, "types");
	for (uint32_t i = 0; i < view->model->nr_types; i++)
		put_type(&json, view, view->types[i]);
	json_end(&json);
	put_guards(&json, view, has_hits);
	if (tree)
		put_tree(&json, tree);
	json_end(&json);
	ret = json_end_line(&json, file);
	json_deinit(&json);
	return ret;
}
