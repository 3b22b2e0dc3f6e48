// SPDX-License-Identifier: GPL-2.0

#include "data/trace.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

int trace_add(struct trace *trace, const struct perfguard_event *events, size_t nr)
{
	if (!nr)
		return 0;
	if (array_reserve(trace->events, trace->nr_events + nr, trace->max_events))
		return -ENOMEM;
	memcpy(trace->events + trace->nr_events, events, nr * sizeof(*events));
	trace->nr_events += nr;
	return 0;
}

static bool comes_after(const struct perfguard_event *a, const struct perfguard_event *b)
{
	return a->tid != b->tid ? a->tid > b->tid : a->time_ns > b->time_ns;
}

static void merge(const struct perfguard_event *from, struct perfguard_event *to, size_t begin,
		  size_t middle, size_t end)
{
	size_t left = begin, right = middle;

	for (size_t i = begin; i < end; i++) {
		if (left < middle && (right >= end || !comes_after(&from[left], &from[right])))
			to[i] = from[left++];
		else
			to[i] = from[right++];
	}
}

/* By merging: what comes is almost in order, and equal events stay as they are. */
int trace_sort(struct trace *trace)
{
	struct perfguard_event *from = trace->events, *to, *swap;
	size_t nr = trace->nr_events;

	to = nr ? malloc(nr * sizeof(*to)) : NULL;
	if (nr && !to)
		return -ENOMEM;
	for (size_t width = 1; width < nr; width *= 2) {
		for (size_t begin = 0; begin < nr; begin += 2 * width) {
			size_t middle = begin + width < nr ? begin + width : nr;
			size_t end = middle + width < nr ? middle + width : nr;

			merge(from, to, begin, middle, end);
		}
		swap = from;
		from = to;
		to = swap;
	}
	trace->events = from;
	trace->max_events = nr;
	free(to);
	return 0;
}

bool trace_locate(const struct trace *trace, uint32_t image, uint64_t address,
		  uint32_t *ret_object, uint64_t *ret_offset)
{
	const struct trace_mapping *mappings = trace->mappings;
	size_t at = array_bisect(i, trace->nr_mappings, mappings[i].image > image ||
				 (mappings[i].image == image && mappings[i].end > address));

	if (at == trace->nr_mappings || mappings[at].image != image ||
	    mappings[at].start > address)
		return false;
	*ret_object = mappings[at].object;
	*ret_offset = address - mappings[at].start + mappings[at].offset;
	return true;
}

const struct trace_call *trace_call_at(const struct trace *trace, uint32_t object,
				       uint64_t offset)
{
	const struct trace_call *calls = trace->calls;
	size_t at = array_bisect(i, trace->nr_calls, calls[i].object > object ||
				 (calls[i].object == object && calls[i].offset >= offset));

	if (at == trace->nr_calls || calls[at].object != object || calls[at].offset != offset)
		return NULL;
	return &calls[at];
}

void trace_deinit(struct trace *trace)
{
	samples_free_code(trace->objects, trace->nr_objects, trace->functions,
			  trace->nr_functions);
	free(trace->mappings);
	free(trace->contexts);
	free(trace->calls);
	free(trace->loops);
	free(trace->events);
	memset(trace, 0, sizeof(*trace));
}
