// SPDX-License-Identifier: GPL-2.0

#include "train/loops/loop-shape.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "train/loops/wait-shape.h"

enum {
	REPEAT_LEVELS = 3, /* the same for a call that is repeated */
	NEAR_LEVELS = 5, /* calls from the loop's frame in which a dispatch may be */
	MAX_CALLEES = 8, /* of a dispatch, distinguished */
	MAX_GROUPS = 256, /* of a loop; there are few except in code that makes no sense */
	TINY_CALLS = 8, /* an iteration with fewer says nothing */
	NR_SIZES = 4 * 32,
};

/* It is made in this share of the iterations with work, and has, */
static const double OFTEN = 0.2;
/* in this share of those, most of their work under it. */
static const double MOST_ITERATIONS = 0.5;
static const double MOST_WORK = 0.6;
/* Nearly all waits are for any of several things; they bring several at once. */
static const double NEARLY_ALL = 0.9;
/* A queue that is taken from without a wait is no case for a dispatch. */
static const double SELDOM = 0.05;
/* Iterations that differ from their wait by less are taken for accidents. */
static const double ACCIDENTS = 0.002;

/* Calls that may dispatch, and what was counted of them. */
struct dispatch_group {
	struct loop_shape_dispatch dispatch;
	bool has_wait; /* the loop waits under it */
	uint64_t repeated; /* iterations in which it was made more than once */
	uint64_t work; /* calls under it, over all iterations */
	uint64_t present; /* iterations with work in which it was made */
	uint64_t iterations; /* with most of their work under it */
	uint32_t callees[MAX_CALLEES];
	uint32_t nr_callees;
	uint32_t most; /* in an iteration */
	/* In the iteration at hand. */
	uint32_t here;
	uint64_t calls;
};

/* What is counted of a loop. */
struct survey {
	struct loop_shape *shape;
	struct dispatch_group *groups;
	uint32_t nr_groups;
	size_t max_groups;
	uint64_t of_many; /* waits for any of several things */
	bool sleeps; /* in some wait */
	uint64_t iterations;
	uint64_t unbroken; /* iterations without a wait */
	uint64_t repeated; /* waits in an iteration that had one */
	uint64_t worked; /* iterations that are not tiny */
	uint64_t work; /* calls in them */
	uint64_t sizes[NR_SIZES]; /* of those, by calls: powers of two, each in four */
};

struct surveyor {
	struct survey *surveys; /* by loop */
	bool *never_sleeps; /* by context */
	uint32_t context; /* of the wait the thread is in */
	/* The thread's iteration. */
	uint64_t calls;
	uint32_t waits;
	bool is_open;
	uint32_t of_level[NEAR_LEVELS]; /* group by which the frame was called */
};

static bool is_site(const struct loop_shape_site *site, const struct call_frame *frame)
{
	return site->object == frame->object && site->offset == frame->return_offset;
}

/* True if the frame's function was called, and not jumped to by the one that was. */
static bool is_callee(const struct call_frame *frame)
{
	return !frame->call || frame->call->callee == TRACE_NONE ||
	       frame->call->callee == frame->function;
}

bool loop_shape_leads_to_wait(const struct loop_shape *shape, const struct call_frame *frame)
{
	for (uint32_t i = 0; i < shape->nr_wait_calls; i++)
		if (is_site(&shape->wait_calls[i], frame))
			return true;
	return false;
}

bool loop_shape_is_wait_call(const struct loop_shape *shape, const struct trace_pass *pass)
{
	return pass->stack.nr_frames == 1 && is_callee(trace_pass_frame(pass)) &&
	       loop_shape_leads_to_wait(shape, trace_pass_frame(pass));
}

/* The calls that the last frame's belongs to, if they may dispatch. */
static bool dispatch_of(const struct loop_shape *shape, const struct trace_pass *pass,
			struct loop_shape_dispatch *ret)
{
	uint32_t nr_frames = pass->stack.nr_frames;
	const struct call_frame *frame = trace_pass_frame(pass);

	*ret = (struct loop_shape_dispatch){ .function = TRACE_NONE };
	if (!frame->call || (nr_frames == 1 && loop_shape_leads_to_wait(shape, frame)))
		return false;
	if (frame->call->is_indirect) {
		if (nr_frames > NEAR_LEVELS || !frame->call->is_in_loop ||
		    (nr_frames > 1 && frame->call->caller != frame[-1].function))
			return false;
	} else {
		if (nr_frames > REPEAT_LEVELS || !is_callee(frame))
			return false;
		ret->is_direct = true;
		ret->site.object = frame->object;
		ret->site.offset = frame->return_offset;
	}
	if (nr_frames > 1) {
		ret->function = frame[-1].function;
		ret->depth = (uint32_t)(pass->loop_sp - frame[-1].sp);
	}
	return true;
}

