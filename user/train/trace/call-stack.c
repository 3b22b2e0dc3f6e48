// SPDX-License-Identifier: GPL-2.0

#include "train/trace/call-stack.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { NR_RETURNS = 8192 };

static int add_thread(struct walk_thread **threads, uint32_t *nr, const struct walk_thread *thread)
{
	struct walk_thread *grown;

	if (thread->end <= thread->begin || !thread->tid)
		return 0;
	/* Room for powers of two. */
	if (!(*nr & (*nr - 1))) {
		grown = reallocarray(*threads, *nr ? *nr * 2 : 1, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		*threads = grown;
	}
	(*threads)[(*nr)++] = *thread;
	return 0;
}

int walk_threads(const struct trace *trace, struct walk_thread **ret, uint32_t *ret_nr)
{
	struct walk_thread thread = { 0 };
	int error = 0;

	*ret = NULL;
	*ret_nr = 0;
	for (size_t i = 0; i < trace->nr_events && !error; i++) {
		const struct perfguard_event *event = &trace->events[i];
		bool starts = trace_kind(event) == PERFGUARD_EVENT_KIND_START;

		if (event->tid != thread.tid || starts) {
			thread.end = i;
			error = add_thread(ret, ret_nr, &thread);
			thread.tid = event->tid;
			thread.begin = i;
			thread.pid = starts ? (uint32_t)event->value : 0;
			thread.image = starts ? (uint32_t)(event->value >> 32) : 0;
		}
	}
	thread.end = trace->nr_events;
	if (!error)
		error = add_thread(ret, ret_nr, &thread);
	if (error) {
		free(*ret);
		*ret = NULL;
		*ret_nr = 0;
	}
	return error;
}

void walk_losses_init(struct walk_losses *losses, const struct trace *trace,
		      const struct perfguard_event *event)
{
	size_t low = 0, high = trace->nr_events;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct perfguard_event *other = &trace->events[middle];

		if (!other->tid && other->time_ns <= event->time_ns)
			low = middle + 1;
		else
			high = middle;
	}
	*losses = (struct walk_losses){ .trace = trace, .next = low };
}

bool walk_losses_before(struct walk_losses *losses, const struct perfguard_event *event)
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

int walk_init(struct walk *walk, const struct trace *trace)
{
	*walk = (struct walk){
		.trace = trace,
		.returns = calloc(NR_RETURNS, sizeof(*walk->returns)),
		.active = calloc((size_t)trace->nr_functions + 1, sizeof(*walk->active)),
	};
	if (walk->returns && walk->active)
		return 0;
	walk_deinit(walk);
	return -ENOMEM;
}

void walk_deinit(struct walk *walk)
{
	free(walk->returns);
	free(walk->frames);
	free(walk->active);
	*walk = (struct walk){ 0 };
}

static const struct walk_frame *last(const struct walk *walk)
{
	return &walk->frames[walk->nr_frames - 1];
}

static void pop(struct walk *walk)
{
	walk->active[last(walk)->function]--;
	walk->nr_frames--;
}

void walk_reset(struct walk *walk)
{
	while (walk->nr_frames)
		pop(walk);
}

const struct walk_frame *walk_frame_at(const struct walk *walk, uint64_t sp)
{
	uint32_t low = 0, high = walk->nr_frames;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (walk->frames[middle].sp == sp)
			return &walk->frames[middle];
		if (walk->frames[middle].sp > sp)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

static const struct walk_return *find_return(struct walk *walk, uint32_t image, uint64_t address)
{
	uint64_t hash = (address ^ (uint64_t)image << 48) * UINT64_C(0x9e3779b97f4a7c15);
	struct walk_return *at = &walk->returns[(hash >> 32) & (NR_RETURNS - 1)];

	if (at->address == address && at->image == image && address)
		return at;
	*at = (struct walk_return){ .address = address, .image = image, .object = TRACE_NONE };
	if (trace_locate(walk->trace, image, address, &at->object, &at->offset))
		at->call = trace_call_at(walk->trace, at->object, at->offset);
	return at;
}

int walk_call(struct walk *walk, const struct walk_thread *thread, size_t index)
{
	const struct perfguard_event *event = &walk->trace->events[index];
	const struct walk_return *to = find_return(walk, thread->image, event->value);
	const struct trace_call *call = to->call;
	struct walk_frame *frames, *frame;

	while (walk->nr_frames && last(walk)->sp <= event->sp)
		pop(walk);
	if (call && call->caller != TRACE_NONE && walk->active[call->caller])
		while (last(walk)->function != call->caller)
			pop(walk);
	if (walk->nr_frames == walk->max_frames) {
		uint32_t max = walk->max_frames ? walk->max_frames * 2 : 64;

		frames = reallocarray(walk->frames, max, sizeof(*frames));
		if (!frames)
			return -ENOMEM;
		walk->frames = frames;
		walk->max_frames = max;
	}
	frame = &walk->frames[walk->nr_frames++];
	frame->function = trace_number(event);
	frame->object = to->object;
	frame->return_offset = to->offset;
	frame->sp = event->sp;
	frame->index = index;
	frame->call = call;
	walk->active[frame->function]++;
	return 0;
}

void walk_syscall(struct walk *walk, uint64_t sp)
{
	while (walk->nr_frames && last(walk)->sp < sp)
		pop(walk);
}

void walk_below(struct walk *walk, uint64_t sp)
{
	uint32_t above = 0;

	while (above < walk->nr_frames && walk->frames[above].sp >= sp)
		walk->active[walk->frames[above++].function]--;
	walk->nr_frames -= above;
	if (above)
		memmove(walk->frames, walk->frames + above,
			walk->nr_frames * sizeof(*walk->frames));
}
