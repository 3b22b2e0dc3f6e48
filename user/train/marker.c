// SPDX-License-Identifier: GPL-2.0

#include "marker.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	MAX_KEYS = 256, /* different system calls of a loop that are looked at */
	EVENT_KEYS = 6, /* of one event */
	TINY_CALLS = 8, /* an event with fewer needs no marker, */
	TINY_SHARE = 12, /* nor has a segment with a twelfth of what is typical */
};

/* A marker is wrong in no more than this share of the events it marks. */
static const double WRONG = 0.01;
/* It is not worth having for fewer events than this. */
static const double FEW = 0.005;
/* As long as fewer events are left without one, no probe is spent. */
static const double UNMARKED = 0.02;
/* A probe is hit in other loops in vain; so many hits an event go unnoticed. */
static const double ELSEWHERE = 0.1;
/* With so few events more than waits, the waits do if a probe costs others much. */
static const double GLUED = 0.1;

/* A system call, and the call that led to it. */
struct key {
	uint32_t syscall;
	uint32_t object;
	uint64_t return_offset;
	uint32_t distance;
	uint64_t position; /* sum over the events, calls since their begin */
	uint64_t seen;
};

/* What happened in an event. */
struct event {
	uint16_t keys[EVENT_KEYS];
	uint16_t counts[EVENT_KEYS];
	uint16_t nr_keys;
	bool is_marked;
	uint32_t callee; /* of the dispatch */
};

/* How often a function was entered in an event. */
struct visits {
	uint64_t once; /* events in which it was entered once */
	uint64_t more;
	uint64_t position; /* sum */
	uint64_t first; /* events in whose segment it was the first dispatched */
	uint64_t tiny; /* events that need no marker, but have it */
	uint64_t calls; /* in an event or not */
	/* In the event at hand. */
	uint32_t here;
	uint64_t at;
};

struct loop {
	const struct course *course;
	struct key *keys;
	uint32_t nr_keys;
	struct event *events;
	size_t nr_events;
	size_t max_events;
	struct visits *visits; /* by function */
	uint32_t *visited; /* in the event at hand */
	uint32_t nr_visited;
	bool sleeps; /* in some wait */
};

struct finder {
	const struct pass_input *input;
	struct loop *loops;
	bool *never_sleeps; /* by context */
	bool *is_droppable; /* by context: other waits of its loop do the waiting */
	/* The thread's event. */
	struct event event;
	uint32_t loop;
	uint64_t calls;
	bool is_open;
	bool is_first; /* the next dispatch is the first of its segment */
	uint32_t context; /* of the wait it is in */
};

static bool key_of(const struct pass *pass, struct key *ret)
{
	const struct walk *walk = &pass->walk;
	const struct walk_frame *frame;

	if (!walk->nr_frames)
		return false;
	frame = &walk->frames[walk->nr_frames - 1];
	if (frame->object == TRACE_NONE)
		return false;
	*ret = (struct key){
		.syscall = trace_number(pass->enter) & TRACE_SYSCALL_MASK,
		.object = frame->object,
		.return_offset = frame->return_offset,
		.distance = (uint32_t)(frame->sp - pass->enter->sp),
	};
	return true;
}

static bool is_same_key(const struct key *a, const struct key *b)
{
	return a->syscall == b->syscall && a->object == b->object &&
	       a->return_offset == b->return_offset && a->distance == b->distance;
}

static struct key *key_get(struct loop *loop, const struct key *key)
{
	if (!loop->keys) {
		loop->keys = calloc(MAX_KEYS, sizeof(*loop->keys));
		if (!loop->keys)
			return NULL;
	}
	for (uint32_t i = 0; i < loop->nr_keys; i++)
		if (is_same_key(&loop->keys[i], key))
			return &loop->keys[i];
	if (loop->nr_keys == MAX_KEYS)
		return NULL;
	loop->keys[loop->nr_keys] = *key;
	return &loop->keys[loop->nr_keys++];
}

/* What becomes of the visits of the event at hand. */
enum settle {
	FORGET,
	COUNT,
	COUNT_TINY,
};

