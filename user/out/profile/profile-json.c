// SPDX-License-Identifier: GPL-2.0

#include "out/profile/tree.h"

#include "base/duration.h"
#include "base/syscall-name.h"
#include "base/time.h"
#include "data/histogram.h"
#include "out/fields.h"
#include "out/line.h"

static void put_object(struct json *json, const char *key, const struct samples *samples,
		       uint32_t object)
{
	const struct samples_object *of = &samples->objects[object];

	json_string(json, key, of->path);
	json_string(json, "build_id", of->build_id[0] ? of->build_id : NULL);
}

void profile_put_function(struct json *json, const char *key, const struct samples *samples,
			  uint32_t function)
{
	const struct samples_function *of;

	if (function == SAMPLES_NONE) {
		json_null(json, key);
		return;
	}
	of = &samples->functions[function];
	json_object(json, key);
	put_object(json, "module", samples, of->object);
	json_u64(json, "offset", of->offset);
	json_string(json, "function", of->name);
	line_put_name(json, samples->objects[of->object].path, of->offset, of->name);
	json_end(json);
}

static void put_seconds(struct json *json, const char *name, uint64_t seconds)
{
	char time[TIME_TEXT_MAX];

	json_string(json, name, seconds ? time_format(seconds * NSEC_PER_SEC, time) : NULL);
}

static void put_created(struct json *json, const char *name, const void *object)
{
	put_seconds(json, name, ((const struct training *)object)->created_s);
}

static void put_changed(struct json *json, const char *name, const void *object)
{
	put_seconds(json, name, ((const struct training *)object)->changed_s);
}

static const struct field training_fields[] = {
	FIELD(struct training, tool, "tool"),
	FIELD(struct training, settings, "settings", .text = "  settings   %s\n"),
	FIELD_BY(put_created, "created"),
	FIELD_BY(put_changed, "changed"),
	FIELD(struct training, created_s, "created_s"),
	FIELD(struct training, changed_s, "changed_s"),
	{ 0 },
};

static const struct field samples_fields[] = {
	FIELD(struct samples, runs, "runs"),
	FIELD(struct samples, lost, "lost", .text = "  lost       %s event%s\n",
	      .has_empty_text = true),
	{ 0 },
};

static const struct field model_fields[] = {
	FIELD(struct model, distance, "distance"),
	FIELD(struct model, cut, "cut"),
	FIELD(struct model, select, "select"),
	FIELD(struct model, is_inline, "is_inline"),
	FIELD(struct model, budget, "budget"),
	FIELD(struct model, threshold_rule, "threshold_rule"),
	FIELD(struct model, false_alarm_rate, "false_alarm_rate"),
	{ 0 },
};

void profile_training_text(FILE *file, const struct profile_view *view)
{
	fields_text(file, training_fields, view->training);
	fields_text(file, samples_fields, view->samples);
}

static void put_training(struct json *json, const struct profile_view *view)
{
	json_object(json, "training");
	fields_json(json, training_fields, view->training);
	fields_json(json, samples_fields, view->samples);
	json_end(json);
	json_object(json, "model");
	fields_json(json, model_fields, view->model);
	json_end(json);
}

static void put_objects(struct json *json, const struct samples *samples)
{
	json_array(json, "objects");
	for (uint32_t i = 0; i < samples->nr_objects; i++) {
		json_object(json, NULL);
		put_object(json, "module", samples, i);
		json_end(json);
	}
	json_end(json);
	json_u64(json, "functions", samples->nr_functions);
}

static void put_call_name(struct json *json, const char *name, const void *object)
{
	const struct samples_boundary *boundary = object;

	json_string(json, name, syscall_name(boundary->syscall));
}

/* Of a boundary that is a system call. */
static const struct field call_fields[] = {
	FIELD(struct samples_boundary, syscall, "syscall"),
	FIELD_BY(put_call_name, "syscall_name"),
	FIELD(struct samples_boundary, return_offset, "return_offset"),
	FIELD(struct samples_boundary, distance, "distance"),
	FIELD(struct samples_boundary, rise, "rise", .empty = FIELD_NULL),
	{ 0 },
};

