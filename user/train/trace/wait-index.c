// SPDX-License-Identifier: GPL-2.0

#include "train/trace/wait-index.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"

/* What contexts are sorted by. */
struct row {
	uint32_t image;
	uint32_t loop;
	uint32_t index;
};

static int by_image_and_loop(const void *a, const void *b)
{
	const struct row *left = a, *right = b;

	return order_of(left->image, right->image) ?: order_of(left->loop, right->loop) ?:
	       order_of(left->index, right->index);
}

int wait_index_init(struct wait_index *index, const struct trace *trace)
{
	uint32_t nr = trace->nr_contexts;
	struct row *rows = calloc((size_t)nr + 1, sizeof(*rows));

	*index = (struct wait_index){
		.trace = trace,
		.order = calloc((size_t)nr + 1, sizeof(*index->order)),
	};
	if (!rows || !index->order) {
		free(rows);
		wait_index_deinit(index);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < nr; i++)
		rows[i] = (struct row){
			.image = trace->contexts[i].image,
			.loop = trace->contexts[i].loop,
			.index = i,
		};
	qsort(rows, nr, sizeof(*rows), by_image_and_loop);
	for (uint32_t i = 0; i < nr; i++)
		index->order[i] = rows[i].index;
	free(rows);
	return 0;
}

void wait_index_deinit(struct wait_index *index)
{
	free(index->order);
	index->order = NULL;
}

uint32_t wait_index_find(const struct wait_index *index, uint32_t image, uint32_t loop)
{
	uint32_t nr = index->trace->nr_contexts, low = 0, high = nr;
	const struct trace_context *contexts = index->trace->contexts;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		const struct trace_context *context = &contexts[index->order[middle]];

		if (context->image < image || (context->image == image && context->loop < loop))
			low = middle + 1;
		else
			high = middle;
	}
	if (low < nr && contexts[index->order[low]].image == image &&
	    (!loop || contexts[index->order[low]].loop == loop))
		return low;
	return nr;
}

uint32_t wait_index_of(const struct wait_index *index, uint32_t image,
		       const struct perfguard_event *event)
{
	uint32_t id = trace_number(event) >> TRACE_LOOP_SHIFT;
	uint32_t found = id ? wait_index_find(index, image, id) : index->trace->nr_contexts;

	return found < index->trace->nr_contexts ? index->order[found] : TRACE_NONE;
}
