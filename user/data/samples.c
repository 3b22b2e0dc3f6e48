// SPDX-License-Identifier: GPL-2.0

#include "data/samples.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static char *copy_string(const char *string, int *error)
{
	char *copy = string ? strdup(string) : NULL;

	if (string && !copy)
		*error = -ENOMEM;
	return copy;
}

int samples_copy_code(struct samples *samples, const struct samples_object *objects,
		      uint32_t nr_objects, const struct samples_function *functions,
		      uint32_t nr_functions)
{
	int error = 0;

	samples->objects = calloc((size_t)nr_objects + 1, sizeof(*objects));
	samples->functions = calloc((size_t)nr_functions + 1, sizeof(*functions));
	if (!samples->objects || !samples->functions)
		return -ENOMEM;
	samples->nr_objects = nr_objects;
	for (uint32_t i = 0; i < nr_objects; i++) {
		samples->objects[i].path = copy_string(objects[i].path, &error);
		samples->objects[i].build_id = copy_string(objects[i].build_id, &error);
	}
	samples->nr_functions = nr_functions;
	for (uint32_t i = 0; i < nr_functions; i++) {
		samples->functions[i] = functions[i];
		samples->functions[i].name = copy_string(functions[i].name, &error);
	}
	return error;
}

bool samples_is_same_boundary(const struct samples_boundary *a, const struct samples_boundary *b)
{
	return a->role == b->role && a->syscall == b->syscall && a->object == b->object &&
	       a->return_offset == b->return_offset && a->distance == b->distance &&
	       a->function == b->function;
}

int samples_add_boundary(struct samples_loop *loop, const struct samples_boundary *boundary)
{
	struct samples_boundary *grown;

	for (uint32_t i = 0; i < loop->nr_boundaries; i++)
		if (samples_is_same_boundary(&loop->boundaries[i], boundary))
			return 0;
	grown = reallocarray(loop->boundaries, loop->nr_boundaries + 1, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	loop->boundaries = grown;
	grown[loop->nr_boundaries++] = *boundary;
	return 0;
}

void samples_deinit(struct samples *samples)
{
	for (uint32_t i = 0; i < samples->nr_objects; i++) {
		free(samples->objects[i].path);
		free(samples->objects[i].build_id);
	}
	for (uint32_t i = 0; i < samples->nr_functions; i++)
		free(samples->functions[i].name);
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
	free(samples->objects);
	free(samples->functions);
	free(samples->loops);
	free(samples->nodes);
	free(samples->trees);
	free(samples->units);
	free(samples->guards);
	free(samples->timings);
	memset(samples, 0, sizeof(*samples));
}
