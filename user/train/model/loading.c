// SPDX-License-Identifier: GPL-2.0

#include "train/model/loading.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <perfguard/infer.h>

#include "base/array.h"

/* Hits are planned for so many units, as the netlink spec has it. */
#define PLAN_UNITS 1024
#define MAX_TYPE_ID ((1u << 28) - 1)

struct loading_build {
	const struct samples *samples;
	const struct model *model;
	struct loading *to;
	const char *why;
	uint32_t *course_of; /* by loop, or SAMPLES_NONE */
	uint32_t *first_type; /* by event loop, and one more */
	uint32_t *object_of; /* by object of the samples, or SAMPLES_NONE */
	uint32_t *guard_of; /* by function, or SAMPLES_NONE */
};

static int refuse(struct loading_build *build, int error, const char *why)
{
	build->why = why;
	return error;
}

static int contradiction(struct loading_build *build)
{
	return refuse(build, -EINVAL, "contradicts itself");
}

static int too_large(struct loading_build *build, const char *why)
{
	return refuse(build, -E2BIG, why);
}

static uint32_t *none_of(uint32_t nr)
{
	uint32_t *indices = calloc((size_t)nr + 1, sizeof(*indices));

	for (uint32_t i = 0; indices && i < nr; i++)
		indices[i] = SAMPLES_NONE;
	return indices;
}

static int build_init(struct loading_build *build)
{
	build->course_of = none_of(build->samples->nr_loops);
	build->object_of = none_of(build->samples->nr_objects);
	build->guard_of = none_of(build->samples->nr_functions);
	if (!build->course_of || !build->object_of || !build->guard_of)
		return -ENOMEM;
	return 0;
}

static void build_deinit(struct loading_build *build)
{
	free(build->course_of);
	free(build->first_type);
	free(build->object_of);
	free(build->guard_of);
}

/* The object's number in the loading; it gets one if it has none. */
static int use_object(struct loading_build *build, uint32_t object, uint32_t *ret)
{
	struct loading *to = build->to;

	if (object >= build->samples->nr_objects)
		return contradiction(build);
	if (build->object_of[object] == SAMPLES_NONE) {
		to->objects[to->nr_objects] = object;
		build->object_of[object] = to->nr_objects++;
	}
	*ret = build->object_of[object];
	return 0;
}

/* The program itself is the first, even if all its guards are in libraries. */
static int add_objects(struct loading_build *build)
{
	uint32_t program;

	if (array_new(build->to->objects, build->samples->nr_objects))
		return -ENOMEM;
	return use_object(build, 0, &program);
}

/* Types are sorted by loop; each loop that has some becomes an event loop. */
static int add_courses(struct loading_build *build)
{
	uint32_t nr_loops = build->samples->nr_loops;
	const struct model *model = build->model;
	struct loading *to = build->to;

	if (array_new(to->courses, nr_loops) || array_new(to->loops, nr_loops) ||
	    array_new(build->first_type, nr_loops + 1UL))
		return -ENOMEM;
	for (uint32_t i = 0; i < model->nr_types; i++) {
		uint32_t loop = model->types[i].loop;

		if (loop >= nr_loops || (i && loop < model->types[i - 1].loop))
			return contradiction(build);
		if (i && loop == model->types[i - 1].loop)
			continue;
		build->course_of[loop] = to->nr_courses;
		build->first_type[to->nr_courses] = i;
		to->loops[to->nr_courses] = loop;
		to->courses[to->nr_courses] = (struct perfguard_loop){
			.id = to->nr_courses + 1,
			.flags = build->samples->loops[loop].has_empty ?
					 PERFGUARD_LOOP_FLAGS_HAS_EMPTY : 0,
		};
		to->nr_courses++;
	}
	build->first_type[to->nr_courses] = model->nr_types;
	return 0;
}

