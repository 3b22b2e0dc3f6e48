// SPDX-License-Identifier: GPL-2.0

#include "train/samples/extract.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "data/samples.h"
#include "train/loops/event-marker.h"
#include "train/loops/loop-shape.h"
#include "train/loops/loop-wait.h"
#include "train/samples/count.h"
#include "train/samples/trie.h"
#include "train/trace/cutter.h"
#include "train/trace/trace-pass.h"

/* Nodes of a unit's tree, or of what will be one; with repetitions. */
struct path_set {
	uint32_t *nodes;
	size_t nr;
	size_t max;
};

struct extraction {
	const struct trace_pass_input *input;
	const struct loop_shape *shapes;
	const struct event_markers *markers;
	const bool *dropped; /* by context */
	struct samples_loop *loops;
	struct trie trie;
	struct unit_counts counts; /* trees, variants and units */
	struct loop_waits loop_waits;
	/* The thread's unit. */
	struct cutter cutter;
	struct path_set event; /* of the marked event(s) of this unit */
	struct path_set next; /* of an event in which no event marker was met yet */
	struct path_set rest; /* not under the dispatch */
	uint32_t *node_of_frame; /* the paths of the stack's frames */
	uint32_t nr_placed; /* so many of them are known, at most */
	size_t max_frames;
	bool in_event; /* under the dispatch, or in an iteration with work */
	bool has_marker;
	bool in_wait_call; /* an iteration, before its event marker or the wait call's return */
	bool is_boundary; /* the wait it is in is one */
	bool is_untimed; /* the unit began with a hit that has no time */
	int64_t fd;
	int64_t next_fd;
};

static int path_set_add(struct path_set *set, uint32_t node)
{
	if (array_grow(set->nodes, set->nr, set->max))
		return -ENOMEM;
	set->nodes[set->nr++] = node;
	return 0;
}

/* Add what is in @from, and empty it. */
static int path_set_take(struct path_set *set, struct path_set *from)
{
	int error = 0;

	for (size_t i = 0; i < from->nr && !error; i++)
		error = path_set_add(set, from->nodes[i]);
	from->nr = 0;
	return error;
}

/* Without event markers only the waits cut, whatever the shape is. */
static enum loop_shape_mode mode_of(const struct extraction *extraction,
				    const struct trace_pass *pass)
{
	if (extraction->shapes[pass->loop].mode == LOOP_SHAPE_ITERATIONS &&
	    !extraction->markers[pass->loop].nr)
		return LOOP_SHAPE_PLAIN;
	return extraction->shapes[pass->loop].mode;
}

/* The path of the stack's last frame. */
static int place_frame(struct extraction *extraction, const struct trace_pass *pass, uint32_t *ret)
{
	uint32_t level = pass->stack.nr_frames - 1;
	uint32_t node;

	while (level >= extraction->max_frames)
		if (array_grow(extraction->node_of_frame, level, extraction->max_frames))
			return -ENOMEM;
	if (extraction->nr_placed > level)
		extraction->nr_placed = level;
	node = extraction->nr_placed ? extraction->node_of_frame[extraction->nr_placed - 1] : 0;
	/* More than one only where the calls were made before the loop was known. */
	for (uint32_t i = extraction->nr_placed; i <= level; i++) {
		node = trie_child(&extraction->trie, node, pass->stack.frames[i].function);
		if (node == SAMPLES_NONE)
			return -ENOMEM;
		extraction->node_of_frame[i] = node;
	}
	extraction->nr_placed = level + 1;
	*ret = node;
	return 0;
}

/* The unit is over: count it, and make room for the next. */
static int close_unit(struct extraction *extraction, const struct trace_pass *pass,
		      uint64_t start_ns, uint64_t end_ns, bool is_untimed)
{
	const struct trace_thread *thread = &extraction->input->threads[pass->thread];
	struct path_set *set = extraction->event.nr ? &extraction->event : &extraction->rest;
	struct extract_unit unit = {
		.start_ns = start_ns,
		.end_ns = end_ns,
		.pid = thread->pid,
		.tid = thread->tid,
		.loop = pass->loop,
		.fd = extraction->fd,
		.is_untimed = is_untimed || extraction->is_untimed,
	};
	uint32_t nr = trie_leaves(&extraction->trie, set->nodes, set->nr);
	int error = count_unit(&extraction->counts, &unit, set->nodes, nr);

	extraction->event.nr = 0;
	extraction->rest.nr = 0;
	return error;
}

/* A new event begins by the shape of the loop: it may or may not be marked. */
static int begin_event(struct extraction *extraction, bool is_wait_call)
{
	int error;

	if (extraction->in_wait_call)
		extraction->next.nr = 0;
	error = path_set_take(&extraction->event, &extraction->next);
	extraction->in_event = true;
	extraction->has_marker = false;
	extraction->in_wait_call = is_wait_call;
	return error;
}

