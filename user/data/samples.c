// SPDX-License-Identifier: GPL-2.0

#include "data/samples.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

static char *copy_string(const char *string, int *error)
{
	char *copy = string ? strdup(string) : NULL;

	if (string && !copy)
		*error = -ENOMEM;
	return copy;
}

static uint8_t *copy_bytes(const uint8_t *bytes, uint32_t nr, int *error)
{
	uint8_t *copy = bytes ? malloc(nr) : NULL;

	if (bytes && !copy)
		*error = -ENOMEM;
	return copy ? memcpy(copy, bytes, nr) : NULL;
}

int samples_copy_code(struct samples *samples, const struct samples_object *objects,
		      uint32_t nr_objects, const struct samples_function *functions,
		      uint32_t nr_functions)
{
	size_t all_objects = (size_t)samples->nr_objects + nr_objects, object = samples->nr_objects;
	size_t all_functions = (size_t)samples->nr_functions + nr_functions;
	int error = 0;

	if (all_objects >= SAMPLES_NONE || all_functions >= SAMPLES_NONE)
		return -E2BIG;
	if (array_resize(samples->objects, all_objects + 1) ||
	    array_resize(samples->functions, all_functions + 1))
		return -ENOMEM;
	for (uint32_t i = 0; i < nr_objects; i++)
		samples->objects[samples->nr_objects++] = (struct samples_object){
			.path = copy_string(objects[i].path, &error),
			.build_id = copy_string(objects[i].build_id, &error),
			.code = copy_bytes(objects[i].code, objects[i].code_size, &error),
			.code_size = objects[i].code_size,
		};
	for (uint32_t i = 0; i < nr_functions; i++) {
		struct samples_function *function = &samples->functions[samples->nr_functions++];

		*function = functions[i];
		function->object += (uint32_t)object;
		function->name = copy_string(function->name, &error);
	}
	return error;
}

int samples_compare_objects(const struct samples_object *a, const struct samples_object *b)
{
	int order = strcmp(a->build_id, b->build_id);

	return order || a->build_id[0] ? order : strcmp(a->path, b->path);
}

bool samples_is_same_boundary(const struct samples_boundary *a, const struct samples_boundary *b)
{
	return a->role == b->role && a->syscall == b->syscall && a->object == b->object &&
	       a->return_offset == b->return_offset && a->distance == b->distance &&
	       a->function == b->function;
}

int samples_add_boundary(struct samples_loop *loop, const struct samples_boundary *boundary)
{
	for (uint32_t i = 0; i < loop->nr_boundaries; i++)
		if (samples_is_same_boundary(&loop->boundaries[i], boundary))
			return 0;
	if (array_resize(loop->boundaries, loop->nr_boundaries + 1UL))
		return -ENOMEM;
	loop->boundaries[loop->nr_boundaries++] = *boundary;
	return 0;
}

/* Where the objective of a tree is, or has to be. */
static uint32_t find_objective(const struct samples *samples, uint64_t tree)
{
	return (uint32_t)array_bisect(i, samples->nr_objectives,
				      samples->objectives[i].tree >= tree);
}

uint64_t samples_objective(const struct samples *samples, uint64_t tree)
{
	uint32_t at = find_objective(samples, tree);

	return at < samples->nr_objectives && samples->objectives[at].tree == tree
		       ? samples->objectives[at].limit_ns : 0;
}

int samples_set_objective(struct samples *samples, uint64_t tree, uint64_t limit_ns)
{
	uint32_t nr = samples->nr_objectives, at = find_objective(samples, tree);
	uint32_t after = samples_objective(samples, tree) ? at + 1 : at;
	struct samples_objective *objectives;

	if (!limit_ns && after == at)
		return 0;
	if (array_resize(samples->objectives, nr + 1UL))
		return -ENOMEM;
	objectives = samples->objectives;
	memmove(&objectives[at + !!limit_ns], &objectives[after],
		(nr - after) * sizeof(*objectives));
	if (limit_ns)
		objectives[at] = (struct samples_objective){ tree, limit_ns };
	samples->nr_objectives = at + !!limit_ns + nr - after;
	return 0;
}

bool samples_are_hits(const struct samples *samples, const struct samples_hit *hits, uint32_t nr)
{
	for (uint32_t i = 0; i < nr; i++)
		if (hits[i].function >= samples->nr_functions || hits[i].quarter > 3)
			return false;
	return true;
}

bool samples_are_rising(const uint32_t *numbers, uint32_t nr, uint32_t end)
{
	for (uint32_t i = 0; i < nr; i++)
		if (numbers[i] >= end || (i && numbers[i] <= numbers[i - 1]))
			return false;
	return true;
}

bool samples_are_sound(const struct samples *samples)
{
	for (uint32_t i = 0; i < samples->nr_trees; i++)
		if (samples->trees[i].loop >= samples->nr_loops)
			return false;
	for (uint32_t i = 0; i < samples->nr_units; i++)
		if (samples->units[i].tree >= samples->nr_trees ||
		    !samples_are_hits(samples, samples->units[i].hits, samples->units[i].nr_hits))
			return false;
	for (uint32_t i = 0; i < samples->nr_guards; i++)
		if (!samples_are_rising(samples->guards[i].functions, samples->guards[i].nr,
					samples->nr_functions))
			return false;
	for (uint32_t i = 0; i < samples->nr_timings; i++) {
		const struct samples_timing *timing = &samples->timings[i];

		if (timing->loop >= samples->nr_loops || timing->guards >= samples->nr_guards ||
		    !samples_are_hits(samples, timing->hits, timing->nr_hits))
			return false;
	}
	return true;
}

void samples_free_code(struct samples_object *objects, uint32_t nr_objects,
		       struct samples_function *functions, uint32_t nr_functions)
{
	for (uint32_t i = 0; i < nr_objects; i++) {
		free(objects[i].path);
		free(objects[i].code);
		free(objects[i].build_id);
	}
	for (uint32_t i = 0; i < nr_functions; i++)
		free(functions[i].name);
	free(objects);
	free(functions);
}

void samples_deinit(struct samples *samples)
{
	samples_free_code(samples->objects, samples->nr_objects, samples->functions,
			  samples->nr_functions);
	for (uint32_t i = 0; i < samples->nr_loops; i++)
		free(samples->loops[i].boundaries);
	for (uint32_t i = 0; i < samples->nr_trees; i++)
		free(samples->trees[i].leaves);
	for (uint32_t i = 0; i < samples->nr_units; i++)
		free(samples->units[i].hits);
	for (uint32_t i = 0; i < samples->nr_guards; i++)
		free(samples->guards[i].functions);
	for (uint32_t i = 0; i < samples->nr_timings; i++)
		free(samples->timings[i].hits);
	free(samples->loops);
	free(samples->nodes);
	free(samples->trees);
	free(samples->units);
	free(samples->guards);
	free(samples->timings);
	free(samples->objectives);
	memset(samples, 0, sizeof(*samples));
}
