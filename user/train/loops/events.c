// SPDX-License-Identifier: GPL-2.0

#include "train/loops/events.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"

enum {
	TINY_CALLS = 8, /* an event with fewer needs no event marker, */
	TINY_SHARE = 12, /* nor has an iteration with a twelfth of what is typical */
};

bool event_call_of(const struct trace_pass *pass, struct samples_boundary *ret)
{
	const struct call_frame *frame;

	if (!pass->stack.nr_frames)
		return false;
	frame = trace_pass_frame(pass);
	if (frame->object == TRACE_NONE)
		return false;
	*ret = (struct samples_boundary){
		.role = SAMPLES_ROLE_EVENT_CALL,
		.function = SAMPLES_NONE,
		.syscall = trace_syscall(pass->enter),
		.object = frame->object,
		.return_offset = frame->return_offset,
		.distance = (uint32_t)(frame->sp - pass->enter->sp),
	};
	return true;
}

static struct event_key *key_get(struct event_loop *loop, const struct samples_boundary *call)
{
	if (!loop->keys) {
		loop->keys = calloc(EVENT_LOOP_KEYS, sizeof(*loop->keys));
		if (!loop->keys)
			return NULL;
	}
	for (uint32_t i = 0; i < loop->nr_keys; i++)
		if (samples_is_same_boundary(&loop->keys[i].boundary, call))
			return &loop->keys[i];
	if (loop->nr_keys == EVENT_LOOP_KEYS)
		return NULL;
	loop->keys[loop->nr_keys].boundary = *call;
	return &loop->keys[loop->nr_keys++];
}

/* What becomes of the visits of the event at hand. */
enum settle {
	FORGET,
	COUNT,
	COUNT_TINY,
};

static void settle_visits(struct event_loop *loop, enum settle how)
{
	for (uint32_t i = 0; i < loop->nr_visited; i++) {
		struct event_visits *visits = &loop->visits[loop->visited[i]];

		visits->once += how == COUNT && visits->here == 1;
		visits->more += how == COUNT && visits->here > 1;
		visits->position += how == COUNT ? visits->at : 0;
		visits->tiny += how == COUNT_TINY;
		visits->here = 0;
	}
	loop->nr_visited = 0;
}

/*
 * A queue can also hold what is hardly work: a connection to be closed.  What
 * is dispatched after a wait for many things counts whatever its size.
 */
static uint64_t tiny_calls(const struct loop_shape *shape)
{
	uint64_t tiny =
		shape->mode == LOOP_SHAPE_ITERATIONS ? shape->typical_calls / TINY_SHARE : 0;

	return tiny > TINY_CALLS ? tiny : TINY_CALLS;
}

static int close_event(struct events *events)
{
	struct event_loop *loop = &events->loops[events->loop];
	bool is_tiny;

	if (!events->is_open)
		return 0;
	events->is_open = false;
	is_tiny = events->calls < tiny_calls(loop->shape);
	settle_visits(loop, is_tiny ? COUNT_TINY : COUNT);
	if (is_tiny)
		return 0;
	if (array_grow(loop->events, loop->nr_events, loop->max_events))
		return -ENOMEM;
	loop->events[loop->nr_events++] = events->event;
	return 0;
}

/* A function is entered in the event at hand. */
static void visit(struct events *events, struct event_loop *loop, uint32_t function)
{
	struct event_visits *visits = &loop->visits[function];

	if (!visits->here++) {
		visits->at = events->calls;
		loop->visited[loop->nr_visited++] = function;
	}
}

