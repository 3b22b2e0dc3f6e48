// SPDX-License-Identifier: GPL-2.0

#include "train/trace/context-class.h"

#include <errno.h>
#include <stdlib.h>

/* In the order in which kin are next to each other, the first one first. */
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

static int find_first(struct kins *kins, const struct trace *trace)
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
		kins->first[members[i].index] = first->index;
	}
	free(members);
	return 0;
}

int kins_init(struct kins *kins, const struct pass_input *input)
{
	size_t nr = (size_t)input->trace->nr_contexts + 1;

	*kins = (struct kins){
		.input = input,
		.first = calloc(nr, sizeof(*kins->first)),
		.waited = calloc(nr, sizeof(*kins->waited)),
		.unsure = calloc((size_t)input->loops.nr + 1, sizeof(*kins->unsure)),
	};
	if (!kins->first || !kins->waited || !kins->unsure)
		return -ENOMEM;
	return find_first(kins, input->trace);
}

void kins_deinit(struct kins *kins)
{
	free(kins->first);
	free(kins->waited);
	free(kins->unsure);
	*kins = (struct kins){ 0 };
}

static uint64_t call_bit(uint32_t syscall)
{
	return UINT64_C(1) << syscall % 64;
}

void kins_note(struct kins *kins, const struct pass *pass, uint32_t index)
{
	const struct trace_context *context = &kins->input->trace->contexts[index];

	if (pass_is_called_from(pass, context))
		kins->waited[kins->first[index]] = true;
	else
		kins->unsure[pass->loop] |= call_bit(context->syscall);
}

bool kins_waited(const struct kins *kins, uint32_t index)
{
	const struct trace_context *context = &kins->input->trace->contexts[index];

	return kins->waited[kins->first[index]] ||
	       kins->unsure[kins->input->loops.of_context[index]] & call_bit(context->syscall);
}
