// SPDX-License-Identifier: GPL-2.0
/*
 * How the loop wait is distinguished from the others.
 *
 * What there is to go by is where threads wait, how often, for how long, and
 * the stacks.  Neither source nor names are there, and which function holds
 * the loop is not needed: from the places alone follows the branch frame, the
 * outermost frame that was left by different calls.  In an event loop one of
 * these calls leads to the loop's wait, the others to the work:
 *
 *	main            main                    The groups of the branch frame
 *	 aeMain          aeMain                 (aeProcessEvents) are the calls by
 *	  aeProcessEvents aeProcessEvents       which it was left: epoll_wait, and
 *	   epoll_wait      readQuery            the handler that reads.
 *	                    read
 *
 * Which group it is: five things speak for the loop's wait, none alone is enough:
 *
 *  - It recurs: every iteration passes it.  Consecutive waits of one group
 *    count once (a run), so that ten reads of one request do not outvote the
 *    wait before them.  With two groups the runs alternate and say nothing.
 *  - It sleeps.  Reads of what is known to be there do not.  But under full
 *    load the loop's wait hardly sleeps either, and a lock does always.
 *  - It is near.  A loop waits a few calls below its own frame, a request's
 *    lock or disk wait lies many calls deep in the work: a connection thread
 *    5 and 20, a pool's worker 3 and 10, a select loop 1 and 3.
 *  - Its kind: waiting for any of several things is what loops do.
 *  - It times out now and then.  Who waits for a lock
 *    gets it, if late.
 *
 * So a group's score is
 *
 *	runs x (0.02 + share of runs that slept) / depth^3
 *
 * where depth is the number of calls from the branch frame to the system
 * call, times four if it times out now and then.  A score three times as
 * high decides; in between decide, in this order, depth (by a factor of three),
 * kind, whether it times out, score and, at equal depth, score x time
 * asleep: the lock of a queue is next to the wait for the queue to fill.  A
 * place that was left and never came back is no loop's wait, unless little was
 * seen.
 *
 * Once a wait is known to be a loop's own, it is reported no more, and what is
 * heard of are the others alone.  Such places are taken to be as frequent as
 * any other.
 *
 * The winner can still hold both, where the same call leads to the wait and to
 * work: handlers may be called by the function that calls epoll_wait, and
 * something else from further out.  So the winner's places are searched for
 * the frame in which *they* part, until they part no more.
 *
 * A loop may wait in two places (joins() in group.c): a thread that is handed
 * connections waits for the next one in the loop function itself, and for the
 * next request of this one further in.  Both are boundaries.  A lock deep in
 * the work is neither nearer nor a wait for what comes from outside.  So are
 * both where a thread polls and sleeps in accept, too.  Several processes may
 * poll one listening socket: all wake up, one gets the client, and the others
 * sleep on in accept, until the next one comes.  Or a process without a poll of
 * its own waits, when it is done with a client, for this one to close.
 *
 * So is the place in which a thread sleeps that has polled for work in the
 * loop wait, or in the same way next to it, and found none (empty-poll.h).  It
 * may be as far in as that, or a little further.
 *
 * One pair must not be parted.  A thread per connection reads; only when there
 * is nothing to read does it poll, inside of the same read function.  Under
 * load the next request is there already and poll is never called, so poll
 * alone would glue requests together.  An event loop that calls poll first and
 * a handler that reads look alike except for two things: there poll is not deeper
 * than the read, and between the last read and poll lies work.
 *
 * Before any of that, waits for a lock that threads of the process take
 * wherever they are (shared-lock.h) are left out: by all of the above, that of
 * an interpreter would be the loop's wait.
 *
 * Threads are polled at together (a pool) when they are known to run the same
 * code: they wait at an equal place, or their stacks part inside of one
 * function.  A thread that was only ever seen in a lock, in the middle of a
 * long request, is so distinguished from one that lives by waiting there.  (But a child
 * process lives by waiting inside of a call that its parent never made: main
 * threads of several processes must share a place.)  Where such a
 * pool turns out to hold threads that do wait again and again but never at the
 * winner's place (a function that starts threads of several roles), they are
 * a pool of their own.
 *
 * Which frame identifies a wait: a context compares one return address and its
 * distance from the stack pointer.  At a branch frame that is the call that
 * distinguishes the wait from all others known.  With a single place, a frame too far
 * in (a wait function of a library) is met in mid-unit as well, and one too
 * far out adds only the distance.  So it is the outermost frame beyond
 * the start code, which is the thread's own function, or main, or further in
 * if other threads' stacks have the same return addresses up to there.  It
 * stays when waits inside of it are seen later.
 */

#include "train/loops/boundary.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "train/loops/group.h"
#include "train/loops/pool.h"
#include "train/loops/wait-shape.h"

