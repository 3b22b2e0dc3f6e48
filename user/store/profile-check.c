// SPDX-License-Identifier: GPL-2.0

#include "store/profile-check.h"

#include <string.h>

#include "data/fingerprint.h"

static bool is_optional(uint32_t index, uint32_t end)
{
	return index == SAMPLES_NONE || index < end;
}

static const char *check_objects(const struct samples *samples)
{
	if (!samples->nr_objects)
		return "no program in it";
	if (samples->nr_objects > CHECK_MAX_OBJECTS)
		return "too many objects";
	for (uint32_t i = 0; i < samples->nr_objects; i++) {
		const struct samples_object *object = &samples->objects[i];
		size_t len = strlen(object->build_id);

		if (!object->path[0] || strlen(object->path) > CHECK_MAX_PATH)
			return "an object without a path";
		if (len > CHECK_MAX_BUILD_ID || strspn(object->build_id, "0123456789abcdef") != len)
			return "a build id that is none";
		if (object->code_size > FINGERPRINT_MAX_BYTES || !object->code != !object->code_size)
			return "fingerprints that are none";
	}
	return NULL;
}

static const char *check_functions(const struct samples *samples)
{
	if (samples->nr_functions > CHECK_MAX_FUNCTIONS)
		return "too many functions";
	for (uint32_t i = 0; i < samples->nr_functions; i++) {
		const struct samples_function *function = &samples->functions[i];

		if (function->object >= samples->nr_objects)
			return "a function of no object";
		if (function->cost > SAMPLES_COST_ALL)
			return "a function of unknown cost";
		if (function->name && strlen(function->name) > CHECK_MAX_NAME)
			return "a function's name that is too long";
	}
	return NULL;
}

static const char *check_boundary(const struct samples *samples,
				  const struct samples_boundary *boundary)
{
	switch (boundary->role) {
	case SAMPLES_ROLE_WAIT:
	case SAMPLES_ROLE_EVENT_CALL:
		if (boundary->object >= samples->nr_objects)
			return "a boundary in no object";
		return NULL;
	case SAMPLES_ROLE_EVENT_SITE:
	case SAMPLES_ROLE_START_SITE:
		if (boundary->function >= samples->nr_functions)
			return "a boundary in no function";
		return NULL;
	}
	return "a boundary of an unknown kind";
}

static const char *check_loops(const struct samples *samples)
{
	uint64_t nr_boundaries = 0;

	if (samples->nr_loops > CHECK_MAX_LOOPS)
		return "too many loops";
	for (uint32_t i = 0; i < samples->nr_loops; i++) {
		const struct samples_loop *loop = &samples->loops[i];
		const char *wrong = NULL;
		bool has_begin = false;

		for (uint32_t j = 0; j < loop->nr_boundaries && !wrong; j++) {
			wrong = check_boundary(samples, &loop->boundaries[j]);
			has_begin |= samples_begins_units(&loop->boundaries[j]);
		}
		if (wrong)
			return wrong;
		if (!has_begin)
			return "a loop without a wait";
		if (!is_optional(loop->function, samples->nr_functions))
			return "a loop of no function";
		if (!memchr(loop->comm, 0, sizeof(loop->comm)))
			return "a thread's name without an end";
		nr_boundaries += loop->nr_boundaries;
	}
	return nr_boundaries > CHECK_MAX_BOUNDARIES ? "too many boundaries" : NULL;
}

static const char *check_nodes(const struct samples *samples)
{
	if (samples->nr_nodes > CHECK_MAX_NODES)
		return "too many call paths";
	for (uint32_t i = 1; i < samples->nr_nodes; i++) {
		if (samples->nodes[i].parent >= i)
			return "a call path that is its own ancestor";
		if (samples->nodes[i].function >= samples->nr_functions)
			return "a call path into no function";
	}
	return NULL;
}

static const char *check_trees(const struct samples *samples)
{
	if (samples->nr_trees > CHECK_MAX_TREES)
		return "too many call trees";
	for (uint32_t i = 0; i < samples->nr_trees; i++) {
		const struct samples_tree *tree = &samples->trees[i];

		if (tree->loop >= samples->nr_loops)
			return "a call tree of no loop";
		if (!samples_are_rising(tree->leaves, tree->nr_leaves, samples->nr_nodes))
			return "a call tree of no paths";
	}
	return NULL;
}