static bool is_same_dispatch(const struct loop_shape_dispatch *a,
			     const struct loop_shape_dispatch *b)
{
	return a->function == b->function && a->depth == b->depth &&
	       a->is_direct == b->is_direct && a->site.object == b->site.object &&
	       a->site.offset == b->site.offset;
}

static bool is_repeat(const struct loop_shape *shape, const struct trace_pass *pass, uint32_t level)
{
	const struct call_frame *frame = &pass->stack.frames[level];
	uint64_t caller_sp = level ? frame[-1].sp : pass->loop_sp;

	return is_site(&shape->dispatch.site, frame) && is_callee(frame) &&
	       pass->loop_sp - caller_sp == shape->dispatch.depth;
}

bool loop_shape_is_dispatch(const struct loop_shape *shape, const struct trace_pass *pass)
{
	struct loop_shape_dispatch dispatch;

	if (shape->dispatch.is_direct)
		return is_repeat(shape, pass, pass->stack.nr_frames - 1);
	return shape->mode == LOOP_SHAPE_DISPATCH && dispatch_of(shape, pass, &dispatch) &&
	       is_same_dispatch(&dispatch, &shape->dispatch);
}

bool loop_shape_is_under_dispatch(const struct loop_shape *shape, const struct trace_pass *pass)
{
	for (uint32_t i = 0; i < pass->stack.nr_frames; i++) {
		const struct call_frame *frame = &pass->stack.frames[i];
		uint64_t caller_sp = i ? pass->stack.frames[i - 1].sp : pass->loop_sp;

		if (pass->loop_sp - caller_sp > shape->dispatch.depth)
			break;
		if (shape->dispatch.is_direct && is_repeat(shape, pass, i))
			return true;
		if (shape->dispatch.is_direct)
			continue;
		if (pass->loop_sp - caller_sp == shape->dispatch.depth)
			return frame->call && frame->call->is_indirect && frame->call->is_in_loop &&
			       (i || !loop_shape_leads_to_wait(shape, frame));
	}
	return false;
}

/* First trace pass: by which calls the loop's function comes to its wait. */
static int note_wait_call(struct trace_pass *pass, void *arg)
{
	struct surveyor *surveyor = arg;
	struct survey *survey = &surveyor->surveys[pass->loop];
	struct loop_shape *shape = survey->shape;
	const struct call_frame *frame = pass->stack.frames;
	struct loop_shape_site *site = shape->wait_calls;

	surveyor->context = trace_pass_context(pass);
	shape->waits++;
	survey->of_many +=
		shape_kind_of(trace_syscall(pass->event)) == SHAPE_MANY;
	if (!pass->stack.nr_frames || frame->object == TRACE_NONE)
		return 0;
	if (frame->call)
		shape->owner = frame->call->caller;
	while (site < shape->wait_calls + shape->nr_wait_calls && !is_site(site, frame))
		site++;
	if (site == shape->wait_calls + LOOP_SHAPE_MAX_WAIT_CALLS)
		return 0;
	if (site == shape->wait_calls + shape->nr_wait_calls) {
		*site = (struct loop_shape_site){
			.object = frame->object,
			.offset = frame->return_offset,
		};
		shape->nr_wait_calls++;
	}
	return 0;
}

/* And which waits never sleep. */
static int note_wake(struct trace_pass *pass, void *arg)
{
	struct surveyor *surveyor = arg;

	if (surveyor->context != TRACE_NONE && (int64_t)pass->event->value == -EAGAIN &&
	    trace_pass_reads(trace_syscall(pass->event)))
		surveyor->never_sleeps[surveyor->context] = true;
	return 0;
}

/* A loop keeps the waits that sleep, at least one. */
static void keep_sleeping(struct surveyor *surveyor, const struct trace_pass_input *input)
{
	const uint32_t *of_context = input->contexts.loop_of;

	for (uint32_t i = 0; i < input->trace->nr_contexts; i++)
		surveyor->surveys[of_context[i]].sleeps |= !surveyor->never_sleeps[i];
	for (uint32_t i = 0; i < input->trace->nr_contexts; i++)
		surveyor->never_sleeps[i] &= surveyor->surveys[of_context[i]].sleeps;
}