static int on_call(struct trace_pass *pass, void *arg)
{
	struct events *events = arg;
	struct event_loop *loop = &events->loops[pass->loop];
	uint32_t function = trace_pass_frame(pass)->function;
	bool is_wait_call = loop_shape_is_wait_call(loop->shape, pass);
	int error = 0;

	if (is_wait_call)
		events->is_first = true;
	if (loop->shape->mode == LOOP_SHAPE_DISPATCH ? loop_shape_is_dispatch(loop->shape, pass)
						     : is_wait_call) {
		error = close_event(events);
		events->loop = pass->loop;
		events->event = (struct event){ .callee = function };
		events->calls = 0;
		events->is_open = true;
		if (events->is_first)
			loop->visits[function].first++;
		events->is_first = false;
	}
	events->calls++;
	loop->visits[function].calls++;
	if (events->is_open)
		visit(events, loop, function);
	return error;
}

/* Another hooked call has returned: whether it is one that marks. */
static int on_syscall(struct trace_pass *pass, void *arg)
{
	struct events *events = arg;
	struct event *event = &events->event;
	struct samples_boundary call;
	struct event_key *known;
	uint32_t i;

	if (!events->is_open || (int64_t)pass->event->value < 0 || !event_call_of(pass, &call))
		return 0;
	known = key_get(&events->loops[pass->loop], &call);
	if (!known)
		return 0;
	known->seen++;
	known->position += events->calls;
	for (i = 0; i < event->nr_keys; i++)
		if (event->keys[i] == known - events->loops[pass->loop].keys)
			break;
	if (i == EVENT_KEYS)
		return 0;
	if (i == event->nr_keys) {
		event->keys[i] = (uint16_t)(known - events->loops[pass->loop].keys);
		event->nr_keys++;
	}
	event->counts[i] += event->counts[i] < UINT16_MAX;
	return 0;
}

/* What came before a wait in the same iteration marks nothing. */
static int on_wait(struct trace_pass *pass, void *arg)
{
	struct events *events = arg;
	struct event_loop *loop = &events->loops[pass->loop];
	uint32_t context = trace_pass_context(pass);

	if (context != TRACE_NONE && events->droppable[context])
		return 0;
	if (loop->shape->mode == LOOP_SHAPE_ITERATIONS && events->is_open) {
		settle_visits(loop, FORGET);
		events->event = (struct event){ .callee = events->event.callee };
		events->calls = 0;
	}
	return 0;
}

static int on_leave(struct trace_pass *pass, void *arg)
{
	struct events *events = arg;

	settle_visits(&events->loops[pass->loop], FORGET);
	events->is_open = false;
	return 0;
}

static int allocate(struct events *events, const struct trace_pass_input *input,
		    const struct loop_shape *shapes, const bool *droppable)
{
	uint32_t nr = input->contexts.nr_loops;

	*events = (struct events){
		.input = input,
		.loops = calloc(nr + 1, sizeof(*events->loops)),
		.droppable = droppable,
	};
	if (!events->loops)
		return -ENOMEM;
	for (uint32_t i = 0; i < nr; i++) {
		events->loops[i].shape = &shapes[i];
		events->loops[i].visits = calloc(input->trace->nr_functions + 1,
						 sizeof(*events->loops[i].visits));
		events->loops[i].visited = calloc(input->trace->nr_functions + 1,
						  sizeof(*events->loops[i].visited));
		if (!events->loops[i].visits || !events->loops[i].visited)
			return -ENOMEM;
	}
	return 0;
}

void events_deinit(struct events *events)
{
	for (uint32_t i = 0; events->loops && i < events->input->contexts.nr_loops; i++) {
		free(events->loops[i].keys);
		free(events->loops[i].events);
		free(events->loops[i].visits);
		free(events->loops[i].visited);
	}
	free(events->loops);
}

int events_init(struct events *ret, const struct trace_pass_input *input,
		const struct loop_shape *shapes, const bool *droppable)
{
	const struct trace_pass_ops ops = {
		.call = on_call,
		.wait = on_wait,
		.syscall = on_syscall,
		.leave = on_leave,
	};
	int error = allocate(ret, input, shapes, droppable);

	return error ? error : trace_pass_run(input, &ops, ret);
}