static const char *check_units(const struct samples *samples)
{
	if (samples->nr_units > CHECK_MAX_UNITS)
		return "too many variants of units";
	for (uint32_t i = 0; i < samples->nr_units; i++) {
		const struct samples_unit *unit = &samples->units[i];

		if (unit->tree >= samples->nr_trees)
			return "a unit without a call tree";
		if (!samples_are_hits(samples, unit->hits, unit->nr_hits))
			return "a unit's hit of no function";
	}
	return NULL;
}

/* The histogram and the largest are of the same units as the sums. */
static bool are_times(const struct samples_times *times)
{
	uint64_t units = 0;

	if (times->nr_largest > SAMPLES_NR_LARGEST || times->nr_largest > times->nr)
		return false;
	for (uint32_t i = 1; i < times->nr_largest; i++)
		if (times->largest_ns[i] > times->largest_ns[i - 1])
			return false;
	for (uint32_t i = 0; i < PERFGUARD_HIST_BUCKETS; i++)
		if (__builtin_add_overflow(units, times->hist[i], &units))
			return false;
	return units == times->nr;
}

static bool are_requests(const struct samples_times requests[REQUEST_NR_PARTS])
{
	for (int part = 0; part < REQUEST_NR_PARTS; part++)
		if (!are_times(&requests[part]) || requests[part].nr > requests[0].nr)
			return false;
	return true;
}

/* Of no part more is known than of all. */
static bool are_parts(const struct samples_parts *parts)
{
	for (int part = 0; part < SAMPLES_NR_PARTS; part++)
		if (!are_times(&parts->of[part]) || parts->of[part].nr > parts->of[SAMPLES_OWN].nr)
			return false;
	return are_requests(parts->requests);
}

static const char *check_timings(const struct samples *samples)
{
	if (samples->nr_guards > CHECK_MAX_GUARD_SETS || samples->nr_timings > CHECK_MAX_TIMINGS)
		return "too many timings";
	for (uint32_t i = 0; i < samples->nr_guards; i++)
		if (!samples_are_rising(samples->guards[i].functions, samples->guards[i].nr,
			       samples->nr_functions))
			return "a guard in no function";
	for (uint32_t i = 0; i < samples->nr_timings; i++) {
		const struct samples_timing *timing = &samples->timings[i];

		if (timing->guards >= samples->nr_guards || timing->loop >= samples->nr_loops)
			return "a timing of no guards or no loop";
		if (!samples_are_hits(samples, timing->hits, timing->nr_hits))
			return "a timing's hit of no function";
		if (!are_parts(&timing->times[0]) || !are_parts(&timing->times[1]))
			return "times that contradict themselves";
	}
	return NULL;
}

static const char *check_objectives(const struct samples *samples)
{
	if (samples->nr_objectives > CHECK_MAX_OBJECTIVES)
		return "too many objectives";
	for (uint32_t i = 0; i < samples->nr_objectives; i++) {
		const struct samples_objective *objective = &samples->objectives[i];

		if (!objective->limit_ns)
			return "an objective without a limit";
		if (i && objective->tree <= objective[-1].tree)
			return "objectives that are not in order";
	}
	return NULL;
}

const char *check_samples(const struct samples *samples)
{
	static const char *(*const checks[])(const struct samples *samples) = {
		check_objects, check_functions, check_loops,   check_nodes,
		check_trees,   check_units,	check_timings,	 check_objectives,
	};
	const char *wrong = NULL;

	for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]) && !wrong; i++)
		wrong = checks[i](samples);
	return wrong;
}

static bool are_finite(const double *numbers, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		if (numbers[i] - numbers[i] != 0)
			return false;
	return true;
}

static const char *check_type(const struct model_type *type, const struct samples *samples)
{
	const double numbers[] = { type->accuracy, type->paths, type->functions,
				   type->false_alarms, type->held_back_alarms };

	if (type->loop >= samples->nr_loops)
		return "a type of no loop";
	if (!is_optional(type->example, samples->nr_trees))
		return "a type without a call tree";
	if (type->confidence > MODEL_CONFIDENCE_FULL)
		return "a type of unknown confidence";
	if (!are_finite(numbers, sizeof(numbers) / sizeof(numbers[0])) ||
	    !are_finite(type->mean_ns, SAMPLES_NR_PARTS))
		return "a type with a number that is none";
	return are_times(&type->times) && are_requests(type->requests)
		? NULL : "times that contradict themselves";
}

