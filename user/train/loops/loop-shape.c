// SPDX-License-Identifier: GPL-2.0

#include "train/loops/loop-shape.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

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

/*
 * A function that makes indirect calls in a loop, at one depth; or one direct
 * call of it.
 */
struct group {
	uint32_t function;
	uint32_t depth;
	bool is_direct;
	struct loop_shape_site site; /* of a direct call */
	bool has_wait; /* the loop waits under it */
	uint64_t repeated; /* iterations in which it was made more than once */
	uint64_t work; /* calls under it, over all iterations */
	uint64_t dispatches;
	uint64_t present; /* iterations with work in which it was made */
	uint64_t iterations; /* with most of their work under it */
	uint32_t callees[MAX_CALLEES];
	uint32_t nr_callees;
	uint32_t most; /* in a iteration */
	/* In the iteration at hand. */
	uint32_t here;
	uint64_t calls;
};

/* What is counted of a loop. */
struct survey {
	struct loop_shape *shape;
	struct group *groups;
	uint32_t nr_groups;
	size_t max_groups;
	uint64_t worked; /* iterations that are not tiny */
	uint64_t work; /* calls in them */
	uint64_t sizes[NR_SIZES]; /* of those, by calls: powers of two, each in four */
	uint64_t of_many; /* waits for any of several things */
};

struct surveyor {
	struct survey *surveys; /* by loop */
	/* The thread's iteration. */
	uint64_t calls;
	uint32_t waits;
	bool is_open;
	uint32_t of_level[NEAR_LEVELS]; /* group by which the frame was called */
};

static const struct call_frame *last_frame(const struct trace_pass *pass)
{
	return &pass->stack.frames[pass->stack.nr_frames - 1];
}

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
	return pass->stack.nr_frames == 1 && is_callee(last_frame(pass)) &&
	       loop_shape_leads_to_wait(shape, last_frame(pass));
}

/*
 * The function that called the last frame, and the depth of its frame; if it is
 * one that may dispatch, and not the loop's on the way to its wait.
 */
static bool dispatcher_of(const struct loop_shape *shape, const struct trace_pass *pass,
			  uint32_t *ret_function, uint32_t *ret_depth)
{
	const struct call_stack *stack = &pass->stack;
	const struct call_frame *frame = last_frame(pass);

	if (stack->nr_frames > NEAR_LEVELS || !frame->call || !frame->call->is_indirect ||
	    !frame->call->is_in_loop)
		return false;
	if (stack->nr_frames == 1 && loop_shape_leads_to_wait(shape, frame))
		return false;
	*ret_function = TRACE_NONE;
	*ret_depth = 0;
	if (stack->nr_frames > 1) {
		const struct call_frame *caller = frame - 1;

		if (frame->call->caller != caller->function)
			return false;
		*ret_function = caller->function;
		*ret_depth = (uint32_t)(pass->loop_sp - caller->sp);
	}
	return true;
}

/* The same of a direct call that a iteration may make for each of its events. */
static bool repeater_of(const struct loop_shape *shape, const struct trace_pass *pass,
			uint32_t *ret_function, uint32_t *ret_depth)
{
	const struct call_stack *stack = &pass->stack;
	const struct call_frame *frame = last_frame(pass);

	if (stack->nr_frames > REPEAT_LEVELS || !frame->call || frame->call->is_indirect ||
	    !is_callee(frame))
		return false;
	if (stack->nr_frames == 1 && loop_shape_leads_to_wait(shape, frame))
		return false;
	*ret_function = stack->nr_frames > 1 ? frame[-1].function : TRACE_NONE;
	*ret_depth = stack->nr_frames > 1 ? (uint32_t)(pass->loop_sp - frame[-1].sp) : 0;
	return true;
}