static int mark(struct extraction *extraction, const struct trace_pass *pass, uint64_t at_ns,
		bool is_untimed)
{
	bool is_begin = !extraction->cutter.is_running || extraction->cutter.has_event;
	uint64_t start_ns = 0;
	int error = 0;

	if (cutter_mark(&extraction->cutter, at_ns, &start_ns) == CUTTER_UNIT)
		error = close_unit(extraction, pass, start_ns, at_ns, is_untimed);
	if (is_begin)
		extraction->is_untimed = is_untimed;
	if (!extraction->has_marker && !error) {
		if (extraction->in_wait_call)
			extraction->next.nr = 0;
		error = path_set_take(&extraction->event, &extraction->next);
	}
	extraction->has_marker = true;
	extraction->in_wait_call = false;
	extraction->fd = extraction->next_fd;
	return error;
}

/* The set to which the call of the last frame belongs. */
static int place_call(struct extraction *extraction, const struct trace_pass *pass, uint32_t node)
{
	const struct loop_shape *shape = &extraction->shapes[pass->loop];

	switch (mode_of(extraction, pass)) {
	case LOOP_SHAPE_PLAIN:
		return path_set_add(&extraction->event, node);
	case LOOP_SHAPE_ITERATIONS:
		/* Back in the loop's function: the wait_call did the waiting only. */
		if (pass->stack.nr_frames == 1 && !loop_shape_is_wait_call(shape, pass) &&
		    extraction->in_wait_call) {
			extraction->next.nr = 0;
			extraction->in_wait_call = false;
		}
		break;
	case LOOP_SHAPE_DISPATCH:
		if (!extraction->in_event)
			return path_set_add(&extraction->rest, node);
		break;
	}
	return path_set_add(extraction->has_marker ? &extraction->event : &extraction->next, node);
}

static int on_call(struct trace_pass *pass, void *arg)
{
	struct extraction *extraction = arg;
	const struct loop_shape *shape = &extraction->shapes[pass->loop];
	const struct call_frame *frame = trace_pass_frame(pass);
	bool is_wait_call = mode_of(extraction, pass) == LOOP_SHAPE_ITERATIONS &&
			    loop_shape_is_wait_call(shape, pass);
	uint32_t node;
	int error = place_frame(extraction, pass, &node);

	if (error)
		return error;
	if (shape->mode == LOOP_SHAPE_DISPATCH && extraction->in_event)
		extraction->in_event = loop_shape_is_under_dispatch(shape, pass);
	if (is_wait_call || loop_shape_is_dispatch(shape, pass))
		error = begin_event(extraction, is_wait_call);
	if (!error && pass->is_whole &&
	    event_markers_has_site(&extraction->markers[pass->loop], pass)) {
		extraction->next_fd = -1;
		error = mark(extraction, pass, pass->event->time_ns,
			     extraction->input->trace->is_inline);
	}
	if (!error && extraction->cutter.is_running)
		error = count_hit(&extraction->counts, frame->function,
				  (uint32_t)(pass->loop_sp - frame->sp), node);
	if (!error)
		error = place_call(extraction, pass, node);
	return error;
}

static int on_syscall(struct trace_pass *pass, void *arg)
{
	struct extraction *extraction = arg;

	if (!pass->is_whole || !event_markers_has_call(&extraction->markers[pass->loop], pass))
		return 0;
	extraction->next_fd = (int32_t)pass->event->sp;
	return mark(extraction, pass, pass->enter->time_ns, false);
}

static int on_wait(struct trace_pass *pass, void *arg)
{
	struct extraction *extraction = arg;
	uint32_t context = trace_pass_context(pass);
	enum cutter_end end;
	uint64_t start_ns = 0;
	int error;

	extraction->is_boundary = context != TRACE_NONE && !extraction->dropped[context];
	if (!extraction->is_boundary)
		return 0;
	error = loop_waits_note(&extraction->loop_waits, &extraction->shapes[pass->loop], pass,
				context);
	if (error)
		return error;
	end = cutter_wait(&extraction->cutter, &start_ns);
	if (mode_of(extraction, pass) == LOOP_SHAPE_DISPATCH)
		error = path_set_take(&extraction->event, &extraction->next);
	else
		extraction->next.nr = 0;
	if (!error && end == CUTTER_UNIT)
		error = close_unit(extraction, pass, start_ns, pass->event->time_ns, false);
	extraction->event.nr = extraction->rest.nr = 0;
	extraction->in_event = extraction->has_marker = false;
	/* The wait_call may have been called before the loop was known. */
	extraction->in_wait_call = mode_of(extraction, pass) == LOOP_SHAPE_ITERATIONS;
	count_forget_hits(&extraction->counts);
	return error;
}

static int on_wake(struct trace_pass *pass, void *arg)
{
	struct extraction *extraction = arg;
	uint32_t syscall = trace_syscall(pass->event);

	if (!extraction->is_boundary || !pass->is_whole ||
	    !trace_pass_wake_begins(syscall, (int64_t)pass->event->value))
		return 0;
	cutter_wake(&extraction->cutter, pass->event->time_ns);
	extraction->is_untimed = false;
	extraction->cutter.has_empty = extraction->markers[pass->loop].has_empty;
	extraction->fd = extraction->next_fd =
		trace_pass_reads(syscall) ? (int32_t)pass->event->sp : -1;
	return 0;
}