static const char *check_guards(const struct model *model, const struct samples *samples)
{
	if (model->nr_guards > CHECK_MAX_GUARDS)
		return "too many guards";
	for (uint32_t i = 0; i < model->nr_guards; i++) {
		const double numbers[] = { model->guards[i].hits, model->guards[i].cost_ns };

		if (model->guards[i].function >= samples->nr_functions)
			return "a guard in no function";
		if (!are_finite(numbers, 2))
			return "a guard with a number that is none";
	}
	return NULL;
}

static const char *check_contexts(const struct model *model, const struct samples *samples)
{
	if (model->nr_contexts > CHECK_MAX_CONTEXTS || model->nr_weights > CHECK_MAX_WEIGHTS)
		return "too many contexts";
	for (uint32_t i = 0; i < model->nr_contexts; i++) {
		const struct model_context *context = &model->contexts[i];

		if (context->loop >= samples->nr_loops || context->guard >= model->nr_guards)
			return "a context of no loop or no guard";
		if (context->first_weight > model->nr_weights ||
		    context->nr_weights > model->nr_weights - context->first_weight)
			return "a context without its weights";
	}
	for (uint32_t i = 0; i < model->nr_weights; i++)
		if (model->weights[i].type >= model->nr_types)
			return "a weight of no type";
	return NULL;
}

static const char *check_predictions(const struct model *model, const struct samples *samples)
{
	if (model->nr_predictions > CHECK_MAX_LOOPS)
		return "too many predictions";
	for (uint32_t i = 0; i < model->nr_predictions; i++) {
		const struct model_prediction *prediction = &model->predictions[i];
		const double numbers[] = { prediction->budget, prediction->accuracy_end,
					   prediction->accuracy_half, prediction->accuracy_unmerged,
					   prediction->threshold_right,
					   prediction->hits, prediction->unseen };

		if (prediction->loop >= samples->nr_loops)
			return "a prediction of no loop";
		if (!are_finite(numbers, sizeof(numbers) / sizeof(numbers[0])))
			return "a prediction with a number that is none";
	}
	return NULL;
}

static const char *check_settings(const struct model *model, const struct samples *samples)
{
	const double numbers[] = { model->budget, model->false_alarm_rate, model->cut };

	(void)samples;
	if (!are_finite(numbers, sizeof(numbers) / sizeof(numbers[0])))
		return "a setting that is no number";
	if (!memchr(model->distance, 0, sizeof(model->distance)) ||
	    !memchr(model->select, 0, sizeof(model->select)) ||
	    !memchr(model->threshold_rule, 0, sizeof(model->threshold_rule)))
		return "a setting without an end";
	return NULL;
}

static const char *check_types(const struct model *model, const struct samples *samples)
{
	uint8_t has_id[CHECK_MAX_TYPES + 1] = { 0 };

	if (model->nr_types > CHECK_MAX_TYPES)
		return "too many types";
	for (uint32_t i = 0; i < model->nr_types; i++) {
		uint32_t id = model->types[i].id;
		const char *wrong = check_type(&model->types[i], samples);

		if (wrong)
			return wrong;
		if (!id || id > CHECK_MAX_TYPES || has_id[id]++)
			return "types that are not numbered";
	}
	return NULL;
}

const char *check_model(const struct model *model, const struct samples *samples)
{
	static const char *(*const checks[])(const struct model *, const struct samples *) = {
		check_settings, check_types, check_guards, check_contexts, check_predictions,
	};
	const char *wrong = NULL;

	for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]) && !wrong; i++)
		wrong = checks[i](model, samples);
	if (wrong)
		return wrong;
	if (model->nr_trees && model->nr_trees != samples->nr_trees)
		return "types for other call trees";
	for (uint32_t i = 0; i < model->nr_trees; i++)
		if (!is_optional(model->type_of_tree[i], model->nr_types))
			return "a call tree of no type";
	return NULL;
}