static const char *const role_names[] = {
	[SAMPLES_ROLE_WAIT] = "wait",
	[SAMPLES_ROLE_EVENT_CALL] = "event",
	[SAMPLES_ROLE_EVENT_SITE] = "site",
	[SAMPLES_ROLE_START_SITE] = "start",
};

static void put_boundary(struct json *json, const struct samples *samples,
			 const struct samples_boundary *boundary)
{
	json_object(json, NULL);
	json_string(json, "role", role_names[boundary->role]);
	if (samples_is_site(boundary)) {
		profile_put_function(json, "function", samples, boundary->function);
	} else {
		fields_json(json, call_fields, boundary);
		put_object(json, "module", samples, boundary->object);
	}
	json_end(json);
}

#define AT(member) FIELD(struct model_prediction, member, #member)

static const struct field prediction_fields[] = {
	FIELD_AS(FIELD_NUMBER, struct model_prediction, loop, "loop"),
	AT(budget), AT(nr_guards), AT(accuracy_end), AT(accuracy_half),
	AT(accuracy_unmerged), AT(threshold_right), AT(hits), AT(worst),
	AT(unseen), AT(units),
	{ 0 },
};

static void put_prediction(struct json *json, const struct profile_view *view,
			   const struct model_prediction *prediction)
{
	json_object(json, NULL);
	fields_json(json, prediction_fields, prediction);
	if (view->novel && prediction->units)
		json_real(json, "novel", view->novel[prediction->loop]);
	else
		json_null(json, "novel");
	json_end(json);
}

static const struct field loop_fields[] = {
	FIELD_AS(FIELD_HEX, struct samples_loop, hash, "hash"),
	FIELD(struct samples_loop, comm, "comm"),
	FIELD(struct samples_loop, has_empty, "has_empty"),
	FIELD(struct samples_loop, units, "units"),
	FIELD(struct samples_loop, cut_off, "cut_off"),
	FIELD(struct samples_loop, foreign_stack, "foreign_stack"),
	FIELD(struct samples_loop, unmarked, "unmarked"),
	{ 0 },
};