static int add_types(struct loading_build *build, const int16_t *least_final)
{
	const struct model *model = build->model;
	struct loading *to = build->to;

	if (!model->nr_types)
		return refuse(build, -ENODATA, "has no types: nothing was learnt from it yet");
	if (model->nr_types > PERFGUARD_MAX_PROFILE_TYPES)
		return too_large(build, "has more types than the module takes");
	if (array_new(to->types, model->nr_types))
		return -ENOMEM;
	for (uint32_t i = 0; i < model->nr_types; i++) {
		const struct model_type *type = &model->types[i];

		if (!type->id || type->id > MAX_TYPE_ID)
			return contradiction(build);
		to->types[i] = (struct perfguard_type){
			.threshold_ns = type->objective_ns,
			.own_ns = type->limit_ns[SAMPLES_OWN],
			.cpu_ns = type->limit_ns[SAMPLES_CPU],
			.blocked_ns = type->limit_ns[SAMPLES_BLOCKED],
			.block_io_ns = type->limit_ns[SAMPLES_BLOCK_IO],
			.interrupt_ns = type->added_ns[SAMPLES_INTERRUPT],
			.batch_ns = type->added_ns[SAMPLES_BATCH],
			.novel_ns = type->novel_ns,
			.request_ns = type->request_ns[REQUEST_PART_ALL],
			.request_working_ns = type->request_ns[REQUEST_PART_WORKING],
			.request_peers_ns = type->request_ns[REQUEST_PART_PEERS],
			.request_held_ns = type->request_ns[REQUEST_PART_HELD],
			.loop = build->course_of[type->loop],
			.id = type->id,
			.base_early = type->base_early,
			.base_final = type->base_final,
			.least_final = least_final[i],
		};
	}
	to->nr_types = model->nr_types;
	return 0;
}

/*
 * Hits in PLAN_UNITS units of the target, rounded up.  Training knows the mean
 * over all loops and nothing of how that changes with the load, so a guard is
 * planned to be hit as often as in the loop, and in the half of its units, that
 * hits it most.
 */
static uint32_t plan_of(double hits)
{
	double plan = ceil(PLAN_UNITS * hits);

	if (!(plan > 0))
		return 0;
	return plan < UINT32_MAX ? (uint32_t)plan : UINT32_MAX;
}

/*
 * How often the units hit each guard, by event loop and half; behind the last
 * guard, how many units there are.
 */
static void count_hits(const struct loading_build *build, double *counts)
{
	const struct samples *samples = build->samples;
	uint32_t nr = build->model->nr_guards;

	for (uint32_t i = 0; i < samples->nr_units; i++) {
		const struct samples_unit *unit = &samples->units[i];
		uint32_t loop = build->course_of[samples->trees[unit->tree].loop];

		for (int half = 0; half < 2 && loop != SAMPLES_NONE; half++) {
			double *hits = &counts[(2UL * loop + half) * (nr + 1UL)];
			double units = (double)unit->units[half];

			hits[nr] += units;
			for (uint32_t j = 0; j < unit->nr_hits; j++) {
				uint32_t guard = build->guard_of[unit->hits[j].function];

				if (guard != SAMPLES_NONE)
					hits[guard] += units * unit->hits[j].count;
			}
		}
	}
}

static int plan_guards(struct loading_build *build)
{
	uint32_t nr = build->model->nr_guards, nr_rows = 2 * build->to->nr_courses;
	double *counts;

	if (array_new(counts, nr_rows * (nr + 1UL)))
		return -ENOMEM;
	count_hits(build, counts);
	for (uint32_t i = 0; i < nr; i++) {
		double most = build->model->guards[i].hits;

		for (uint32_t row = 0; row < nr_rows; row++) {
			const double *hits = &counts[row * (nr + 1UL)];

			if (hits[nr] > 0 && hits[i] / hits[nr] > most)
				most = hits[i] / hits[nr];
		}
		build->to->guards[i].plan = plan_of(most);
	}
	free(counts);
	return 0;
}