static bool is_repeat(const struct loop_shape *shape, const struct trace_pass *pass, uint32_t level)
{
	const struct call_frame *frame = &pass->stack.frames[level];
	uint64_t caller_sp = level ? frame[-1].sp : pass->loop_sp;

	return is_site(&shape->repeat, frame) && is_callee(frame) &&
	       pass->loop_sp - caller_sp == shape->dispatcher_depth;
}

bool loop_shape_is_dispatch(const struct loop_shape *shape, const struct trace_pass *pass)
{
	uint32_t function, depth;

	if (shape->is_repeat)
		return is_repeat(shape, pass, pass->stack.nr_frames - 1);
	return shape->mode == LOOP_SHAPE_DISPATCH &&
	       dispatcher_of(shape, pass, &function, &depth) && function == shape->dispatcher &&
	       depth == shape->dispatcher_depth;
}

bool loop_shape_is_under_dispatch(const struct loop_shape *shape, const struct trace_pass *pass)
{
	for (uint32_t i = 0; i < pass->stack.nr_frames; i++) {
		const struct call_frame *frame = &pass->stack.frames[i];
		uint64_t caller_sp = i ? pass->stack.frames[i - 1].sp : pass->loop_sp;

		if (pass->loop_sp - caller_sp > shape->dispatcher_depth)
			break;
		if (shape->is_repeat && is_repeat(shape, pass, i))
			return true;
		if (shape->is_repeat)
			continue;
		if (pass->loop_sp - caller_sp == shape->dispatcher_depth)
			return frame->call && frame->call->is_indirect && frame->call->is_in_loop &&
			       (i || !loop_shape_leads_to_wait(shape, frame));
	}
	return false;
}

