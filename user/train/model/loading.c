// SPDX-License-Identifier: GPL-2.0

#include "train/model/loading.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <perfguard/infer.h>

/* Hits are planned for so many units, as the netlink spec has it. */
#define PLAN_UNITS 1024
#define MAX_TYPE_ID ((1u << 28) - 1)

struct work {
	const struct samples *samples;
	const struct model *model;
	struct loading *to;
	const char *why;
	uint32_t *course_of; /* by loop, or SAMPLES_NONE */
	uint32_t *first_type; /* by event loop, and one more */
	uint32_t *object_of; /* by object of the samples, or SAMPLES_NONE */
	uint32_t *guard_of; /* by function, or SAMPLES_NONE */
};

static int refuse(struct work *work, int error, const char *why)
{
	work->why = why;
	return error;
}

static int contradiction(struct work *work)
{
	return refuse(work, -EINVAL, "contradicts itself");
}

static int too_large(struct work *work, const char *why)
{
	return refuse(work, -E2BIG, why);
}

static uint32_t *none_of(uint32_t nr)
{
	uint32_t *indices = calloc((size_t)nr + 1, sizeof(*indices));

	for (uint32_t i = 0; indices && i < nr; i++)
		indices[i] = SAMPLES_NONE;
	return indices;
}

static int work_init(struct work *work)
{
	work->course_of = none_of(work->samples->nr_loops);
	work->object_of = none_of(work->samples->nr_objects);
	work->guard_of = none_of(work->samples->nr_functions);
	if (!work->course_of || !work->object_of || !work->guard_of)
		return -ENOMEM;
	return 0;
}

static void work_deinit(struct work *work)
{
	free(work->course_of);
	free(work->first_type);
	free(work->object_of);
	free(work->guard_of);
}

/* The object's number in the loading; it gets one if it has none. */
static int use_object(struct work *work, uint32_t object, uint32_t *ret)
{
	struct loading *to = work->to;

	if (object >= work->samples->nr_objects)
		return contradiction(work);
	if (work->object_of[object] == SAMPLES_NONE) {
		to->objects[to->nr_objects] = object;
		work->object_of[object] = to->nr_objects++;
	}
	*ret = work->object_of[object];
	return 0;
}

/* The program itself is the first, even if all its guards are in libraries. */
static int add_objects(struct work *work)
{
	uint32_t program;

	work->to->objects = calloc((size_t)work->samples->nr_objects + 1,
				   sizeof(*work->to->objects));
	if (!work->to->objects)
		return -ENOMEM;
	return use_object(work, 0, &program);
}

/* Types are sorted by loop; each loop that has some becomes an event loop. */
static int add_courses(struct work *work)
{
	const struct model *model = work->model;
	struct loading *to = work->to;

	to->courses = calloc((size_t)work->samples->nr_loops + 1, sizeof(*to->courses));
	to->loops = calloc((size_t)work->samples->nr_loops + 1, sizeof(*to->loops));
	work->first_type = calloc((size_t)work->samples->nr_loops + 2,
				  sizeof(*work->first_type));
	if (!to->courses || !to->loops || !work->first_type)
		return -ENOMEM;
	for (uint32_t i = 0; i < model->nr_types; i++) {
		uint32_t loop = model->types[i].loop;

		if (loop >= work->samples->nr_loops ||
		    (i && loop < model->types[i - 1].loop))
			return contradiction(work);
		if (i && loop == model->types[i - 1].loop)
			continue;
		work->course_of[loop] = to->nr_courses;
		work->first_type[to->nr_courses] = i;
		to->loops[to->nr_courses] = loop;
		to->courses[to->nr_courses] = (struct perfguard_loop){
			.id = to->nr_courses + 1,
			.flags = work->samples->loops[loop].has_empty ?
					 PERFGUARD_LOOP_FLAGS_HAS_EMPTY : 0,
		};
		to->nr_courses++;
	}
	work->first_type[to->nr_courses] = model->nr_types;
	return 0;
}

