// SPDX-License-Identifier: GPL-2.0

#include "train/trace/context-class.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/union-find.h"

static int by_image_and_loop(const void *a, const void *b, void *arg)
{
	uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
	const struct trace_context *contexts = arg;

	return order_of(contexts[left].image, contexts[right].image) ?:
	       order_of(contexts[left].loop, contexts[right].loop) ?: order_of(left, right);
}

static int compare_code(const struct trace_context *a, const struct trace_context *b)
{
	return order_of(a->syscall, b->syscall) ?: order_of(a->object, b->object) ?:
	       order_of(a->return_offset, b->return_offset);
}

static int by_code(const void *a, const void *b, void *arg)
{
	uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
	const struct trace_context *contexts = arg;

	return compare_code(&contexts[left], &contexts[right]) ?: order_of(left, right);
}

static void find_classes(struct context_classes *classes)
{
	struct trace_context *contexts = classes->trace->contexts;
	uint32_t *order = classes->order, nr = classes->trace->nr_contexts;

	qsort_r(order, nr, sizeof(*order), by_code, contexts);
	for (uint32_t i = 0; i < nr; i++) {
		bool is_first = !i || compare_code(&contexts[order[i - 1]], &contexts[order[i]]);

		classes->class_of[order[i]] = is_first ? order[i] : classes->class_of[order[i - 1]];
	}
}

static void find_loops(struct context_classes *classes)
{
	struct trace_context *contexts = classes->trace->contexts;
	uint32_t *order = classes->order, nr = classes->trace->nr_contexts;

	qsort_r(order, nr, sizeof(*order), by_image_and_loop, contexts);
	for (uint32_t i = 0; i < nr; i++) {
		const struct trace_context *context = &contexts[order[i]];
		const struct trace_context *before = &contexts[order[i ? i - 1 : 0]];

		union_join(classes->loop_of, order[i], classes->class_of[order[i]]);
		if (context->image == before->image && context->loop == before->loop)
			union_join(classes->loop_of, order[i], order[i ? i - 1 : 0]);
	}
	classes->nr_loops = union_number(classes->loop_of, nr);
}

int context_classes_init(struct context_classes *classes, const struct trace *trace)
{
	size_t nr = trace->nr_contexts;

	*classes = (struct context_classes){
		.trace = trace,
		.order = calloc(nr + 1, sizeof(*classes->order)),
		.class_of = calloc(nr + 1, sizeof(*classes->class_of)),
		.loop_of = calloc(nr + 1, sizeof(*classes->loop_of)),
	};
	if (!classes->order || !classes->class_of || !classes->loop_of) {
		context_classes_deinit(classes);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < nr; i++)
		classes->order[i] = classes->loop_of[i] = i;
	find_classes(classes);
	find_loops(classes);
	return 0;
}

void context_classes_deinit(struct context_classes *classes)
{
	free(classes->order);
	free(classes->class_of);
	free(classes->loop_of);
	*classes = (struct context_classes){ 0 };
}

uint32_t context_classes_find(const struct context_classes *classes, uint32_t image, uint32_t loop)
{
	const struct trace_context *contexts = classes->trace->contexts;
	const uint32_t *order = classes->order;
	uint32_t nr = classes->trace->nr_contexts, at;

	at = (uint32_t)array_bisect(i, nr, contexts[order[i]].image > image ||
					   (contexts[order[i]].image == image &&
					    contexts[order[i]].loop >= loop));
	if (at < nr && contexts[order[at]].image == image &&
	    (!loop || contexts[order[at]].loop == loop))
		return at;
	return nr;
}

uint32_t context_classes_loop(const struct context_classes *classes, uint32_t image,
			      const struct perfguard_event *event)
{
	uint32_t id = trace_number(event) >> TRACE_LOOP_SHIFT, nr = classes->trace->nr_contexts;
	uint32_t found = id ? context_classes_find(classes, image, id) : nr;

	return found < nr ? classes->loop_of[classes->order[found]] : TRACE_NONE;
}
