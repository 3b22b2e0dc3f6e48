/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What happens in the events of each loop, of which one may become their
 * marker: the hooked system calls that return in them, and the functions that
 * are entered.
 */
#ifndef _USER_TRAIN_LOOPS_EVENTS_H
#define _USER_TRAIN_LOOPS_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "train/loops/loop-shape.h"
#include "train/trace/trace-pass.h"

enum {
	EVENT_LOOP_KEYS = 256, /* different system calls of a loop that are counted */
	EVENT_KEYS = 6, /* of one event */
};

/* A system call that may be an event marker, as a boundary of that role. */
struct event_key {
	struct samples_boundary boundary;
	uint64_t position; /* sum over the events, calls since their begin */
	uint64_t seen;
};

/* What happened in an event. */
struct event {
	uint16_t keys[EVENT_KEYS];
	uint16_t counts[EVENT_KEYS];
	uint16_t nr_keys;
	bool has_event; /* by whom the event markers are chosen */
	uint32_t callee; /* of the dispatch */
};

/* How often a function was entered in an event. */
struct event_visits {
	uint64_t once; /* events in which it was entered once */
	uint64_t more;
	uint64_t position; /* sum */
	uint64_t first; /* events in whose iteration it was the first dispatched */
	uint64_t tiny; /* events that need no event marker, but have it */
	uint64_t calls; /* in an event or not */
	/* In the event at hand. */
	uint32_t here;
	uint64_t at;
};

struct event_loop {
	const struct loop_shape *shape;
	struct event_key *keys;
	uint32_t nr_keys;
	struct event *events;
	size_t nr_events;
	size_t max_events;
	struct event_visits *visits; /* by function */
	uint32_t *visited; /* in the event at hand */
	uint32_t nr_visited;
};

struct events {
	const struct trace_pass_input *input;
	struct event_loop *loops;
	const bool *droppable; /* by context, see loop_shapes_find() */
	/* The thread's event. */
	struct event event;
	uint32_t loop;
	uint64_t calls;
	bool is_open;
	bool is_first; /* the next dispatch is the first of its iteration */
};

/* The system call that has just returned, and its caller; whether that is known. */
bool event_call_of(const struct trace_pass *pass, struct samples_boundary *ret);

/*
 * Gather the events of each loop; @shapes has one entry a loop, and lives, as
 * @droppable does, as long as *@ret.  Returns 0 or -ENOMEM; events_deinit() in both cases.
 */
int events_init(struct events *ret, const struct trace_pass_input *input,
		const struct loop_shape *shapes, const bool *droppable);
void events_deinit(struct events *events);

#endif /* _USER_TRAIN_LOOPS_EVENTS_H */
