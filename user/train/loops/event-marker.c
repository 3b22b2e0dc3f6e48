// SPDX-License-Identifier: GPL-2.0

#include "train/loops/event-marker.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "train/loops/events.h"

/* An event marker is wrong in no more than this share of the events it marks. */
static const double WRONG = 0.01;
/* It is not worth having for fewer events than this. */
static const double FEW = 0.005;
/* As long as fewer events are left without one, no probe is spent. */
static const double UNMARKED = 0.02;
/* A probe is hit in other loops for nothing; so many hits an event go unnoticed. */
static const double ELSEWHERE = 0.1;
/* With so few events more than waits, the waits do if a probe costs others much. */
static const double GLUED = 0.1;

static int add_boundary(struct event_markers *markers, const struct samples_boundary *boundary)
{
	if (array_grow(markers->boundaries, markers->nr, markers->max))
		return -ENOMEM;
	markers->boundaries[markers->nr++] = *boundary;
	return 0;
}

/* How many events each key would mark; 0 if it is wrong too often. */
static void key_gains(const struct event_loop *loop, uint64_t gains[EVENT_LOOP_KEYS])
{
	uint64_t wrong[EVENT_LOOP_KEYS] = { 0 };

	memset(gains, 0, EVENT_LOOP_KEYS * sizeof(*gains));
	for (size_t i = 0; i < loop->nr_events; i++) {
		const struct event *event = &loop->events[i];

		for (uint32_t j = 0; j < event->nr_keys; j++) {
			if (event->counts[j] == 1 && !event->has_event)
				gains[event->keys[j]]++;
			else
				wrong[event->keys[j]]++;
		}
	}
	for (uint32_t i = 0; i < EVENT_LOOP_KEYS; i++)
		if ((double)wrong[i] > WRONG * (double)gains[i])
			gains[i] = 0;
}

static uint64_t mark_by_key(struct event_loop *loop, uint32_t key)
{
	uint64_t marked = 0;

	for (size_t i = 0; i < loop->nr_events; i++) {
		struct event *event = &loop->events[i];

		for (uint32_t j = 0; j < event->nr_keys; j++) {
			if (event->keys[j] == key && !event->has_event) {
				event->has_event = true;
				marked++;
			}
		}
	}
	return marked;
}

static bool comes_earlier(const struct event_key *a, const struct event_key *b)
{
	return (double)a->position * (double)b->seen < (double)b->position * (double)a->seen;
}

static int mark_by_calls(struct event_loop *loop, struct event_markers *markers)
{
	for (;;) {
		uint64_t best_gain = 0, gains[EVENT_LOOP_KEYS];
		uint32_t best = EVENT_LOOP_KEYS;
		int error;

		key_gains(loop, gains);
		for (uint32_t i = 0; i < loop->nr_keys; i++) {
			uint64_t gain = gains[i];

			if (gain > best_gain ||
			    (gain && gain == best_gain &&
			     comes_earlier(&loop->keys[i], &loop->keys[best]))) {
				best_gain = gain;
				best = i;
			}
		}
		if (best == EVENT_LOOP_KEYS || (double)best_gain < FEW * (double)loop->nr_events)
			return 0;
		error = add_boundary(markers, &loop->keys[best].boundary);
		if (error)
			return error;
		markers->marked += mark_by_key(loop, best);
	}
}

static int add_site(struct event_markers *markers, uint32_t function)
{
	return add_boundary(markers, &(struct samples_boundary){
		.role = SAMPLES_ROLE_EVENT_SITE,
		.function = function,
	});
}

static bool can_carry(const struct events *events, uint32_t function)
{
	return !(events->input->trace->functions[function].cost & SAMPLES_COST_STEPPED);
}

/*
 * Of the functions that the dispatch calls, those whose events are not marked.
 * One that never is the first of its iteration is no event, but where another
 * handler ended by jumping on.
 */
static int mark_callees(struct events *events, struct event_loop *loop,
			struct event_markers *markers)
{
	uint32_t nr = events->input->trace->nr_functions;
	uint64_t *unmarked = calloc(nr, sizeof(*unmarked));
	uint64_t *all = calloc(nr, sizeof(*all));
	int error = unmarked && all ? 0 : -ENOMEM;

	for (size_t i = 0; !error && i < loop->nr_events; i++) {
		all[loop->events[i].callee]++;
		unmarked[loop->events[i].callee] += !loop->events[i].has_event;
	}
	for (uint32_t f = 0; f < nr && !error; f++) {
		if ((double)unmarked[f] < FEW * (double)loop->nr_events || !unmarked[f] ||
		    (double)(all[f] - unmarked[f]) > WRONG * (double)unmarked[f] ||
		    !loop->visits[f].first || !can_carry(events, f))
			continue;
		error = add_site(markers, f);
		markers->marked += unmarked[f];
	}
	free(unmarked);
	free(all);
	return error;
}

/* True if a function is entered once in nearly each event. */
static bool marks_events(const struct events *events, const struct event_loop *loop, uint32_t function)
{
	const struct event_visits *visits = &loop->visits[function];

	return visits->once && can_carry(events, function) &&
	       (double)visits->more <= WRONG * (double)visits->once &&
	       (double)visits->once >= (1 - UNMARKED) * (double)loop->nr_events;
}

