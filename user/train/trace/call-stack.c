// SPDX-License-Identifier: GPL-2.0

#include "train/trace/call-stack.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash-index.h"

enum { NR_RETURNS = 8192 };

static int add_thread(struct trace_thread **threads, uint32_t *nr, size_t *max,
		      const struct trace_thread *thread)
{
	if (thread->end <= thread->begin || !thread->tid)
		return 0;
	if (array_grow(*threads, *nr, *max))
		return -ENOMEM;
	(*threads)[(*nr)++] = *thread;
	return 0;
}

int trace_threads(const struct trace *trace, struct trace_thread **ret, uint32_t *ret_nr)
{
	struct trace_thread thread = { 0 };
	size_t max = 0;
	int error = 0;

	*ret = NULL;
	*ret_nr = 0;
	for (size_t i = 0; i < trace->nr_events && !error; i++) {
		const struct perfguard_event *event = &trace->events[i];
		bool starts = trace_kind(event) == PERFGUARD_EVENT_KIND_START;

		if (event->tid != thread.tid || starts) {
			thread.end = i;
			error = add_thread(ret, ret_nr, &max, &thread);
			thread.tid = event->tid;
			thread.begin = i;
			thread.pid = starts ? (uint32_t)event->value : 0;
			thread.image = starts ? (uint32_t)(event->value >> 32) : 0;
		}
	}
	thread.end = trace->nr_events;
	if (!error)
		error = add_thread(ret, ret_nr, &max, &thread);
	if (error) {
		free(*ret);
		*ret = NULL;
		*ret_nr = 0;
	}
	return error;
}

void trace_losses_init(struct trace_losses *losses, const struct trace *trace,
		       const struct perfguard_event *event)
{
	const struct perfguard_event *events = trace->events;

	*losses = (struct trace_losses){
		.trace = trace,
		.next = array_bisect(i, trace->nr_events,
				     events[i].tid || events[i].time_ns > event->time_ns),
	};
}

bool trace_losses_before(struct trace_losses *losses, const struct perfguard_event *event)
{
	const struct trace *trace = losses->trace;
	bool ret = false;

	for (; losses->next < trace->nr_events; losses->next++) {
		const struct perfguard_event *loss = &trace->events[losses->next];

		if (loss->tid || loss->time_ns > event->time_ns)
			break;
		ret |= trace_kind(loss) == PERFGUARD_EVENT_KIND_LOST;
	}
	return ret;
}

int call_stack_init(struct call_stack *stack, const struct trace *trace)
{
	*stack = (struct call_stack){
		.trace = trace,
		.returns = calloc(NR_RETURNS, sizeof(*stack->returns)),
		.active = calloc((size_t)trace->nr_functions + 1, sizeof(*stack->active)),
	};
	if (stack->returns && stack->active)
		return 0;
	call_stack_deinit(stack);
	return -ENOMEM;
}

void call_stack_deinit(struct call_stack *stack)
{
	free(stack->returns);
	free(stack->frames);
	free(stack->active);
	*stack = (struct call_stack){ 0 };
}

static const struct call_frame *last(const struct call_stack *stack)
{
	return &stack->frames[stack->nr_frames - 1];
}

static void pop(struct call_stack *stack)
{
	stack->active[last(stack)->function]--;
	stack->nr_frames--;
}

void call_stack_reset(struct call_stack *stack)
{
	while (stack->nr_frames)
		pop(stack);
}

const struct call_frame *call_stack_frame_at(const struct call_stack *stack, uint64_t sp)
{
	size_t at = array_bisect(i, stack->nr_frames, stack->frames[i].sp <= sp);

	return at < stack->nr_frames && stack->frames[at].sp == sp ? &stack->frames[at] : NULL;
}

static const struct call_return *find_return(struct call_stack *stack, uint32_t image,
					     uint64_t address)
{
	uint64_t hash = hash_mix((uint64_t)image << 48, address);
	struct call_return *at = &stack->returns[(hash >> 32) & (NR_RETURNS - 1)];

	if (at->address == address && at->image == image && address)
		return at;
	*at = (struct call_return){ .address = address, .image = image, .object = TRACE_NONE };
	if (trace_locate(stack->trace, image, address, &at->object, &at->offset))
		at->call = trace_call_at(stack->trace, at->object, at->offset);
	return at;
}

int call_stack_call(struct call_stack *stack, const struct trace_thread *thread, size_t index)
{
	const struct perfguard_event *event = &stack->trace->events[index];
	const struct call_return *to = find_return(stack, thread->image, event->value);
	const struct trace_call *call = to->call;
	struct call_frame *frame;

	while (stack->nr_frames && last(stack)->sp <= event->sp)
		pop(stack);
	if (call && call->caller != TRACE_NONE && stack->active[call->caller])
		while (last(stack)->function != call->caller)
			pop(stack);
	if (array_grow(stack->frames, stack->nr_frames, stack->max_frames))
		return -ENOMEM;
	frame = &stack->frames[stack->nr_frames++];
	frame->function = trace_number(event);
	frame->object = to->object;
	frame->return_offset = to->offset;
	frame->sp = event->sp;
	frame->call = call;
	stack->active[frame->function]++;
	return 0;
}

void call_stack_syscall(struct call_stack *stack, uint64_t sp)
{
	while (stack->nr_frames && last(stack)->sp < sp)
		pop(stack);
}

void call_stack_below(struct call_stack *stack, uint64_t sp)
{
	uint32_t above = 0;

	while (above < stack->nr_frames && stack->frames[above].sp >= sp)
		stack->active[stack->frames[above++].function]--;
	stack->nr_frames -= above;
	if (above)
		memmove(stack->frames, stack->frames + above,
			stack->nr_frames * sizeof(*stack->frames));
}
