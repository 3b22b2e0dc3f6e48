// SPDX-License-Identifier: GPL-2.0

#include "train/trace/context-class.h"

#include <errno.h>
#include <stdlib.h>

/* In the order in which class are next to each other, the first one first. */
struct member {
	const struct trace_context *context;
	uint32_t index;
};

static int order(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int compare_code(const struct trace_context *a, const struct trace_context *b)
{
	int ret = order(a->syscall, b->syscall);

	if (!ret)
		ret = order(a->object, b->object);
	return ret ? ret : order(a->return_offset, b->return_offset);
}

static int compare(const void *left, const void *right)
{
	const struct member *a = left, *b = right;
	int ret = compare_code(a->context, b->context);

	return ret ? ret : order(a->index, b->index);
}

static int find_first(struct context_classes *classes, const struct trace *trace)
{
	struct member *members = calloc((size_t)trace->nr_contexts + 1, sizeof(*members));
	const struct member *first = members;

	if (!members)
		return -ENOMEM;
	for (uint32_t i = 0; i < trace->nr_contexts; i++)
		members[i] = (struct member){ &trace->contexts[i], i };
	qsort(members, trace->nr_contexts, sizeof(*members), compare);
	for (uint32_t i = 0; i < trace->nr_contexts; i++) {
		if (compare_code(first->context, members[i].context))
			first = &members[i];
		classes->first[members[i].index] = first->index;
	}
	free(members);
	return 0;
}

int context_classes_init(struct context_classes *classes, const struct trace_pass_input *input)
{
	size_t nr = (size_t)input->trace->nr_contexts + 1;

	*classes = (struct context_classes){
		.input = input,
		.first = calloc(nr, sizeof(*classes->first)),
		.waited = calloc(nr, sizeof(*classes->waited)),
		.unsure = calloc((size_t)input->loops.nr + 1, sizeof(*classes->unsure)),
	};
	if (!classes->first || !classes->waited || !classes->unsure)
		return -ENOMEM;
	return find_first(classes, input->trace);
}

void context_classes_deinit(struct context_classes *classes)
{
	free(classes->first);
	free(classes->waited);
	free(classes->unsure);
	*classes = (struct context_classes){ 0 };
}

static uint64_t call_bit(uint32_t syscall)
{
	return UINT64_C(1) << syscall % 64;
}

void context_classes_note(struct context_classes *classes, const struct trace_pass *pass,
			  uint32_t index)
{
	const struct trace_context *context = &classes->input->trace->contexts[index];

	if (trace_pass_is_called_from(pass, context))
		classes->waited[classes->first[index]] = true;
	else
		classes->unsure[pass->loop] |= call_bit(context->syscall);
}

bool context_classes_waited(const struct context_classes *classes, uint32_t index)
{
	const struct trace_context *context = &classes->input->trace->contexts[index];

	return classes->waited[classes->first[index]] ||
	       classes->unsure[classes->input->loops.of_context[index]] &
		       call_bit(context->syscall);
}