enum {
	START_LEVEL = 1, /* in start code: of the threads, of main */
	START_BYTES = 256 * 1024, /* code that near to it is start code as well */
};

struct finder {
	struct shapes shapes;
	struct pools pools;
	struct groups groups;
	struct boundary_context *contexts;
	uint32_t nr_contexts;
	uint32_t nr_loops;
	/* by shape, all in one allocation: */
	bool *before; /* groups.set before it was cut down */
	bool *inner; /* a set to narrow in its turn */
	bool *own; /* what came of the first set */
	bool *idle; /* what else the loop waits in, when there is no work */
};

/* What was found is the caller's. */
static void finder_deinit(struct finder *finder)
{
	free(finder->before);
	groups_deinit(&finder->groups);
	pools_deinit(&finder->pools);
	shapes_deinit(&finder->shapes);
}

static int finder_init(struct finder *finder, const struct boundary_place *places,
		       uint32_t nr_places, const struct boundary_wait *waits, size_t nr_waits)
{
	int err;

	memset(finder, 0, sizeof(*finder));
	err = shapes_init(&finder->shapes, places, nr_places);
	err = err ?: pools_init(&finder->pools, &finder->shapes, places, nr_places, waits, nr_waits);
	err = err ?: groups_init(&finder->groups, &finder->pools);
	finder->contexts = calloc(nr_places + 1, sizeof(*finder->contexts));
	finder->before = calloc(nr_places + 1, 4 * sizeof(*finder->before));
	if (err || !finder->contexts || !finder->before) {
		free(finder->contexts);
		finder_deinit(finder);
		return -ENOMEM;
	}
	finder->inner = finder->before + nr_places;
	finder->own = finder->inner + nr_places;
	finder->idle = finder->own + nr_places;
	return 0;
}

/* The outermost level of @shape beyond the start code. */
static uint32_t outermost_level(const struct shape *shape)
{
	uint64_t start, call;

	if (shape->place->nr_frames <= START_LEVEL + 2)
		return START_LEVEL;
	start = shape_call(shape, START_LEVEL);
	call = shape_call(shape, START_LEVEL + 1);
	return call - start + START_BYTES < 2 * START_BYTES ? START_LEVEL + 2 : START_LEVEL + 1;
}

/* How far in the places of other pools have the same calls as @shape. */
static uint32_t level_of_others(const struct finder *finder, uint32_t pool,
				const struct shape *shape)
{
	uint32_t level = 0;

	for (uint32_t i = 0; i < finder->shapes.nr; i++) {
		uint32_t common;

		if (finder->pools.of_shape[i] == pool)
			continue;
		common = shape_common(shape, &finder->shapes.entries[i]);
		if (common > level)
			level = common;
	}
	return level;
}

/* Where a set that does not part, or parts nowhere else, is identified. */
static uint32_t single_level(const struct finder *finder, uint32_t pool)
{
	uint32_t level = 0, innermost = groups_level(&finder->groups);

	if (innermost != GROUP_NO_LEVEL && innermost)
		innermost--; /* one return address for all */
	for (uint32_t i = 0; i < finder->shapes.nr; i++) {
		const struct shape *shape = &finder->shapes.entries[i];
		uint32_t nr_frames = shape->place->nr_frames, deepest, others;

		if (!finder->groups.set[i])
			continue;
		if (level < outermost_level(shape))
			level = outermost_level(shape);
		/* not the wrapper of the call nor, if there is more, what calls that */
		deepest = nr_frames > 4 ? nr_frames - 3 : nr_frames - 2;
		if (innermost > deepest)
			innermost = deepest;
		others = level_of_others(finder, pool, shape);
		if (level < others)
			level = others;
	}
	return level < innermost ? level : innermost;
}

static uint32_t loop_of(const struct finder *finder, uint64_t return_address)
{
	for (uint32_t i = 0; i < finder->nr_contexts; i++)
		if (finder->contexts[i].return_address == return_address)
			return finder->contexts[i].loop_id;
	return 0;
}

static bool make_context(const struct shape *shape, uint32_t level, struct boundary_context *ret)
{
	const struct boundary_place *place = shape->place;
	uint32_t frame = shape_frame(shape, level);

	if (!frame)
		frame = 1; /* frame 0 has no return address */
	if (place->frames[frame].slot < place->sp ||
	    place->frames[frame].slot - place->sp > UINT32_MAX)
		return false;
	*ret = (struct boundary_context){
		.syscall = place->syscall,
		.distance = (uint32_t)(place->frames[frame].slot - place->sp),
		.return_address = place->frames[frame].pc,
		.place = shape->place_index,
		.frame = frame,
	};
	return true;
}

static bool is_known(const struct finder *finder, const struct boundary_context *context)
{
	for (uint32_t i = 0; i < finder->nr_contexts; i++)
		if (finder->contexts[i].syscall == context->syscall &&
		    finder->contexts[i].distance == context->distance &&
		    finder->contexts[i].return_address == context->return_address)
			return true;
	return false;
}