/* A guard at the function's site, without a plan; *@ret is its number. */
static int add_guard(struct loading_build *build, uint32_t function, uint32_t *ret)
{
	const struct samples_function *of;
	struct loading *to = build->to;
	uint32_t object;
	int error;

	if (function >= build->samples->nr_functions)
		return contradiction(build);
	if (to->nr_guards == PERFGUARD_MAX_GUARDS)
		return too_large(build, "has more guards than the module takes");
	of = &build->samples->functions[function];
	error = use_object(build, of->object, &object);
	if (error)
		return error;
	to->functions[to->nr_guards] = function;
	to->guards[to->nr_guards] = (struct perfguard_guard){
		.offset = of->site,
		.object = object,
		.sp_delta = of->sp_delta,
	};
	build->guard_of[function] = *ret = to->nr_guards++;
	return 0;
}

static int add_guards(struct loading_build *build)
{
	const struct model *model = build->model;
	struct loading *to = build->to;
	int ret;

	if (array_new(to->guards, PERFGUARD_MAX_GUARDS) ||
	    array_new(to->functions, PERFGUARD_MAX_GUARDS))
		return -ENOMEM;
	for (uint32_t i = 0; i < model->nr_guards; i++) {
		uint32_t function = model->guards[i].function, guard;

		if (function < build->samples->nr_functions &&
		    build->guard_of[function] != SAMPLES_NONE)
			return contradiction(build);
		ret = add_guard(build, function, &guard);
		if (ret)
			return ret;
	}
	return plan_guards(build);
}

/* A site that begins events; nothing would be cut without it, so it is never shed. */
static int use_site(struct loading_build *build, uint32_t function, uint32_t *ret)
{
	if (function >= build->samples->nr_functions)
		return contradiction(build);
	*ret = build->guard_of[function];
	if (*ret == SAMPLES_NONE)
		return add_guard(build, function, ret);
	build->to->guards[*ret].plan = 0;
	return 0;
}

static int add_boundary(struct loading_build *build, uint32_t course,
			const struct samples_boundary *boundary)
{
	struct perfguard_boundary *to = &build->to->boundaries[build->to->nr_boundaries++];

	*to = (struct perfguard_boundary){ .loop = course };
	switch (boundary->role) {
	case SAMPLES_ROLE_WAIT:
		to->role = PERFGUARD_BOUNDARY_ROLE_WAIT;
		to->rise = boundary->rise;
		break;
	case SAMPLES_ROLE_EVENT_CALL:
		to->role = PERFGUARD_BOUNDARY_ROLE_EVENT_CALL;
		break;
	case SAMPLES_ROLE_EVENT_SITE:
		to->role = PERFGUARD_BOUNDARY_ROLE_EVENT_SITE;
		return use_site(build, boundary->function, &to->guard);
	case SAMPLES_ROLE_START_SITE:
		to->role = PERFGUARD_BOUNDARY_ROLE_START_SITE;
		return use_site(build, boundary->function, &to->guard);
	default:
		return contradiction(build);
	}
	to->syscall = boundary->syscall;
	to->return_offset = boundary->return_offset;
	to->distance = boundary->distance;
	return use_object(build, boundary->object, &to->object);
}

static int add_boundaries(struct loading_build *build)
{
	struct loading *to = build->to;
	size_t nr = 0;
	int ret = 0;

	for (uint32_t i = 0; i < to->nr_courses; i++)
		nr += build->samples->loops[to->loops[i]].nr_boundaries;
	if (array_new(to->boundaries, nr))
		return -ENOMEM;
	for (uint32_t i = 0; i < to->nr_courses && !ret; i++) {
		const struct samples_loop *loop = &build->samples->loops[to->loops[i]];
		bool has_begin = false;

		for (uint32_t j = 0; j < loop->nr_boundaries && !ret; j++) {
			has_begin |= samples_begins_units(&loop->boundaries[j]);
			ret = add_boundary(build, i, &loop->boundaries[j]);
		}
		if (!ret && !has_begin)
			ret = contradiction(build);
	}
	return ret;
}