/* How often a function is entered in other loops, in which a probe is hit for nothing. */
static uint64_t calls_elsewhere(const struct events *events, const struct event_loop *loop,
				uint32_t function)
{
	uint64_t calls = 0;

	for (uint32_t i = 0; i < events->input->contexts.nr_loops; i++)
		if (&events->loops[i] != loop)
			calls += events->loops[i].visits[function].calls;
	return calls;
}

static bool is_shared(const struct events *events, const struct event_loop *loop, uint32_t function)
{
	return (double)calls_elsewhere(events, loop, function) >
	       ELSEWHERE * (double)loop->nr_events;
}

/* True if a probe would be hit more often for nothing than for an event, to part few of these. */
static bool is_too_dear(const struct events *events, const struct event_loop *loop, uint32_t function)
{
	return calls_elsewhere(events, loop, function) > loop->nr_events &&
	       (double)loop->nr_events <= (1 + GLUED) * (double)loop->shape->waits;
}

/*
 * What also marks that which is hardly work comes last, what other loops come
 * by before it, else the first is best.
 */
static bool marks_better(const struct events *events, const struct event_loop *loop, uint32_t function,
			 uint32_t best)
{
	const struct event_visits *a = &loop->visits[function], *b = &loop->visits[best];
	double many = WRONG * (double)loop->nr_events;
	bool a_tiny = (double)a->tiny > many, b_tiny = (double)b->tiny > many;
	bool a_shared = is_shared(events, loop, function);
	bool b_shared = is_shared(events, loop, best);

	if (a_tiny != b_tiny)
		return b_tiny;
	if (a_shared != b_shared)
		return b_shared;
	return (double)a->position * (double)b->once < (double)b->position * (double)a->once;
}

/* Of the functions entered once in each event, the best. */
static int mark_iterations(struct events *events, struct event_loop *loop,
			   struct event_markers *markers)
{
	uint32_t best = TRACE_NONE;

	markers->nr = 0;
	markers->marked = 0;
	for (uint32_t f = 0; f < events->input->trace->nr_functions; f++)
		if (marks_events(events, loop, f) &&
		    (best == TRACE_NONE || marks_better(events, loop, f, best)))
			best = f;
	if (best == TRACE_NONE || is_too_dear(events, loop, best))
		return 0;
	markers->marked = loop->visits[best].once;
	if (markers->marked > loop->nr_events)
		markers->marked = loop->nr_events;
	return add_site(markers, best);
}

/* How many events no wait and no event marker parts from the one before; 0 if few. */
static uint64_t count_unmarked(const struct event_loop *loop, const struct event_markers *markers)
{
	uint64_t parted = markers->marked > loop->shape->waits ? markers->marked :
								 loop->shape->waits;
	uint64_t unmarked = loop->nr_events > parted ? loop->nr_events - parted : 0;

	return (double)unmarked > UNMARKED * (double)loop->nr_events ? unmarked : 0;
}

static int mark(struct events *events, struct event_loop *loop, struct event_markers *markers)
{
	double allowed = UNMARKED * (double)loop->nr_events;
	int error;

	if (loop->shape->mode == LOOP_SHAPE_PLAIN)
		return 0;
	error = mark_by_calls(loop, markers);
	if (error || (double)(loop->nr_events - markers->marked) <= allowed) {
		/* The system calls do. */
	} else if (loop->shape->mode == LOOP_SHAPE_DISPATCH && !loop->shape->dispatch.is_direct) {
		error = mark_callees(events, loop, markers);
	} else {
		error = mark_iterations(events, loop, markers);
	}
	markers->has_empty = markers->nr &&
			     (loop->shape->mode == LOOP_SHAPE_ITERATIONS || loop->shape->dispatch.is_direct);
	markers->unmarked = count_unmarked(loop, markers);
	return error;
}

int event_markers_find(const struct trace_pass_input *input, const struct loop_shape *shapes,
		       bool *dropped, struct event_markers **ret)
{
	uint32_t nr = input->contexts.nr_loops;
	struct event_markers *markers = calloc(nr + 1, sizeof(*markers));
	struct events events;
	int error = events_init(&events, input, shapes, dropped);

	if (!markers)
		error = -ENOMEM;
	for (uint32_t i = 0; i < nr && !error; i++)
		error = mark(&events, &events.loops[i], &markers[i]);
	events_deinit(&events);
	if (error) {
		event_markers_free(markers, nr);
		return error;
	}
	for (uint32_t i = 0; i < input->trace->nr_contexts; i++)
		dropped[i] &= markers[input->contexts.loop_of[i]].has_empty;
	*ret = markers;
	return 0;
}

void event_markers_free(struct event_markers *markers, uint32_t nr)
{
	for (uint32_t i = 0; markers && i < nr; i++)
		free(markers[i].boundaries);
	free(markers);
}

bool event_markers_has_call(const struct event_markers *markers, const struct trace_pass *pass)
{
	struct samples_boundary call;

	if ((int64_t)pass->event->value < 0 || !event_call_of(pass, &call))
		return false;
	for (uint32_t i = 0; i < markers->nr; i++)
		if (samples_is_same_boundary(&markers->boundaries[i], &call))
			return true;
	return false;
}

bool event_markers_has_site(const struct event_markers *markers, const struct trace_pass *pass)
{
	uint32_t function = trace_pass_frame(pass)->function;

	for (uint32_t i = 0; i < markers->nr; i++)
		if (markers->boundaries[i].role == SAMPLES_ROLE_EVENT_SITE &&
		    markers->boundaries[i].function == function)
			return true;
	return false;
}