/* One of the loop's own waits becomes a context; its loop is set later. */
static void add_context(struct finder *finder, uint32_t shape, uint32_t level, uint32_t *loop_id)
{
	struct boundary_context context;

	if (!make_context(&finder->shapes.entries[shape], level, &context))
		return;
	if (!*loop_id)
		*loop_id = loop_of(finder, context.return_address);
	if (!is_known(finder, &context))
		finder->contexts[finder->nr_contexts++] = context;
}

/*
 * The groups that join the best, out of the shapes that were in the set before
 * it was cut down to that.
 */
static void add_joining(struct finder *finder, uint32_t level, uint32_t *loop_id)
{
	for (uint32_t i = 0; i < finder->shapes.nr; i++) {
		if (!finder->before[i])
			continue;
		switch (groups_joins(&finder->groups, i)) {
		case GROUP_JOINS_NOT:
			break;
		case GROUP_JOINS_IDLE:
			finder->idle[i] = true;
			add_context(finder, i, level, loop_id);
			break;
		case GROUP_JOINS_NEARER:
			add_context(finder, i, level, loop_id);
			break;
		case GROUP_JOINS_INNER:
			finder->inner[i] = true;
		}
	}
}

static void set_loop(struct finder *finder, uint32_t first, uint32_t loop_id)
{
	if (!loop_id && finder->nr_contexts > first)
		loop_id = ++finder->nr_loops;
	for (uint32_t i = first; i < finder->nr_contexts; i++)
		finder->contexts[i].loop_id = loop_id;
}

static uint32_t most_frames(const struct finder *finder)
{
	uint32_t most = 0;

	for (uint32_t i = 0; i < finder->shapes.nr; i++)
		if (finder->groups.set[i] && finder->shapes.entries[i].place->nr_frames > most)
			most = finder->shapes.entries[i].place->nr_frames;
	return most;
}

/* Cut the set down to the loop's own waits, which become contexts. */
static void narrow(struct finder *finder, uint32_t pool, uint32_t *loop_id)
{
	struct groups *groups = &finder->groups;
	uint32_t level = GROUP_NO_LEVEL;

	for (;;) {
		uint32_t branch = groups_level(groups), nr, kept;

		if (branch == GROUP_NO_LEVEL)
			break;
		nr = groups_part(groups, branch);
		if (nr < 2)
			break; /* the same calls in frames of other sizes */
		memcpy(finder->before, groups->set, finder->shapes.nr * sizeof(bool));
		kept = groups_keep_best(groups);
		if (kept == nr)
			break; /* nothing to distinguish: identified further out */
		level = branch;
		/* stacks that have no frame in common were not unwound to their start */
		if (level)
			add_joining(finder, level, loop_id);
		if (kept > 1)
			break;
	}
	if (level == GROUP_NO_LEVEL || !level)
		level = single_level(finder, pool);
	for (uint32_t i = 0; i < finder->shapes.nr; i++)
		if (groups->set[i])
			add_context(finder, i, level, loop_id);
}

/* Decide for one pool; a pool split off is left for later. */
static void decide(struct finder *finder, uint32_t pool)
{
	size_t size = finder->shapes.nr * sizeof(bool);
	uint32_t first = finder->nr_contexts, loop_id = 0;
	bool *set = finder->groups.set;

	if (!groups_take(&finder->groups, pool))
		return;
	memset(finder->inner, 0, size);
	memset(finder->idle, 0, size);
	narrow(finder, pool, &loop_id);
	if (memchr(finder->inner, true, size)) {
		memcpy(finder->own, set, size);
		memcpy(set, finder->inner, size);
		narrow(finder, pool, &loop_id);
		for (uint32_t i = 0; i < finder->shapes.nr; i++)
			set[i] |= finder->own[i];
	}
	/* Who is idle all the time has no other role. */
	for (uint32_t i = 0; i < finder->shapes.nr; i++)
		set[i] |= finder->idle[i];
	set_loop(finder, first, loop_id);
	pools_split(&finder->pools, pool, set, most_frames(finder));
}

int boundary_find(const struct boundary_place *places, uint32_t nr_places,
		  const struct boundary_wait *waits, size_t nr_waits,
		  struct boundary_context **ret, uint32_t *ret_nr)
{
	struct finder finder;
	int err = finder_init(&finder, places, nr_places, waits, nr_waits);

	*ret = NULL;
	*ret_nr = 0;
	if (err)
		return err;
	/* those split off get the next numbers, so the loop comes to them too */
	for (uint32_t pool = 0; pool < finder.pools.nr; pool++)
		decide(&finder, pool);
	*ret = finder.contexts;
	*ret_nr = finder.nr_contexts;
	finder_deinit(&finder);
	return 0;
}
