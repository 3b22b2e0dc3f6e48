/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How the iterations of an event loop go, and where in them an event is
 * handled.
 *
 * The call of the loop's function that leads to the wait is its wait call.  It
 * recurs in each iteration, whether it waits or not: a queue that is not empty
 * is taken from without a system call.  So an iteration goes from one wait call
 * to the next, not from wait to wait.
 *
 * One iteration can handle several events, if the wait brings several at once.
 * Then there is a dispatch: an indirect call in a natural loop, few calls from
 * the loop's frame, under which most of the work is done, and which leads to
 * several functions or is made several times in an iteration.
 *
 * A thread that takes work from a queue can find more than one event in what it
 * took: a connection with several requests.  Then most of an iteration's work is
 * under one call, made once for each.  It is treated as the dispatch, too.
 */
#ifndef _USER_TRAIN_LOOPS_LOOP_SHAPE_H
#define _USER_TRAIN_LOOPS_LOOP_SHAPE_H

#include <stdbool.h>
#include <stdint.h>

#include "train/trace/trace-pass.h"

enum {
	LOOP_SHAPE_MAX_WAIT_CALLS = 8,
};

/* A place that a call returns to. */
struct loop_shape_site {
	uint32_t object;
	uint64_t offset;
};

enum loop_shape_mode {
	LOOP_SHAPE_PLAIN, /* from wait to wait there is one event */
	LOOP_SHAPE_ITERATIONS, /* one event an iteration, but not one wait */
	LOOP_SHAPE_DISPATCH, /* one event a call of the dispatch */
};

/* Calls that each handle an event: those of one function, at one depth. */
struct loop_shape_dispatch {
	uint32_t function; /* that dispatches: TRACE_NONE for the loop's own */
	uint32_t depth; /* of its frame */
	/* One call that an iteration makes again and again; else indirect calls in a loop. */
	bool is_direct;
	struct loop_shape_site site; /* of the direct call */
};

struct loop_shape {
	enum loop_shape_mode mode;
	struct loop_shape_site wait_calls[LOOP_SHAPE_MAX_WAIT_CALLS];
	uint32_t nr_wait_calls;
	uint32_t owner; /* the loop's function; TRACE_NONE if it carries no site */
	uint64_t waits;
	uint32_t typical_calls; /* of the iterations with work, half have fewer */
	struct loop_shape_dispatch dispatch; /* in that mode only */
};

/*
 * One shape for each loop of the input.  *@ret_droppable says by trace_context
 * which waits never sleep, while others of their loop do.  Both are the
 * caller's to free.  Returns 0 or -ENOMEM.
 */
int loop_shapes_find(const struct trace_pass_input *input, struct loop_shape **ret,
		     bool **ret_droppable);

/* By this call, as the outermost one, the loop's function comes to its wait. */
bool loop_shape_leads_to_wait(const struct loop_shape *shape, const struct call_frame *frame);

/* True if the last frame of the stack is a wait call of its loop. */
bool loop_shape_is_wait_call(const struct loop_shape *shape, const struct trace_pass *pass);

/* True if the last frame of the stack is called by the dispatch. */
bool loop_shape_is_dispatch(const struct loop_shape *shape, const struct trace_pass *pass);

/*
 * True if the last frame of the stack, which was under the dispatch or may be, is so
 * still.  If not, the dispatcher's callee is gone, or it calls others.
 */
bool loop_shape_is_under_dispatch(const struct loop_shape *shape, const struct trace_pass *pass);

#endif /* _USER_TRAIN_LOOPS_LOOP_SHAPE_H */