/* Sizes of 4 calls and more; a quarter of a power of two is near enough. */
static uint32_t size_bucket(uint64_t calls)
{
	uint32_t shift = 0;

	for (; calls >= 8; calls /= 2)
		shift++;
	shift = shift * 4 + (uint32_t)(calls & 3);
	return shift < NR_SIZES ? shift : NR_SIZES - 1;
}

static uint32_t typical_size(const struct survey *survey)
{
	uint64_t seen = 0;

	for (uint32_t i = 0; i < NR_SIZES; i++) {
		seen += survey->sizes[i];
		if (2 * seen > survey->worked)
			return (uint32_t)((4 + (uint64_t)i % 4) << (i / 4));
	}
	return 0;
}

static void close_iteration(struct surveyor *surveyor, struct survey *survey)
{
	bool worked = surveyor->calls >= TINY_CALLS;

	if (surveyor->is_open) {
		survey->iterations++;
		survey->unbroken += !surveyor->waits;
		survey->repeated += surveyor->waits > 1 ? surveyor->waits - 1 : 0;
		survey->worked += worked;
		survey->work += worked ? surveyor->calls : 0;
		survey->sizes[size_bucket(surveyor->calls)] += worked;
	}
	for (uint32_t i = 0; i < survey->nr_groups; i++) {
		struct dispatch_group *group = &survey->groups[i];

		if (surveyor->is_open && worked && group->here) {
			group->present++;
			group->repeated += group->here > 1;
			group->work += group->calls;
			group->iterations +=
				(double)group->calls >= MOST_WORK * (double)surveyor->calls;
		}
		if (surveyor->is_open && group->here > group->most)
			group->most = group->here;
		group->here = 0;
		group->calls = 0;
	}
	surveyor->calls = 0;
	surveyor->waits = 0;
	surveyor->is_open = false;
	for (uint32_t i = 0; i < NEAR_LEVELS; i++)
		surveyor->of_level[i] = TRACE_NONE;
}

/* *@ret is TRACE_NONE if there are too many. */
static int group_get(struct survey *survey, const struct loop_shape_dispatch *dispatch,
		     uint32_t *ret)
{
	for (uint32_t i = 0; i < survey->nr_groups; i++) {
		if (is_same_dispatch(&survey->groups[i].dispatch, dispatch)) {
			*ret = i;
			return 0;
		}
	}
	*ret = TRACE_NONE;
	if (survey->nr_groups == MAX_GROUPS)
		return 0;
	if (array_grow(survey->groups, survey->nr_groups, survey->max_groups))
		return -ENOMEM;
	*ret = survey->nr_groups++;
	survey->groups[*ret] = (struct dispatch_group){ .dispatch = *dispatch };
	return 0;
}

static void note_callee(struct dispatch_group *group, uint32_t function)
{
	for (uint32_t i = 0; i < group->nr_callees; i++)
		if (group->callees[i] == function)
			return;
	if (group->nr_callees < MAX_CALLEES)
		group->callees[group->nr_callees++] = function;
}

/* Second trace pass: the iterations, and what is under which call of them. */
static int note_call(struct trace_pass *pass, void *arg)
{
	struct surveyor *surveyor = arg;
	struct survey *survey = &surveyor->surveys[pass->loop];
	uint32_t level = pass->stack.nr_frames - 1, group = TRACE_NONE;
	struct loop_shape_dispatch dispatch;
	int error;

	if (loop_shape_is_wait_call(survey->shape, pass)) {
		close_iteration(surveyor, survey);
		surveyor->is_open = true;
	}
	surveyor->calls++;
	if (level < NEAR_LEVELS) {
		surveyor->of_level[level] = TRACE_NONE;
		if (dispatch_of(survey->shape, pass, &dispatch)) {
			error = group_get(survey, &dispatch, &group);
			if (error)
				return error;
		}
		if (group != TRACE_NONE) {
			surveyor->of_level[level] = group;
			survey->groups[group].here++;
			note_callee(&survey->groups[group], trace_pass_frame(pass)->function);
		}
	}
	for (uint32_t i = 0; i <= level && i < NEAR_LEVELS; i++)
		if (surveyor->of_level[i] != TRACE_NONE)
			survey->groups[surveyor->of_level[i]].calls++;
	return 0;
}