static int add_weights(struct loading_build *build, const struct model_context *context,
		       uint32_t course)
{
	const struct model *model = build->model;
	uint32_t first = build->first_type[course], end = build->first_type[course + 1];
	struct loading *to = build->to;

	if (context->first_weight > model->nr_weights ||
	    context->nr_weights > model->nr_weights - context->first_weight)
		return contradiction(build);
	if (context->nr_weights > PERFGUARD_MAX_PROFILE_WEIGHTS - to->nr_weights)
		return too_large(build, "has more weights than the module takes");
	for (uint32_t i = 0; i < context->nr_weights; i++) {
		const struct model_weight *weight = &model->weights[context->first_weight + i];

		if (weight->type < first || weight->type >= end ||
		    weight->early > INFER_MAX_WEIGHT || weight->final > INFER_MAX_WEIGHT)
			return contradiction(build);
		to->weights[to->nr_weights++] = (struct perfguard_weight){
			.type = (uint16_t)(weight->type - first),
			.early = weight->early,
			.final = weight->final,
		};
	}
	return 0;
}

static int add_contexts(struct loading_build *build)
{
	const struct model *model = build->model;
	struct loading *to = build->to;
	size_t room = 0;
	int ret = 0;

	if (model->nr_contexts > PERFGUARD_MAX_PROFILE_CONTEXTS)
		return too_large(build, "has more contexts than the module takes");
	/* Each context's are copied, so that what overlaps in the file cannot here. */
	for (uint32_t i = 0; i < model->nr_contexts; i++)
		room += model->contexts[i].nr_weights;
	if (room > PERFGUARD_MAX_PROFILE_WEIGHTS)
		room = PERFGUARD_MAX_PROFILE_WEIGHTS;
	if (array_new(to->contexts, model->nr_contexts) || array_new(to->weights, room))
		return -ENOMEM;
	for (uint32_t i = 0; i < model->nr_contexts && !ret; i++) {
		const struct model_context *context = &model->contexts[i];
		uint32_t course;

		if (context->loop >= build->samples->nr_loops ||
		    context->guard >= model->nr_guards ||
		    (i && context->loop < model->contexts[i - 1].loop))
			return contradiction(build);
		course = build->course_of[context->loop];
		if (course == SAMPLES_NONE)
			continue;
		to->contexts[to->nr_contexts++] = (struct perfguard_calling_context){
			.loop = course,
			.guard = context->guard,
			.depth = context->depth,
			.nr_weights = context->nr_weights,
		};
		ret = add_weights(build, context, course);
	}
	return ret;
}

int loading_init(struct loading *loading, const struct samples *samples,
		 const struct model *model, const int16_t *least_final,
		 const char **ret_why)
{
	struct loading_build build = { .samples = samples, .model = model, .to = loading };
	int ret;

	memset(loading, 0, sizeof(*loading));
	ret = samples_are_sound(samples) ? build_init(&build) : contradiction(&build);
	if (!ret)
		ret = add_objects(&build);
	if (!ret)
		ret = add_courses(&build);
	if (!ret)
		ret = add_types(&build, least_final);
	if (!ret)
		ret = add_guards(&build);
	if (!ret)
		ret = add_boundaries(&build);
	if (!ret)
		ret = add_contexts(&build);
	build_deinit(&build);
	*ret_why = build.why;
	if (ret)
		loading_deinit(loading);
	return ret;
}

void loading_forget_requests(struct loading *loading)
{
	for (uint32_t i = 0; i < loading->nr_types; i++) {
		struct perfguard_type *type = &loading->types[i];

		type->request_ns = type->request_working_ns = 0;
		type->request_peers_ns = type->request_held_ns = 0;
	}
}

void loading_deinit(struct loading *loading)
{
	free(loading->courses);
	free(loading->boundaries);
	free(loading->guards);
	free(loading->types);
	free(loading->contexts);
	free(loading->weights);
	free(loading->objects);
	free(loading->functions);
	free(loading->loops);
	memset(loading, 0, sizeof(*loading));
}
