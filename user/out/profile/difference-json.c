// SPDX-License-Identifier: GPL-2.0

#include "out/profile/difference-view.h"

#include "out/json.h"
#include "out/line.h"
#include "out/profile/profile-view.h"

static const char *const parts[SAMPLES_NR_PARTS] = {
	[SAMPLES_OWN] = "own", [SAMPLES_CPU] = "cpu", [SAMPLES_BLOCKED] = "blocked",
	[SAMPLES_BLOCK_IO] = "block_io",
};

static const char *const changes[DIFFERENCE_NR_CHANGES] = {
	[DIFFERENCE_SLOWER] = "slower", [DIFFERENCE_FASTER] = "faster", [DIFFERENCE_NEW] = "new",
	[DIFFERENCE_GONE] = "gone", [DIFFERENCE_CALLS] = "calls",
	[DIFFERENCE_RARE] = "rare",
};

static void put_profile(struct json *json, const char *key,
			const struct difference_profile *profile)
{
	const struct samples_object *program = &profile->samples->objects[0];

	json_object(json, key);
	json_string(json, "path", profile->path);
	json_string(json, "exe", program->path);
	json_string(json, "build_id", program->build_id[0] ? program->build_id : NULL);
	json_u64(json, "types", profile->model->nr_types);
	json_u64(json, "timed_units", profile->timed);
	json_end(json);
}

static void put_part(struct json *json, int part, const struct part_difference *difference)
{
	bool has_both = difference->before_ns > 0 && difference->after_ns > 0;

	json_object(json, parts[part]);
	json_u64_or_null(json, "before_ns", (uint64_t)(difference->before_ns + 0.5),
			 difference->before_ns > 0);
	json_u64_or_null(json, "after_ns", (uint64_t)(difference->after_ns + 0.5),
			 difference->after_ns > 0);
	if (has_both)
		json_real(json, "chance", difference->chance);
	else
		json_null(json, "chance");
	json_bool(json, "is_sure", difference->is_sure);
	json_end(json);
}

static void put_calls(struct json *json, const char *key, const struct samples *samples,
		      const struct call_difference *calls)
{
	json_array(json, key);
	for (uint32_t i = 0; i < calls->nr; i++)
		profile_put_function(json, NULL, samples, calls->functions[i]);
	json_end(json);
}

static void put_id(struct json *json, const char *key, const struct model *model, uint32_t type)
{
	json_u64_or_null(json, key, type == SAMPLES_NONE ? 0 : model->types[type].id,
			 type != SAMPLES_NONE);
}

static void put_type(struct json *json, const struct difference_view *view,
		     const struct type_difference *type)
{
	bool has_both = type->a != SAMPLES_NONE && type->b != SAMPLES_NONE;

	json_object(json, NULL);
	put_id(json, "type_before", view->before.model, type->a);
	put_id(json, "type_after", view->after.model, type->b);
	json_string(json, "change", changes[difference_change(type)]);
	json_string(json, "part", type->part == SAMPLES_NONE ? NULL : parts[type->part]);
	if (has_both)
		json_double(json, "alike", type->alike);
	else
		json_null(json, "alike");
	json_real(json, "units_before", type->units_a);
	json_real(json, "units_after", type->units_b);
	json_object(json, "times");
	for (int part = 0; part < SAMPLES_NR_PARTS; part++)
		put_part(json, part, &type->parts[part]);
	json_end(json);
	put_calls(json, "calls_gone", view->before.samples, &type->gone);
	put_calls(json, "calls_new", view->after.samples, &type->added);
	json_end(json);
}

int difference_json(FILE *file, const struct difference_view *view)
{
	struct json json = { 0 };
	int ret;

	line_begin(&json, "difference", 0);
	put_profile(&json, "before", &view->before);
	put_profile(&json, "after", &view->after);
	if (view->difference->pace > 0)
		json_real(&json, "pace", view->difference->pace);
	else
		json_null(&json, "pace");
	json_real(&json, "lost_functions", view->difference->lost);
	json_array(&json, "types");
	for (uint32_t i = 0; i < view->difference->nr; i++)
		put_type(&json, view, &view->difference->types[i]);
	json_end(&json);
	ret = line_end(&json, file);
	json_deinit(&json);
	return ret;
}
