// SPDX-License-Identifier: GPL-2.0

#include "train/samples/extract.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "data/samples-hash.h"
#include "train/loops/event-marker.h"
#include "train/loops/loop-shape.h"
#include "train/loops/loop-wait.h"
#include "train/samples/count.h"
#include "train/trace/context-class.h"
#include "train/trace/cutter.h"
#include "train/trace/trace-pass.h"
#include "train/types/trie.h"

/* Nodes of a unit's tree, or of what will be one; with repetitions. */
struct path_set {
	uint32_t *nodes;
	size_t nr;
	size_t max;
};

struct gatherer {
	const struct pass_input *input;
	const struct course *courses;
	const struct markers *markers;
	const bool *dropped; /* by context */
	struct kins kins;
	struct samples_loop *loops;
	struct trie trie;
	struct tally tally; /* trees, variants and units */
	struct own_waits own_waits;
	/* The thread's unit. */
	struct cutter cutter;
	struct path_set event; /* of the marked event(s) of this unit */
	struct path_set next; /* of an event that no marker was met in yet */
	struct path_set rest; /* not under the dispatch */
	uint32_t *node_of_frame; /* the paths of the walk's frames */
	uint32_t nr_placed; /* so many of them are known, at most */
	uint32_t max_frames;
	bool in_event; /* under the dispatch, or in a segment with work */
	bool is_event_marked;
	bool in_chain; /* a segment, before its marker or the chain's return */
	bool is_boundary; /* the wait it is in is one */
	int64_t fd;
	int64_t next_fd;
};

