// SPDX-License-Identifier: GPL-2.0

#include "train/trace/match.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

/* A function of the profile, to be found by its offset in its file. */
struct place {
	uint64_t offset;
	uint32_t function;
};

static int by_offset(const void *a, const void *b)
{
	const struct place *left = a, *right = b;

	return order_of(left->offset, right->offset) ?:
	       order_of(left->function, right->function);
}

/* The profile's function that is one of the trace's; SAMPLES_NONE if there is none. */
static uint32_t find_function(const struct trace *trace, const struct samples *profile,
			      const struct place *places,
			      const struct samples_function *wanted)
{
	uint32_t low = 0, high = profile->nr_functions;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (places[middle].offset < wanted->offset)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < profile->nr_functions && places[low].offset == wanted->offset; low++) {
		const struct samples_function *function =
			&profile->functions[places[low].function];

		if (!samples_compare_objects(&profile->objects[function->object],
					     &trace->objects[wanted->object]))
			return places[low].function;
	}
	return SAMPLES_NONE;
}

int match_functions(const struct trace *trace, const struct samples *profile, uint32_t *ret)
{
	struct place *places = calloc((size_t)profile->nr_functions + 1, sizeof(*places));
	int error = 0;

	if (!places)
		return -ENOMEM;
	for (uint32_t i = 0; i < profile->nr_functions; i++)
		places[i] = (struct place){ profile->functions[i].offset, i };
	qsort(places, profile->nr_functions, sizeof(*places), by_offset);
	for (uint32_t i = 0; i < trace->nr_functions && !error; i++) {
		ret[i] = find_function(trace, profile, places, &trace->functions[i]);
		if (ret[i] == SAMPLES_NONE)
			error = -EBADMSG;
	}
	free(places);
	return error;
}

int match_loops(const struct trace *trace, const struct samples *profile, uint32_t *ret)
{
	if (trace->nr_loops > profile->nr_loops)
		return -EBADMSG;
	for (uint32_t i = 0; i < trace->nr_loops; i++) {
		uint32_t loop = 0;

		while (loop < profile->nr_loops && profile->loops[loop].hash != trace->loops[i])
			loop++;
		if (loop == profile->nr_loops)
			return -EBADMSG;
		ret[i] = loop;
	}
	return 0;
}