static int add_types(struct work *work, const int16_t *least_final)
{
	const struct model *model = work->model;
	struct loading *to = work->to;

	if (!model->nr_types)
		return refuse(work, -ENODATA, "has no types: nothing was learnt from it yet");
	if (model->nr_types > PERFGUARD_MAX_PROFILE_TYPES)
		return too_large(work, "has more types than the module takes");
	to->types = calloc(model->nr_types, sizeof(*to->types));
	if (!to->types)
		return -ENOMEM;
	for (uint32_t i = 0; i < model->nr_types; i++) {
		const struct model_type *type = &model->types[i];

		if (!type->id || type->id > MAX_TYPE_ID)
			return contradiction(work);
		to->types[i] = (struct perfguard_type){
			.threshold_ns = type->threshold_ns,
			.loop = work->course_of[type->loop],
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

struct loop_hits {
	double units[2];
	double *hits[2]; /* by guard */
};

/* By loop: how often its units hit each guard. */
static int count_hits(struct work *work, struct loop_hits *loops)
{
	const struct samples *samples = work->samples;

	for (uint32_t i = 0; i < samples->nr_units; i++) {
		const struct samples_unit *unit = &samples->units[i];
		struct loop_hits *loop;

		if (unit->tree >= samples->nr_trees ||
		    samples->trees[unit->tree].loop >= samples->nr_loops)
			return contradiction(work);
		loop = &loops[samples->trees[unit->tree].loop];
		if (!loop->hits[0])
			continue;
		for (int half = 0; half < 2; half++) {
			double units = (double)unit->units[half];

			loop->units[half] += units;
			for (uint32_t j = 0; j < unit->nr_hits; j++) {
				uint32_t function = unit->hits[j].function;

				if (function >= samples->nr_functions)
					return contradiction(work);
				if (work->guard_of[function] != SAMPLES_NONE)
					loop->hits[half][work->guard_of[function]] +=
						units * unit->hits[j].count;
			}
		}
	}
	return 0;
}

static double most_hits(const struct work *work, const struct loop_hits *loops, uint32_t guard)
{
	double most = work->model->guards[guard].hits;

	for (uint32_t i = 0; i < work->samples->nr_loops; i++) {
		for (int half = 0; half < 2; half++) {
			double hits;

			if (!loops[i].hits[0] || !(loops[i].units[half] > 0))
				continue;
			hits = loops[i].hits[half][guard] / loops[i].units[half];
			if (hits > most)
				most = hits;
		}
	}
	return most;
}

static int plan_guards(struct work *work)
{
	uint32_t nr_loops = work->samples->nr_loops, nr = work->model->nr_guards;
	struct loop_hits *loops = calloc((size_t)nr_loops + 1, sizeof(*loops));
	int ret = loops ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < work->to->nr_courses && !ret; i++) {
		struct loop_hits *loop = &loops[work->to->loops[i]];

		loop->hits[0] = calloc(2 * (size_t)nr + 1, sizeof(*loop->hits[0]));
		if (!loop->hits[0])
			ret = -ENOMEM;
		else
			loop->hits[1] = loop->hits[0] + nr;
	}
	if (!ret)
		ret = count_hits(work, loops);
	for (uint32_t i = 0; i < nr && !ret; i++)
		work->to->guards[i].plan = plan_of(most_hits(work, loops, i));
	for (uint32_t i = 0; loops && i < nr_loops; i++)
		free(loops[i].hits[0]);
	free(loops);
	return ret;
}

/* A guard at the function's site, without a plan; *@ret is its number. */
static int add_guard(struct work *work, uint32_t function, uint32_t *ret)
{
	const struct samples_function *of;
	struct loading *to = work->to;
	uint32_t object;
	int error;

	if (function >= work->samples->nr_functions)
		return contradiction(work);
	if (to->nr_guards == PERFGUARD_MAX_GUARDS)
		return too_large(work, "has more guards than the module takes");
	of = &work->samples->functions[function];
	error = use_object(work, of->object, &object);
	if (error)
		return error;
	to->functions[to->nr_guards] = function;
	to->guards[to->nr_guards] = (struct perfguard_guard){
		.offset = of->site,
		.object = object,
		.sp_delta = of->sp_delta,
	};
	work->guard_of[function] = *ret = to->nr_guards++;
	return 0;
}

static int add_guards(struct work *work)
{
	const struct model *model = work->model;
	struct loading *to = work->to;
	int ret;

	to->guards = calloc(PERFGUARD_MAX_GUARDS, sizeof(*to->guards));
	to->functions = calloc(PERFGUARD_MAX_GUARDS, sizeof(*to->functions));
	if (!to->guards || !to->functions)
		return -ENOMEM;
	for (uint32_t i = 0; i < model->nr_guards; i++) {
		uint32_t function = model->guards[i].function, guard;

		if (function < work->samples->nr_functions &&
		    work->guard_of[function] != SAMPLES_NONE)
			return contradiction(work);
		ret = add_guard(work, function, &guard);
		if (ret)
			return ret;
	}
	return plan_guards(work);
}

/* A site that begins events; nothing would be cut without it, so it is never shed. */
static int use_site(struct work *work, uint32_t function, uint32_t *ret)
{
	if (function >= work->samples->nr_functions)
		return contradiction(work);
	*ret = work->guard_of[function];
	if (*ret == SAMPLES_NONE)
		return add_guard(work, function, ret);
	work->to->guards[*ret].plan = 0;
	return 0;
}

static int add_boundary(struct work *work, uint32_t course,
			const struct samples_boundary *boundary)
{
	struct perfguard_boundary *to = &work->to->boundaries[work->to->nr_boundaries++];

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
		return use_site(work, boundary->function, &to->guard);
	default:
		return contradiction(work);
	}
	to->syscall = boundary->syscall;
	to->return_offset = boundary->return_offset;
	to->distance = boundary->distance;
	return use_object(work, boundary->object, &to->object);
}

static int add_boundaries(struct work *work)
{
	struct loading *to = work->to;
	size_t nr = 0;
	int ret = 0;

	for (uint32_t i = 0; i < to->nr_courses; i++)
		nr += work->samples->loops[to->loops[i]].nr_boundaries;
	to->boundaries = calloc(nr + 1, sizeof(*to->boundaries));
	if (!to->boundaries)
		return -ENOMEM;
	for (uint32_t i = 0; i < to->nr_courses && !ret; i++) {
		const struct samples_loop *loop = &work->samples->loops[to->loops[i]];
		bool has_wait = false;

		for (uint32_t j = 0; j < loop->nr_boundaries && !ret; j++) {
			has_wait |= loop->boundaries[j].role == SAMPLES_ROLE_WAIT;
			ret = add_boundary(work, i, &loop->boundaries[j]);
		}
		if (!ret && !has_wait)
			ret = contradiction(work);
	}
	return ret;
}

static int add_weights(struct work *work, const struct model_context *context, uint32_t course)
{
	const struct model *model = work->model;
	uint32_t first = work->first_type[course], end = work->first_type[course + 1];
	struct loading *to = work->to;

	if (context->first_weight > model->nr_weights ||
	    context->nr_weights > model->nr_weights - context->first_weight)
		return contradiction(work);
	if (context->nr_weights > PERFGUARD_MAX_PROFILE_WEIGHTS - to->nr_weights)
		return too_large(work, "has more weights than the module takes");
	for (uint32_t i = 0; i < context->nr_weights; i++) {
		const struct model_weight *weight = &model->weights[context->first_weight + i];

		if (weight->type < first || weight->type >= end ||
		    weight->early > INFER_MAX_WEIGHT || weight->final > INFER_MAX_WEIGHT)
			return contradiction(work);
		to->weights[to->nr_weights++] = (struct perfguard_weight){
			.type = (uint16_t)(weight->type - first),
			.early = weight->early,
			.final = weight->final,
		};
	}
	return 0;
}

static int add_contexts(struct work *work)
{
	const struct model *model = work->model;
	struct loading *to = work->to;
	size_t room = 0;
	int ret = 0;

	if (model->nr_contexts > PERFGUARD_MAX_PROFILE_CONTEXTS)
		return too_large(work, "has more contexts than the module takes");
	/* Each context's are copied, so that what overlaps in the file cannot here. */
	for (uint32_t i = 0; i < model->nr_contexts; i++)
		room += model->contexts[i].nr_weights;
	if (room > PERFGUARD_MAX_PROFILE_WEIGHTS)
		room = PERFGUARD_MAX_PROFILE_WEIGHTS;
	to->contexts = calloc((size_t)model->nr_contexts + 1, sizeof(*to->contexts));
	to->weights = calloc(room + 1, sizeof(*to->weights));
	if (!to->contexts || !to->weights)
		return -ENOMEM;
	for (uint32_t i = 0; i < model->nr_contexts && !ret; i++) {
		const struct model_context *context = &model->contexts[i];
		uint32_t course;

		if (context->loop >= work->samples->nr_loops ||
		    context->guard >= model->nr_guards ||
		    (i && context->loop < model->contexts[i - 1].loop))
			return contradiction(work);
		course = work->course_of[context->loop];
		if (course == SAMPLES_NONE)
			continue;
		to->contexts[to->nr_contexts++] = (struct perfguard_calling_context){
			.loop = course,
			.guard = context->guard,
			.depth = context->depth,
			.nr_weights = context->nr_weights,
		};
		ret = add_weights(work, context, course);
	}
	return ret;
}

int loading_init(struct loading *loading, const struct samples *samples,
		 const struct model *model, const int16_t *least_final,
		 const char **ret_why)
{
	struct work work = { .samples = samples, .model = model, .to = loading };
	int ret;

	memset(loading, 0, sizeof(*loading));
	ret = work_init(&work);
	if (!ret)
		ret = add_objects(&work);
	if (!ret)
		ret = add_courses(&work);
	if (!ret)
		ret = add_types(&work, least_final);
	if (!ret)
		ret = add_guards(&work);
	if (!ret)
		ret = add_boundaries(&work);
	if (!ret)
		ret = add_contexts(&work);
	work_deinit(&work);
	*ret_why = work.why;
	if (ret)
		loading_deinit(loading);
	return ret;
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
