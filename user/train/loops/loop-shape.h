/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How the iterations of an event loop go, and where in them an event is
 * handled.
 *
 * The call of the loop's function that leads to the wait is its chain.  It
 * recurs in each iteration, whether it waits or not: a queue that is not empty
 * is taken from without a system call.  So an iteration, called segment, goes
 * from one chain call to the next, not from wait to wait.
 *
 * One segment can handle several events, if the wait brings several at once.
 * Then there is a dispatch: an indirect call in a natural loop, few calls from
 * the loop's frame, under which most of the work is done, and which leads to
 * several functions or is made several times in a segment.
 *
 * A thread that takes work from a queue can find more than one event in what it
 * took: a connection with several requests.  Then most of a segment's work is
 * under one call, made once for each.  It is treated as the dispatch, too.
 */
#ifndef _USER_TRAIN_LOOPS_LOOP_SHAPE_H
#define _USER_TRAIN_LOOPS_LOOP_SHAPE_H

#include <stdbool.h>
#include <stdint.h>

#include "train/trace/trace-pass.h"

enum {
	COURSE_MAX_CHAINS = 8,
};

/* A place that a call returns to. */
struct course_site {
	uint32_t object;
	uint64_t offset;
	uint64_t seen;
};

enum course_mode {
	COURSE_PLAIN, /* from wait to wait there is one event */
	COURSE_SEGMENTS, /* one event a segment, but not one wait a segment */
	COURSE_DISPATCH, /* one event a call of the dispatch */
};

struct course {
	enum course_mode mode;
	struct course_site chains[COURSE_MAX_CHAINS]; /* most seen first */
	uint32_t nr_chains;
	uint32_t owner; /* the loop's function; TRACE_NONE if it carries no site */
	uint64_t waits;
	uint64_t segments;
	uint64_t unbroken; /* segments without a wait */
	uint64_t repeated; /* waits in a segment that had one */
	uint32_t typical_calls; /* of the segments with work, half have fewer */
	/* The function that dispatches: TRACE_NONE for the loop's own. */
	uint32_t dispatcher;
	uint32_t dispatcher_depth; /* of its frame */
	uint64_t dispatches;
	uint32_t most_dispatches; /* in one segment */
	/* The dispatch is one call that a segment makes again and again, here. */
	bool is_repeat;
	struct course_site repeat;
};

/* One course for each loop of the input, malloc'ed.  Returns 0 or -ENOMEM. */
int courses_find(const struct pass_input *input, struct course **ret);

/* The last frame of the walk: is it a chain call of its loop? */
bool course_is_chain(const struct course *course, const struct pass *pass);

/* The last frame of the walk: is it called by the dispatch? */
bool course_is_dispatch(const struct course *course, const struct pass *pass);

/*
 * The last frame of the walk, which was under the dispatch or may be: is it so
 * still?  The dispatcher's callee is gone, or it calls others.
 */
bool course_is_under_dispatch(const struct course *course, const struct pass *pass);

#endif /* _USER_TRAIN_LOOPS_LOOP_SHAPE_H */