/* First trace pass: by which calls the loop's function comes to its wait. */
static int note_wait_call(struct trace_pass *pass, void *arg)
{
	struct surveyor *surveyor = arg;
	struct loop_shape *shape = surveyor->surveys[pass->loop].shape;
	const struct call_frame *frame = pass->stack.frames;
	struct loop_shape_site *site = shape->wait_calls;

	shape->waits++;
	surveyor->surveys[pass->loop].of_many +=
		shape_kind_of(trace_number(pass->event) & TRACE_SYSCALL_MASK) == SHAPE_MANY;
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
	struct loop_shape *shape = survey->shape;
	bool worked = surveyor->calls >= TINY_CALLS;

	if (surveyor->is_open) {
		shape->iterations++;
		shape->unbroken += !surveyor->waits;
		shape->repeated += surveyor->waits > 1 ? surveyor->waits - 1 : 0;
		survey->worked += worked;
		survey->work += worked ? surveyor->calls : 0;
		survey->sizes[size_bucket(surveyor->calls)] += worked;
	}
	for (uint32_t i = 0; i < survey->nr_groups; i++) {
		struct group *group = &survey->groups[i];

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

static bool is_same_group(const struct group *a, const struct group *b)
{
	return a->function == b->function && a->depth == b->depth &&
	       a->is_direct == b->is_direct && a->site.object == b->site.object &&
	       a->site.offset == b->site.offset;
}

/* *@ret is TRACE_NONE if there are too many. */
static int group_get(struct survey *survey, const struct group *like, uint32_t *ret)
{
	for (uint32_t i = 0; i < survey->nr_groups; i++) {
		if (is_same_group(&survey->groups[i], like)) {
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
	survey->groups[*ret] = *like;
	return 0;
}

static void note_callee(struct group *group, uint32_t function)
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
	struct group like = { 0 };
	int error;

	if (loop_shape_is_wait_call(survey->shape, pass)) {
		close_iteration(surveyor, survey);
		surveyor->is_open = true;
	}
	surveyor->calls++;
	if (level < NEAR_LEVELS) {
		surveyor->of_level[level] = TRACE_NONE;
		if (repeater_of(survey->shape, pass, &like.function, &like.depth)) {
			like.is_direct = true;
			like.site.object = last_frame(pass)->object;
			like.site.offset = last_frame(pass)->return_offset;
		}
		if (like.is_direct ||
		    dispatcher_of(survey->shape, pass, &like.function, &like.depth)) {
			error = group_get(survey, &like, &group);
			if (error)
				return error;
		}
		if (group != TRACE_NONE) {
			surveyor->of_level[level] = group;
			survey->groups[group].here++;
			survey->groups[group].dispatches++;
			note_callee(&survey->groups[group], last_frame(pass)->function);
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
static bool may_dispatch(const struct survey *survey, const struct group *group,
			 bool brings_many)
{
	if (group->is_direct)
		return !brings_many && !group->has_wait &&
		       (double)group->work >= MOST_WORK * (double)survey->work &&
		       (double)group->repeated <= NEARLY_ALL * (double)group->present &&
		       (double)group->repeated > ACCIDENTS * (double)group->present;
	return brings_many && (group->nr_callees >= 2 || group->most >= 2);
}

/* The dispatch nearest to the loop, if there is one. */
static const struct group *find_dispatch(const struct survey *survey)
{
	const struct loop_shape *shape = survey->shape;
	const struct group *best = NULL;
	bool brings_many;

	brings_many = (double)survey->of_many >= NEARLY_ALL * (double)shape->waits &&
		      (double)shape->unbroken <= SELDOM * (double)shape->iterations;
	for (uint32_t i = 0; i < survey->nr_groups; i++) {
		const struct group *group = &survey->groups[i];

		if ((double)group->present < OFTEN * (double)survey->worked ||
		    (double)group->iterations < MOST_ITERATIONS * (double)group->present)
			continue;
		if (!may_dispatch(survey, group, brings_many))
			continue;
		if (!best || group->depth < best->depth)
			best = group;
	}
	return best;
}

static void decide(struct survey *survey)
{
	struct loop_shape *shape = survey->shape;
	const struct group *group = find_dispatch(survey);
	double odd = (double)(shape->unbroken + shape->repeated);

	shape->typical_calls = typical_size(survey);
	if (group) {
		shape->mode = LOOP_SHAPE_DISPATCH;
		shape->dispatcher = group->function;
		shape->dispatcher_depth = group->depth;
		shape->dispatches = group->dispatches;
		shape->most_dispatches = group->most;
		shape->is_repeat = group->is_direct;
		shape->repeat = group->site;
	} else if (odd > ACCIDENTS * (double)shape->iterations) {
		shape->mode = LOOP_SHAPE_ITERATIONS;
	}
}

int loop_shapes_find(const struct trace_pass_input *input, struct loop_shape **ret)
{
	const struct trace_pass_ops first = { .wait = note_wait_call };
	const struct trace_pass_ops second = {
		.call = note_call,
		.wait = note_wait,
		.leave = note_leave,
	};
	uint32_t nr = input->contexts.nr_loops;
	struct surveyor surveyor = { .surveys = calloc(nr + 1, sizeof(struct survey)) };
	struct loop_shape *shapes = calloc(nr + 1, sizeof(*shapes));
	int error = surveyor.surveys && shapes ? 0 : -ENOMEM;

	for (uint32_t i = 0; !error && i < nr; i++) {
		surveyor.surveys[i].shape = &shapes[i];
		shapes[i].owner = TRACE_NONE;
		shapes[i].dispatcher = TRACE_NONE;
	}
	for (uint32_t i = 0; i < NEAR_LEVELS; i++)
		surveyor.of_level[i] = TRACE_NONE;
	if (!error)
		error = trace_pass_run(input, &first, &surveyor);
	if (!error)
		error = trace_pass_run(input, &second, &surveyor);
	for (uint32_t i = 0; !error && i < nr; i++)
		decide(&surveyor.surveys[i]);
	for (uint32_t i = 0; surveyor.surveys && i < nr; i++)
		free(surveyor.surveys[i].groups);
	free(surveyor.surveys);
	if (error)
		free(shapes);
	else
		*ret = shapes;
	return error;
}