static int on_leave(struct trace_pass *pass, void *arg)
{
	struct extraction *extraction = arg;

	extraction->loops[pass->loop].cut_off += extraction->cutter.is_running;
	cutter_reset(&extraction->cutter, false);
	extraction->event.nr = extraction->next.nr = extraction->rest.nr = 0;
	extraction->in_event = extraction->has_marker = extraction->in_wait_call = false;
	extraction->fd = extraction->next_fd = -1;
	extraction->nr_placed = 0;
	count_forget_hits(&extraction->counts);
	return 0;
}

static int on_foreign(struct trace_pass *pass, void *arg)
{
	struct extraction *extraction = arg;

	extraction->loops[pass->loop].foreign_stack++;
	return 0;
}

/* The loops as samples have them, with waits and event markers. */
static int make_loops(struct extraction *extraction)
{
	const struct trace_pass_input *input = extraction->input;
	int error = loop_waits_add(&extraction->loop_waits, extraction->dropped, extraction->loops);

	for (uint32_t i = 0; i < input->contexts.nr_loops && !error; i++) {
		extraction->loops[i].function = extraction->shapes[i].owner;
		extraction->loops[i].has_empty = extraction->markers[i].has_empty;
		extraction->loops[i].unmarked = extraction->markers[i].unmarked;
		for (uint32_t j = 0; j < extraction->markers[i].nr && !error; j++)
			error = samples_add_boundary(&extraction->loops[i],
						     &extraction->markers[i].boundaries[j]);
	}
	return error;
}

static int run(struct extraction *extraction, struct samples *samples,
	       struct extract_result *result)
{
	const struct trace_pass_ops ops = {
		.call = on_call,
		.wait = on_wait,
		.wake = on_wake,
		.syscall = on_syscall,
		.leave = on_leave,
		.foreign = on_foreign,
	};
	const struct trace *trace = extraction->input->trace;
	int error = trace_pass_run(extraction->input, &ops, extraction);

	if (!error)
		error = make_loops(extraction);
	if (!error)
		error = samples_copy_code(samples, trace->objects, trace->nr_objects,
					  trace->functions, trace->nr_functions);
	if (error)
		return error;
	samples->nodes = extraction->trie.nodes;
	samples->nr_nodes = extraction->trie.nr;
	extraction->trie.nodes = NULL;
	samples->loops = extraction->loops;
	samples->nr_loops = extraction->input->contexts.nr_loops;
	extraction->loops = NULL;
	samples->runs = 1;
	samples->lost = extraction->input->trace->lost;
	count_finish(&extraction->counts, samples, result);
	return 0;
}

static void extraction_deinit(struct extraction *extraction, uint32_t nr_loops)
{
	for (uint32_t i = 0; extraction->loops && i < nr_loops; i++)
		free(extraction->loops[i].boundaries);
	free(extraction->loops);
	trie_deinit(&extraction->trie);
	count_deinit(&extraction->counts);
	loop_waits_deinit(&extraction->loop_waits);
	free(extraction->event.nodes);
	free(extraction->next.nodes);
	free(extraction->rest.nodes);
	free(extraction->node_of_frame);
}

static int extract_from(const struct trace_pass_input *input, struct samples *samples,
			struct extract_result *result)
{
	struct extraction extraction = { .input = input, .counts.epoch = 1 };
	struct loop_shape *shapes = NULL;
	struct event_markers *markers = NULL;
	bool *dropped = NULL;
	int error = loop_shapes_find(input, &shapes, &dropped);

	error = error ?: event_markers_find(input, shapes, dropped, &markers);
	extraction.shapes = shapes;
	extraction.markers = markers;
	extraction.dropped = dropped;
	extraction.loops = calloc(input->contexts.nr_loops + 1, sizeof(*extraction.loops));
	if (!extraction.loops)
		error = -ENOMEM;
	error = error ?: loop_waits_init(&extraction.loop_waits, input);
	error = error ?: trie_init(&extraction.trie);
	error = error ?: run(&extraction, samples, result);
	extraction_deinit(&extraction, input->contexts.nr_loops);
	event_markers_free(markers, input->contexts.nr_loops);
	free(shapes);
	free(dropped);
	return error;
}

int extract_samples(const struct trace *trace, struct samples *samples,
		    struct extract_result *result)
{
	struct trace_pass_input input;
	int error = trace_pass_input_init(&input, trace);

	*samples = (struct samples){ 0 };
	if (result)
		*result = (struct extract_result){ 0 };
	if (error)
		return error;
	error = extract_from(&input, samples, result);
	if (!error)
		error = samples_hash_all(samples);
	trace_pass_input_deinit(&input);
	if (error) {
		samples_deinit(samples);
		if (result)
			extract_result_deinit(result);
	}
	return error;
}

void extract_result_deinit(struct extract_result *result)
{
	free(result->units);
	*result = (struct extract_result){ 0 };
}