static void put_loops(struct json *json, const struct profile_view *view)
{
	const struct samples *samples = view->samples;

	json_array(json, "loops");
	for (uint32_t i = 0; i < samples->nr_loops; i++) {
		const struct samples_loop *loop = &samples->loops[i];

		json_object(json, NULL);
		json_u64(json, "loop", i + 1u);
		fields_json(json, loop_fields, loop);
		profile_put_function(json, "function", samples, loop->function);
		json_array(json, "boundaries");
		for (uint32_t j = 0; j < loop->nr_boundaries; j++)
			put_boundary(json, samples, &loop->boundaries[j]);
		json_end(json);
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

static void put_times(struct json *json, const char *name, const void *object)
{
	const struct samples_times *times = &((const struct model_type *)object)->times;
	uint64_t max_ns = times->nr_largest ? times->largest_ns[0] : UINT64_MAX;

	json_object(json, name);
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

static void put_identifying(struct json *json, const char *name, const struct profile_view *view,
			    uint32_t type)
{
	const struct profile_identifying *best = &view->identifying[type * PROFILE_MAX_IDENTIFYING];
	const struct model *model = view->model;

	json_array(json, name);
	for (int i = 0; i < PROFILE_MAX_IDENTIFYING && best[i].lead; i++) {
		const struct model_context *context = &model->contexts[best[i].context];

		json_object(json, NULL);
		profile_put_function(json, "function", view->samples,
			     model->guards[context->guard].function);
		json_u64(json, "depth", context->depth);
		json_u64(json, "lead", best[i].lead);
		json_end(json);
	}
	json_end(json);
}

#undef AT
#define AT(member, ...) FIELD(struct model_type, member, #member, ##__VA_ARGS__)
#define REQUEST(part, name) \
	FIELD(struct model_type, request_ns[REQUEST_PART_##part], name, .empty = FIELD_NULL)
#define LIMIT(part, name) FIELD(struct model_type, limit_ns[part], name, .empty = FIELD_NULL)

static const struct field type_fields[] = {
	AT(id),
	FIELD_AS(FIELD_NUMBER, struct model_type, loop, "loop"),
	AT(units), AT(nr_trees), AT(nr_merged), AT(base_early),
	AT(base_final), AT(accuracy), AT(paths), AT(functions),
	FIELD_BY(put_times, "times"),
	FIELD_INNER("mean_ns"),
	FIELD_AS(FIELD_WHOLE, struct model_type, mean_ns[SAMPLES_OWN], "own"),
	FIELD_AS(FIELD_WHOLE, struct model_type, mean_ns[SAMPLES_CPU], "cpu"),
	FIELD_AS(FIELD_WHOLE, struct model_type, mean_ns[SAMPLES_BLOCKED], "blocked"),
	FIELD_AS(FIELD_WHOLE, struct model_type, mean_ns[SAMPLES_BLOCK_IO], "block_io"),
	FIELD_INNER_END,
	LIMIT(SAMPLES_OWN, "threshold_ns"),
	FIELD_INNER("limits_ns"),
	FIELD(struct model_type, objective_ns, "all", .empty = FIELD_NULL),
	LIMIT(SAMPLES_OWN, "own"), LIMIT(SAMPLES_CPU, "cpu"),
	LIMIT(SAMPLES_BLOCKED, "blocked"), LIMIT(SAMPLES_BLOCK_IO, "block_io"),
	FIELD(struct model_type, added_ns[SAMPLES_INTERRUPT], "interrupt"),
	FIELD(struct model_type, added_ns[SAMPLES_BATCH], "batch"),
	FIELD(struct model_type, novel_ns, "novel"),
	REQUEST(ALL, "request"), REQUEST(WORKING, "request_working"),
	REQUEST(PEERS, "request_peers"), REQUEST(HELD, "request_held"),
	FIELD_INNER_END,
	FIELD(struct model_type, requests[REQUEST_PART_ALL].nr, "requests"),
	FIELD_NAMED(profile_confidence_names, struct model_type, confidence, "confidence"),
	AT(units_needed), AT(false_alarms), AT(held_back_alarms), AT(held_back_units),
	AT(is_carried),
	{ 0 },
};

static void put_type(struct json *json, const struct profile_view *view, uint32_t index)
{
	json_object(json, NULL);
	fields_json(json, type_fields, &view->model->types[index]);
	put_identifying(json, "identified_by", view, index);
	put_identifying(json, "told_by", view, index);
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

static const struct field guard_fields[] = {
	FIELD(struct model_guard, hits, "hits"),
	FIELD(struct model_guard, most_hits, "most_hits"),
	FIELD(struct model_guard, cost_ns, "cost_ns"),
	{ 0 },
};

static void put_guards(struct json *json, const struct profile_view *view, bool has_hits)
{
	const struct model *model = view->model;

	json_array(json, "guards");
	for (uint32_t i = 0; i < model->nr_guards; i++) {
		const struct model_guard *guard = &model->guards[i];
		const struct samples_function *function =
			&view->samples->functions[guard->function];

		json_object(json, NULL);
		profile_put_function(json, "function", view->samples, guard->function);
		json_u64(json, "site", function->site);
		json_u64(json, "sp_delta", function->sp_delta);
		json_bool(json, "is_stepped", function->cost & SAMPLES_COST_STEPPED);
		json_bool(json, "has_window", function->cost & SAMPLES_COST_WINDOW);
		fields_json(json, guard_fields, guard);
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
		profile_put_function(json, "function", samples, node->function);
		json_bool(json, "is_guard", node->is_guard);
		json_bool(json, "is_identifying", node->is_identifying);
		json_bool(json, "is_telling", node->is_identifying);
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

	line_begin(&json, "profile", 0);
	json_string(&json, "path", view->path);
	put_object(&json, "exe", view->samples, 0);
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
	ret = line_end(&json, file);
	json_deinit(&json);
	return ret;
}