static int note_wait(struct trace_pass *pass, void *arg)
{
	struct surveyor *surveyor = arg;
	struct survey *survey = &surveyor->surveys[pass->loop];

	for (uint32_t i = 0; i < pass->stack.nr_frames && i < NEAR_LEVELS; i++)
		if (surveyor->of_level[i] != TRACE_NONE)
			survey->groups[surveyor->of_level[i]].has_wait = true;
	surveyor->waits++;
	return 0;
}

/* What was cut off counts in nothing. */
static int note_leave(struct trace_pass *pass, void *arg)
{
	struct surveyor *surveyor = arg;

	surveyor->is_open = false;
	close_iteration(surveyor, &surveyor->surveys[pass->loop]);
	return 0;
}

/*
 * True if the calls of @group could each handle an event.  A queue holds little things
 * too, so a call that is repeated has to have most of the work of all; and what
 * nearly all iterations repeat is a step of one event.
 */
static bool may_dispatch(const struct survey *survey, const struct dispatch_group *group,
			 bool brings_many)
{
	if (group->dispatch.is_direct)
		return !brings_many && !group->has_wait &&
		       (double)group->work >= MOST_WORK * (double)survey->work &&
		       (double)group->repeated <= NEARLY_ALL * (double)group->present &&
		       (double)group->repeated > ACCIDENTS * (double)group->present;
	return brings_many && (group->nr_callees >= 2 || group->most >= 2);
}

/* The dispatch nearest to the loop, if there is one. */
static const struct dispatch_group *find_dispatch(const struct survey *survey)
{
	const struct dispatch_group *best = NULL;
	bool brings_many;

	brings_many = (double)survey->of_many >= NEARLY_ALL * (double)survey->shape->waits &&
		      (double)survey->unbroken <= SELDOM * (double)survey->iterations;
	for (uint32_t i = 0; i < survey->nr_groups; i++) {
		const struct dispatch_group *group = &survey->groups[i];

		if ((double)group->present < OFTEN * (double)survey->worked ||
		    (double)group->iterations < MOST_ITERATIONS * (double)group->present)
			continue;
		if (!may_dispatch(survey, group, brings_many))
			continue;
		if (!best || group->dispatch.depth < best->dispatch.depth)
			best = group;
	}
	return best;
}

static void decide(struct survey *survey)
{
	struct loop_shape *shape = survey->shape;
	const struct dispatch_group *group = find_dispatch(survey);
	double odd = (double)(survey->unbroken + survey->repeated);

	shape->typical_calls = typical_size(survey);
	if (group) {
		shape->mode = LOOP_SHAPE_DISPATCH;
		shape->dispatch = group->dispatch;
	} else if (odd > ACCIDENTS * (double)survey->iterations) {
		shape->mode = LOOP_SHAPE_ITERATIONS;
	}
}

int loop_shapes_find(const struct trace_pass_input *input, struct loop_shape **ret,
		     bool **ret_droppable)
{
	const struct trace_pass_ops first = { .wait = note_wait_call, .wake = note_wake };
	const struct trace_pass_ops second = {
		.call = note_call,
		.wait = note_wait,
		.leave = note_leave,
	};
	uint32_t nr = input->contexts.nr_loops;
	struct surveyor surveyor = {
		.surveys = calloc(nr + 1, sizeof(*surveyor.surveys)),
		.never_sleeps = calloc(input->trace->nr_contexts + 1, sizeof(bool)),
		.context = TRACE_NONE,
	};
	struct loop_shape *shapes = calloc(nr + 1, sizeof(*shapes));
	int error = surveyor.surveys && surveyor.never_sleeps && shapes ? 0 : -ENOMEM;

	for (uint32_t i = 0; !error && i < nr; i++) {
		surveyor.surveys[i].shape = &shapes[i];
		shapes[i].owner = TRACE_NONE;
		shapes[i].dispatch.function = TRACE_NONE;
	}
	for (uint32_t i = 0; i < NEAR_LEVELS; i++)
		surveyor.of_level[i] = TRACE_NONE;
	error = error ?: trace_pass_run(input, &first, &surveyor);
	error = error ?: trace_pass_run(input, &second, &surveyor);
	if (!error)
		keep_sleeping(&surveyor, input);
	for (uint32_t i = 0; !error && i < nr; i++)
		decide(&surveyor.surveys[i]);
	for (uint32_t i = 0; surveyor.surveys && i < nr; i++)
		free(surveyor.surveys[i].groups);
	free(surveyor.surveys);
	*ret = shapes;
	*ret_droppable = surveyor.never_sleeps;
	return error;
}