static void settle_visits(struct loop *loop, enum settle how)
{
	for (uint32_t i = 0; i < loop->nr_visited; i++) {
		struct visits *visits = &loop->visits[loop->visited[i]];

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
static uint64_t tiny_calls(const struct course *course)
{
	uint64_t tiny = course->mode == COURSE_SEGMENTS ? course->typical_calls / TINY_SHARE : 0;

	return tiny > TINY_CALLS ? tiny : TINY_CALLS;
}

static int close_event(struct finder *finder)
{
	struct loop *loop = &finder->loops[finder->loop];
	struct event *grown;
	bool is_tiny;

	if (!finder->is_open)
		return 0;
	finder->is_open = false;
	is_tiny = finder->calls < tiny_calls(loop->course);
	settle_visits(loop, is_tiny ? COUNT_TINY : COUNT);
	if (is_tiny)
		return 0;
	if (loop->nr_events == loop->max_events) {
		size_t max = loop->max_events ? loop->max_events * 2 : 1024;

		grown = reallocarray(loop->events, max, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		loop->events = grown;
		loop->max_events = max;
	}
	loop->events[loop->nr_events++] = finder->event;
	return 0;
}

static void open_event(struct finder *finder, const struct pass *pass, uint32_t callee)
{
	finder->loop = pass->loop;
	finder->event = (struct event){ .callee = callee };
	finder->calls = 0;
	finder->is_open = true;
}

/* A function is entered in the event at hand. */
static void visit(struct finder *finder, struct loop *loop, uint32_t function)
{
	struct visits *visits = &loop->visits[function];

	if (!visits->here++) {
		visits->at = finder->calls;
		loop->visited[loop->nr_visited++] = function;
	}
}

static int on_call(struct pass *pass, void *arg)
{
	struct finder *finder = arg;
	struct loop *loop = &finder->loops[pass->loop];
	const struct walk *walk = &pass->walk;
	uint32_t function = walk->frames[walk->nr_frames - 1].function;
	bool is_chain = course_is_chain(loop->course, pass);
	int error = 0;

	if (is_chain)
		finder->is_first = true;
	if (loop->course->mode == COURSE_DISPATCH ? course_is_dispatch(loop->course, pass) :
						    is_chain) {
		error = close_event(finder);
		open_event(finder, pass, function);
		if (finder->is_first)
			loop->visits[function].first++;
		finder->is_first = false;
	}
	finder->calls++;
	loop->visits[function].calls++;
	if (finder->is_open)
		visit(finder, loop, function);
	return error;
}

/* Another hooked call has returned: is it one that marks? */
static int on_syscall(struct pass *pass, void *arg)
{
	struct finder *finder = arg;
	struct event *event = &finder->event;
	struct key key, *known;
	uint32_t i;

	if (!finder->is_open || (int64_t)pass->event->value < 0 || !key_of(pass, &key))
		return 0;
	known = key_get(&finder->loops[pass->loop], &key);
	if (!known)
		return 0;
	known->seen++;
	known->position += finder->calls;
	for (i = 0; i < event->nr_keys; i++)
		if (event->keys[i] == known - finder->loops[pass->loop].keys)
			break;
	if (i == EVENT_KEYS)
		return 0;
	if (i == event->nr_keys) {
		event->keys[i] = (uint16_t)(known - finder->loops[pass->loop].keys);
		event->nr_keys++;
	}
	event->counts[i] += event->counts[i] < UINT16_MAX;
	return 0;
}

/* What came before a wait in the same segment marks nothing. */
static int on_wait(struct pass *pass, void *arg)
{
	struct finder *finder = arg;
	struct loop *loop = &finder->loops[pass->loop];
	uint32_t context = pass_context(pass);

	if (context != TRACE_NONE && finder->is_droppable[context])
		return 0;
	if (loop->course->mode == COURSE_SEGMENTS && finder->is_open) {
		settle_visits(loop, FORGET);
		finder->event = (struct event){ .callee = finder->event.callee };
		finder->calls = 0;
	}
	return 0;
}

/* First pass: which waits never sleep? */
static int note_wait(struct pass *pass, void *arg)
{
	((struct finder *)arg)->context = pass_context(pass);
	return 0;
}

static int note_wake(struct pass *pass, void *arg)
{
	struct finder *finder = arg;

	if (finder->context != TRACE_NONE && (int64_t)pass->event->value == -EAGAIN &&
	    pass_reads(trace_number(pass->event) & TRACE_SYSCALL_MASK))
		finder->never_sleeps[finder->context] = true;
	return 0;
}

static int on_leave(struct pass *pass, void *arg)
{
	struct finder *finder = arg;

	settle_visits(&finder->loops[pass->loop], FORGET);
	finder->is_open = false;
	return 0;
}

static int add_boundary(struct markers *markers, const struct samples_boundary *boundary)
{
	struct samples_boundary *grown;

	grown = reallocarray(markers->boundaries, markers->nr + 1, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	markers->boundaries = grown;
	grown[markers->nr++] = *boundary;
	return 0;
}

/* How many events each key would mark; 0 if it is wrong too often. */
static void key_gains(const struct loop *loop, uint64_t gains[MAX_KEYS])
{
	uint64_t wrong[MAX_KEYS] = { 0 };

	memset(gains, 0, MAX_KEYS * sizeof(*gains));
	for (size_t i = 0; i < loop->nr_events; i++) {
		const struct event *event = &loop->events[i];

		for (uint32_t j = 0; j < event->nr_keys; j++) {
			if (event->counts[j] == 1 && !event->is_marked)
				gains[event->keys[j]]++;
			else
				wrong[event->keys[j]]++;
		}
	}
	for (uint32_t i = 0; i < MAX_KEYS; i++)
		if ((double)wrong[i] > WRONG * (double)gains[i])
			gains[i] = 0;
}

static uint64_t mark_by_key(struct loop *loop, uint32_t key)
{
	uint64_t marked = 0;

	for (size_t i = 0; i < loop->nr_events; i++) {
		struct event *event = &loop->events[i];

		for (uint32_t j = 0; j < event->nr_keys; j++) {
			if (event->keys[j] == key && !event->is_marked) {
				event->is_marked = true;
				marked++;
			}
		}
	}
	return marked;
}

static bool comes_earlier(const struct key *a, const struct key *b)
{
	return (double)a->position * (double)b->seen < (double)b->position * (double)a->seen;
}

static int mark_by_calls(struct loop *loop, struct markers *markers)
{
	for (;;) {
		uint64_t best_gain = 0, gains[MAX_KEYS];
		uint32_t best = MAX_KEYS;
		const struct key *key;
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
		if (best == MAX_KEYS || (double)best_gain < FEW * (double)loop->nr_events)
			return 0;
		key = &loop->keys[best];
		error = add_boundary(markers, &(struct samples_boundary){
			.role = SAMPLES_ROLE_EVENT_CALL,
			.syscall = key->syscall,
			.object = key->object,
			.return_offset = key->return_offset,
			.distance = key->distance,
			.function = SAMPLES_NONE,
		});
		if (error)
			return error;
		markers->marked += mark_by_key(loop, best);
	}
}

static int add_site(struct markers *markers, uint32_t function)
{
	return add_boundary(markers, &(struct samples_boundary){
		.role = SAMPLES_ROLE_EVENT_SITE,
		.function = function,
	});
}

static bool can_carry(const struct finder *finder, uint32_t function)
{
	return finder->input->trace->functions[function].cost == SAMPLES_COST_CHEAP;
}

/*
 * Of the functions that the dispatch calls, those whose events are not marked.
 * One that never is the first of its segment is no event, but where another
 * handler ended by jumping on.
 */
static int mark_callees(struct finder *finder, struct loop *loop, struct markers *markers)
{
	uint32_t nr = finder->input->trace->nr_functions;
	uint64_t *unmarked = calloc(nr, sizeof(*unmarked));
	uint64_t *all = calloc(nr, sizeof(*all));
	int error = unmarked && all ? 0 : -ENOMEM;

	for (size_t i = 0; !error && i < loop->nr_events; i++) {
		all[loop->events[i].callee]++;
		unmarked[loop->events[i].callee] += !loop->events[i].is_marked;
	}
	for (uint32_t f = 0; f < nr && !error; f++) {
		if ((double)unmarked[f] < FEW * (double)loop->nr_events || !unmarked[f] ||
		    (double)(all[f] - unmarked[f]) > WRONG * (double)unmarked[f] ||
		    !loop->visits[f].first || !can_carry(finder, f))
			continue;
		error = add_site(markers, f);
		markers->marked += unmarked[f];
	}
	free(unmarked);
	free(all);
	return error;
}

/* Is a function entered once in nearly each event? */
static bool marks_events(const struct finder *finder, const struct loop *loop, uint32_t function)
{
	const struct visits *visits = &loop->visits[function];

	return visits->once && can_carry(finder, function) &&
	       (double)visits->more <= WRONG * (double)visits->once &&
	       (double)visits->once >= (1 - UNMARKED) * (double)loop->nr_events;
}

/* How often a function is entered in other loops, in which a probe is hit in vain. */
static uint64_t calls_elsewhere(const struct finder *finder, const struct loop *loop,
				uint32_t function)
{
	uint64_t calls = 0;

	for (uint32_t i = 0; i < finder->input->loops.nr; i++)
		if (&finder->loops[i] != loop)
			calls += finder->loops[i].visits[function].calls;
	return calls;
}

static bool is_shared(const struct finder *finder, const struct loop *loop, uint32_t function)
{
	return (double)calls_elsewhere(finder, loop, function) >
	       ELSEWHERE * (double)loop->nr_events;
}

/* Would a probe be hit more often in vain than for an event, to part few of these? */
static bool is_too_dear(const struct finder *finder, const struct loop *loop, uint32_t function)
{
	return calls_elsewhere(finder, loop, function) > loop->nr_events &&
	       (double)loop->nr_events <= (1 + GLUED) * (double)loop->course->waits;
}

/*
 * What also marks that which is hardly work comes last, what other loops come
 * by before it, else the first is best.
 */
static bool marks_better(const struct finder *finder, const struct loop *loop, uint32_t function,
			 uint32_t best)
{
	const struct visits *a = &loop->visits[function], *b = &loop->visits[best];
	double many = WRONG * (double)loop->nr_events;
	bool a_tiny = (double)a->tiny > many, b_tiny = (double)b->tiny > many;
	bool a_shared = is_shared(finder, loop, function);
	bool b_shared = is_shared(finder, loop, best);

	if (a_tiny != b_tiny)
		return b_tiny;
	if (a_shared != b_shared)
		return b_shared;
	return (double)a->position * (double)b->once < (double)b->position * (double)a->once;
}

/* Of the functions entered once in each event, the best. */
static int mark_segments(struct finder *finder, struct loop *loop, struct markers *markers)
{
	uint32_t best = TRACE_NONE;

	markers->nr = 0;
	markers->marked = 0;
	for (uint32_t f = 0; f < finder->input->trace->nr_functions; f++)
		if (marks_events(finder, loop, f) &&
		    (best == TRACE_NONE || marks_better(finder, loop, f, best)))
			best = f;
	if (best == TRACE_NONE || is_too_dear(finder, loop, best))
		return 0;
	markers->marked = loop->visits[best].once;
	if (markers->marked > loop->nr_events)
		markers->marked = loop->nr_events;
	return add_site(markers, best);
}

static int mark(struct finder *finder, struct loop *loop, struct markers *markers)
{
	double allowed = UNMARKED * (double)loop->nr_events;
	int error;

	if (loop->course->mode == COURSE_PLAIN)
		return 0;
	markers->events = loop->nr_events;
	error = mark_by_calls(loop, markers);
	if (error || (double)(loop->nr_events - markers->marked) <= allowed) {
		/* The system calls do. */
	} else if (loop->course->mode == COURSE_DISPATCH && !loop->course->is_repeat) {
		error = mark_callees(finder, loop, markers);
	} else {
		error = mark_segments(finder, loop, markers);
	}
	markers->has_empty = markers->nr && (loop->course->mode == COURSE_SEGMENTS ||
					     loop->course->is_repeat);
	return error;
}

/* A loop keeps the waits that sleep, at least one. */
static void find_droppable(struct finder *finder)
{
	const uint32_t *of_context = finder->input->loops.of_context;
	uint32_t nr = finder->input->trace->nr_contexts;

	for (uint32_t i = 0; i < nr; i++)
		finder->loops[of_context[i]].sleeps |= !finder->never_sleeps[i];
	for (uint32_t i = 0; i < nr; i++)
		finder->is_droppable[i] =
			finder->never_sleeps[i] && finder->loops[of_context[i]].sleeps;
}

static int gather(struct finder *finder)
{
	const struct pass_ops first = { .wait = note_wait, .wake = note_wake };
	const struct pass_ops second = {
		.call = on_call,
		.wait = on_wait,
		.syscall = on_syscall,
		.leave = on_leave,
	};
	int error = pass_run(finder->input, &first, finder);

	find_droppable(finder);
	return error ? error : pass_run(finder->input, &second, finder);
}

static int finder_init(struct finder *finder, const struct pass_input *input,
		       const struct course *courses)
{
	uint32_t nr = input->loops.nr;

	*finder = (struct finder){
		.input = input,
		.loops = calloc(nr + 1, sizeof(*finder->loops)),
		.never_sleeps = calloc(input->trace->nr_contexts + 1, sizeof(bool)),
		.is_droppable = calloc(input->trace->nr_contexts + 1, sizeof(bool)),
		.context = TRACE_NONE,
	};
	if (!finder->loops || !finder->never_sleeps || !finder->is_droppable)
		return -ENOMEM;
	for (uint32_t i = 0; i < nr; i++) {
		finder->loops[i].course = &courses[i];
		finder->loops[i].visits = calloc(input->trace->nr_functions + 1,
						 sizeof(*finder->loops[i].visits));
		finder->loops[i].visited = calloc(input->trace->nr_functions + 1,
						  sizeof(*finder->loops[i].visited));
		if (!finder->loops[i].visits || !finder->loops[i].visited)
			return -ENOMEM;
	}
	return 0;
}

static void finder_deinit(struct finder *finder)
{
	for (uint32_t i = 0; finder->loops && i < finder->input->loops.nr; i++) {
		free(finder->loops[i].keys);
		free(finder->loops[i].events);
		free(finder->loops[i].visits);
		free(finder->loops[i].visited);
	}
	free(finder->loops);
	free(finder->never_sleeps);
	free(finder->is_droppable);
}

static void drop_waits(const struct finder *finder, const struct markers *markers, bool *dropped)
{
	for (uint32_t i = 0; i < finder->input->trace->nr_contexts; i++)
		dropped[i] = finder->is_droppable[i] &&
			     markers[finder->input->loops.of_context[i]].has_empty;
}

int markers_find(const struct pass_input *input, const struct course *courses,
		 struct markers **ret, bool **ret_dropped)
{
	uint32_t nr = input->loops.nr;
	struct markers *markers = calloc(nr + 1, sizeof(*markers));
	bool *dropped = calloc(input->trace->nr_contexts + 1, sizeof(*dropped));
	struct finder finder;
	int error = finder_init(&finder, input, courses);

	if (!markers || !dropped)
		error = -ENOMEM;
	if (!error)
		error = gather(&finder);
	for (uint32_t i = 0; i < nr && !error; i++)
		error = mark(&finder, &finder.loops[i], &markers[i]);
	if (!error)
		drop_waits(&finder, markers, dropped);
	finder_deinit(&finder);
	if (error) {
		if (markers)
			markers_free(markers, nr);
		free(dropped);
		return error;
	}
	*ret = markers;
	*ret_dropped = dropped;
	return 0;
}

void markers_free(struct markers *markers, uint32_t nr)
{
	for (uint32_t i = 0; i < nr; i++)
		free(markers[i].boundaries);
	free(markers);
}

bool markers_has_call(const struct markers *markers, const struct pass *pass)
{
	struct key key;

	if ((int64_t)pass->event->value < 0 || !key_of(pass, &key))
		return false;
	for (uint32_t i = 0; i < markers->nr; i++) {
		const struct samples_boundary *boundary = &markers->boundaries[i];

		if (boundary->role == SAMPLES_ROLE_EVENT_CALL &&
		    boundary->syscall == key.syscall && boundary->object == key.object &&
		    boundary->return_offset == key.return_offset &&
		    boundary->distance == key.distance)
			return true;
	}
	return false;
}

bool markers_has_site(const struct markers *markers, const struct pass *pass)
{
	uint32_t function = pass->walk.frames[pass->walk.nr_frames - 1].function;

	for (uint32_t i = 0; i < markers->nr; i++)
		if (markers->boundaries[i].role == SAMPLES_ROLE_EVENT_SITE &&
		    markers->boundaries[i].function == function)
			return true;
	return false;
}