static int path_set_add(struct path_set *set, uint32_t node)
{
	uint32_t *grown;

	if (set->nr == set->max) {
		size_t max = set->max ? set->max * 2 : 1024;

		grown = reallocarray(set->nodes, max, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		set->nodes = grown;
		set->max = max;
	}
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


/* Without markers only the waits cut, whatever the course is. */
static enum course_mode mode_of(const struct gatherer *gatherer, const struct pass *pass)
{
	if (gatherer->courses[pass->loop].mode == COURSE_SEGMENTS &&
	    !gatherer->markers[pass->loop].nr)
		return COURSE_PLAIN;
	return gatherer->courses[pass->loop].mode;
}

/* The path of the walk's last frame. */
static int place_frame(struct gatherer *gatherer, const struct pass *pass, uint32_t *ret)
{
	uint32_t level = pass->walk.nr_frames - 1;
	uint32_t node, *grown;

	if (level >= gatherer->max_frames) {
		uint32_t max = gatherer->max_frames ? gatherer->max_frames * 2 : 64;

		while (max <= level)
			max *= 2;
		grown = reallocarray(gatherer->node_of_frame, max, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		gatherer->node_of_frame = grown;
		gatherer->max_frames = max;
	}
	if (gatherer->nr_placed > level)
		gatherer->nr_placed = level;
	node = gatherer->nr_placed ? gatherer->node_of_frame[gatherer->nr_placed - 1] : 0;
	/* More than one only where the calls were made before the loop was known. */
	for (uint32_t i = gatherer->nr_placed; i <= level; i++) {
		node = trie_child(&gatherer->trie, node, pass->walk.frames[i].function);
		if (node == SAMPLES_NONE)
			return -ENOMEM;
		gatherer->node_of_frame[i] = node;
	}
	gatherer->nr_placed = level + 1;
	*ret = node;
	return 0;
}

/* The unit is over: count it, and make room for the next. */
static int close_unit(struct gatherer *gatherer, const struct pass *pass, uint64_t start_ns,
		      uint64_t end_ns)
{
	const struct walk_thread *thread = &gatherer->input->threads[pass->thread];
	struct path_set *set = gatherer->event.nr ? &gatherer->event : &gatherer->rest;
	struct gather_unit unit = {
		.start_ns = start_ns,
		.end_ns = end_ns,
		.pid = thread->pid,
		.tid = thread->tid,
		.loop = pass->loop,
		.fd = gatherer->fd,
	};
	uint32_t nr = trie_leaves(&gatherer->trie, set->nodes, set->nr);
	int error = tally_unit(&gatherer->tally, &unit, set->nodes, nr);

	gatherer->event.nr = 0;
	gatherer->rest.nr = 0;
	return error;
}

static void forget(struct gatherer *gatherer)
{
	cutter_reset(&gatherer->cutter, false);
	gatherer->event.nr = gatherer->next.nr = gatherer->rest.nr = 0;
	gatherer->in_event = gatherer->is_event_marked = gatherer->in_chain = false;
	gatherer->fd = gatherer->next_fd = -1;
	gatherer->nr_placed = 0;
	tally_forget_hits(&gatherer->tally);
}

/* A new event begins by the course of the loop: it may or may not be marked. */
static int begin_event(struct gatherer *gatherer, bool is_chain)
{
	int error;

	if (gatherer->in_chain)
		gatherer->next.nr = 0;
	error = path_set_take(&gatherer->event, &gatherer->next);
	gatherer->in_event = true;
	gatherer->is_event_marked = false;
	gatherer->in_chain = is_chain;
	return error;
}

static int mark(struct gatherer *gatherer, const struct pass *pass, uint64_t at_ns)
{
	uint64_t start_ns = 0;
	int error = 0;

	if (cutter_mark(&gatherer->cutter, at_ns, &start_ns) == CUTTER_UNIT)
		error = close_unit(gatherer, pass, start_ns, at_ns);
	if (!gatherer->is_event_marked && !error) {
		if (gatherer->in_chain)
			gatherer->next.nr = 0;
		error = path_set_take(&gatherer->event, &gatherer->next);
	}
	gatherer->is_event_marked = true;
	gatherer->in_chain = false;
	gatherer->fd = gatherer->next_fd;
	return error;
}

/* To which set does the call of the last frame belong? */
static int place_call(struct gatherer *gatherer, const struct pass *pass, uint32_t node)
{
	const struct course *course = &gatherer->courses[pass->loop];

	switch (mode_of(gatherer, pass)) {
	case COURSE_PLAIN:
		return path_set_add(&gatherer->event, node);
	case COURSE_SEGMENTS:
		/* Back in the loop's function: the chain did the waiting only. */
		if (pass->walk.nr_frames == 1 && !course_is_chain(course, pass) &&
		    gatherer->in_chain) {
			gatherer->next.nr = 0;
			gatherer->in_chain = false;
		}
		break;
	case COURSE_DISPATCH:
		if (!gatherer->in_event)
			return path_set_add(&gatherer->rest, node);
		break;
	}
	return path_set_add(gatherer->is_event_marked ? &gatherer->event : &gatherer->next, node);
}

static int on_call(struct pass *pass, void *arg)
{
	struct gatherer *gatherer = arg;
	const struct course *course = &gatherer->courses[pass->loop];
	const struct walk_frame *frame = &pass->walk.frames[pass->walk.nr_frames - 1];
	bool is_chain = mode_of(gatherer, pass) == COURSE_SEGMENTS && course_is_chain(course, pass);
	uint32_t node;
	int error = place_frame(gatherer, pass, &node);

	if (error)
		return error;
	if (course->mode == COURSE_DISPATCH && gatherer->in_event)
		gatherer->in_event = course_is_under_dispatch(course, pass);
	if (is_chain || course_is_dispatch(course, pass))
		error = begin_event(gatherer, is_chain);
	if (!error && pass->is_whole && markers_has_site(&gatherer->markers[pass->loop], pass)) {
		gatherer->next_fd = -1;
		error = mark(gatherer, pass, pass->event->time_ns);
	}
	if (!error && gatherer->cutter.is_running)
		error = tally_hit(&gatherer->tally, frame->function,
				  (uint32_t)(pass->loop_sp - frame->sp), node);
	if (!error)
		error = place_call(gatherer, pass, node);
	return error;
}

static int on_syscall(struct pass *pass, void *arg)
{
	struct gatherer *gatherer = arg;

	if (!pass->is_whole || !markers_has_call(&gatherer->markers[pass->loop], pass))
		return 0;
	gatherer->next_fd = (int32_t)pass->event->sp;
	return mark(gatherer, pass, pass->enter->time_ns);
}

static int on_wait(struct pass *pass, void *arg)
{
	struct gatherer *gatherer = arg;
	uint32_t context = pass_context(pass);
	enum cutter_end end;
	uint64_t start_ns = 0;
	int error;

	gatherer->is_boundary = context != TRACE_NONE && !gatherer->dropped[context];
	if (!gatherer->is_boundary)
		return 0;
	kins_note(&gatherer->kins, pass, context);
	error = own_waits_note(&gatherer->own_waits, &gatherer->courses[pass->loop], pass,
			       gatherer->kins.first[context]);
	if (error)
		return error;
	end = cutter_wait(&gatherer->cutter, &start_ns);
	if (mode_of(gatherer, pass) == COURSE_DISPATCH)
		error = path_set_take(&gatherer->event, &gatherer->next);
	else
		gatherer->next.nr = 0;
	if (!error && end == CUTTER_UNIT)
		error = close_unit(gatherer, pass, start_ns, pass->event->time_ns);
	gatherer->event.nr = gatherer->rest.nr = 0;
	gatherer->in_event = gatherer->is_event_marked = false;
	/* The chain may have been called before the loop was known. */
	gatherer->in_chain = mode_of(gatherer, pass) == COURSE_SEGMENTS;
	tally_forget_hits(&gatherer->tally);
	return error;
}

static int on_wake(struct pass *pass, void *arg)
{
	struct gatherer *gatherer = arg;
	uint32_t syscall = trace_number(pass->event) & TRACE_SYSCALL_MASK;

	if (!gatherer->is_boundary || !pass->is_whole ||
	    !pass_wake_begins(syscall, (int64_t)pass->event->value))
		return 0;
	cutter_wake(&gatherer->cutter, pass->event->time_ns);
	gatherer->cutter.has_empty = gatherer->markers[pass->loop].has_empty;
	gatherer->fd = gatherer->next_fd = pass_reads(syscall) ? (int32_t)pass->event->sp : -1;
	return 0;
}

static int on_begin(struct pass *pass, void *arg)
{
	struct gatherer *gatherer = arg;

	(void)pass;
	gatherer->is_boundary = false;
	gatherer->nr_placed = 0;
	return 0;
}

static int on_leave(struct pass *pass, void *arg)
{
	struct gatherer *gatherer = arg;

	gatherer->loops[pass->loop].cut_off += gatherer->cutter.is_running;
	forget(gatherer);
	return 0;
}

static int on_foreign(struct pass *pass, void *arg)
{
	struct gatherer *gatherer = arg;

	gatherer->loops[pass->loop].foreign_stack++;
	return 0;
}

static int add_boundary(struct samples_loop *loop, const struct samples_boundary *boundary)
{
	struct samples_boundary *grown;

	for (uint32_t i = 0; i < loop->nr_boundaries; i++) {
		const struct samples_boundary *known = &loop->boundaries[i];

		if (known->role == boundary->role && known->syscall == boundary->syscall &&
		    known->object == boundary->object &&
		    known->return_offset == boundary->return_offset &&
		    known->distance == boundary->distance &&
		    known->function == boundary->function)
			return 0;
	}
	grown = reallocarray(loop->boundaries, loop->nr_boundaries + 1, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	loop->boundaries = grown;
	grown[loop->nr_boundaries++] = *boundary;
	return 0;
}

static bool has_wait(const struct samples_loop *loop)
{
	for (uint32_t i = 0; i < loop->nr_boundaries; i++)
		if (loop->boundaries[i].role == SAMPLES_ROLE_WAIT)
			return true;
	return false;
}

/*
 * The waits as the loop's frame sees them; else, as they were recorded.  So are
 * those that no thread came to in this stage: where idle threads sleep, a load
 * that lets none be idle does not lead.
 */
static int add_waits(struct gatherer *gatherer)
{
	const struct pass_input *input = gatherer->input;
	int error = 0;

	for (uint32_t i = 0; i < gatherer->own_waits.nr && !error; i++) {
		const struct own_wait *wait = &gatherer->own_waits.entries[i];

		if (own_waits_counts(&gatherer->own_waits, wait))
			error = add_boundary(&gatherer->loops[wait->loop], &wait->boundary);
	}
	for (uint32_t i = 0; i < input->trace->nr_contexts && !error; i++) {
		const struct trace_context *context = &input->trace->contexts[i];
		struct samples_loop *loop = &gatherer->loops[input->loops.of_context[i]];

		if (!loop->comm[0])
			memcpy(loop->comm, context->comm, sizeof(loop->comm));
		if (gatherer->dropped[i] ||
		    (has_wait(loop) && loop->boundaries[0].rise &&
		     kins_waited(&gatherer->kins, i)))
			continue;
		error = add_boundary(loop, &(struct samples_boundary){
			.role = SAMPLES_ROLE_WAIT,
			.syscall = context->syscall,
			.object = context->object,
			.return_offset = context->return_offset,
			.distance = context->distance,
			.function = SAMPLES_NONE,
		});
	}
	return error;
}

/* The loops as samples have them, with waits and markers. */
static int make_loops(struct gatherer *gatherer)
{
	const struct pass_input *input = gatherer->input;
	int error = add_waits(gatherer);

	for (uint32_t i = 0; i < input->loops.nr && !error; i++) {
		gatherer->loops[i].function = gatherer->courses[i].owner;
		gatherer->loops[i].has_empty = gatherer->markers[i].has_empty;
		for (uint32_t j = 0; j < gatherer->markers[i].nr && !error; j++)
			error = add_boundary(&gatherer->loops[i],
					     &gatherer->markers[i].boundaries[j]);
	}
	return error;
}

static int run(struct gatherer *gatherer, struct samples *samples)
{
	const struct pass_ops ops = {
		.begin = on_begin,
		.call = on_call,
		.wait = on_wait,
		.wake = on_wake,
		.syscall = on_syscall,
		.leave = on_leave,
		.foreign = on_foreign,
	};
	const struct trace *trace = gatherer->input->trace;
	int error = pass_run(gatherer->input, &ops, gatherer);

	if (!error)
		error = make_loops(gatherer);
	if (!error)
		error = samples_copy_code(samples, trace->objects, trace->nr_objects,
					  trace->functions, trace->nr_functions);
	if (error)
		return error;
	samples->nodes = gatherer->trie.nodes;
	samples->nr_nodes = gatherer->trie.nr;
	gatherer->trie.nodes = NULL;
	samples->loops = gatherer->loops;
	samples->nr_loops = gatherer->input->loops.nr;
	gatherer->loops = NULL;
	samples->runs = 1;
	samples->lost = gatherer->input->trace->lost;
	return tally_finish(&gatherer->tally, samples);
}

static void gatherer_deinit(struct gatherer *gatherer, uint32_t nr_loops)
{
	for (uint32_t i = 0; gatherer->loops && i < nr_loops; i++)
		free(gatherer->loops[i].boundaries);
	free(gatherer->loops);
	kins_deinit(&gatherer->kins);
	trie_deinit(&gatherer->trie);
	tally_deinit(&gatherer->tally);
	own_waits_deinit(&gatherer->own_waits);
	free(gatherer->event.nodes);
	free(gatherer->next.nodes);
	free(gatherer->rest.nodes);
	free(gatherer->node_of_frame);
}

static int gather_cut(const struct pass_input *input, struct samples *samples,
		      struct gather_result *result)
{
	struct gatherer gatherer = { .input = input };
	struct course *courses = NULL;
	struct markers *markers = NULL;
	bool *dropped = NULL;
	int error = courses_find(input, &courses);

	if (!error)
		error = markers_find(input, courses, &markers, &dropped);
	gatherer.courses = courses;
	gatherer.markers = markers;
	gatherer.dropped = dropped;
	gatherer.loops = calloc(input->loops.nr + 1, sizeof(*gatherer.loops));
	if (!gatherer.loops && !error)
		error = -ENOMEM;
	if (!error)
		error = kins_init(&gatherer.kins, input);
	if (!error)
		error = trie_init(&gatherer.trie);
	if (!error)
		error = tally_init(&gatherer.tally, input->loops.nr);
	if (!error)
		error = run(&gatherer, samples);
	if (!error && result)
		tally_give_units(&gatherer.tally, result);
	gatherer_deinit(&gatherer, input->loops.nr);
	if (markers)
		markers_free(markers, input->loops.nr);
	free(courses);
	free(dropped);
	return error;
}

int gather(const struct trace *trace, struct samples *samples, struct gather_result *result)
{
	struct pass_input input;
	int error = pass_input_init(&input, trace);

	*samples = (struct samples){ 0 };
	if (result)
		*result = (struct gather_result){ 0 };
	if (error)
		return error;
	error = gather_cut(&input, samples, result);
	if (!error)
		error = samples_hash_all(samples, NULL);
	pass_input_deinit(&input);
	if (error) {
		samples_deinit(samples);
		if (result)
			gather_result_deinit(result);
	}
	return error;
}

void gather_result_deinit(struct gather_result *result)
{
	free(result->units);
	*result = (struct gather_result){ 0 };
}
