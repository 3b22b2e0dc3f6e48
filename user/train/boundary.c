// SPDX-License-Identifier: GPL-2.0
/*
 * How the loop's own wait is told from the others.
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
 * Which group?  Four things speak for the loop's wait, none alone is enough:
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
 *
 * So a group's score is
 *
 *	runs x (0.02 + share of runs that slept) / depth^3
 *
 * where depth is the number of calls from the branch frame to the system
 * call.  A score three times as high decides; in between decide, in this
 * order, depth (by a factor of three), kind, score and, at equal depth, score x
 * time asleep: the lock of a queue is next to the wait for the queue to fill.
 * A place that was left and never came back is no loop's wait, unless little
 * was seen.
 *
 * The winner can still hold both, where the same call leads to the wait and to
 * work: handlers may be called by the function that calls epoll_wait, and
 * something else from further out.  So the winner's places are searched for
 * the frame in which *they* part, until they part no more.
 *
 * One pair must not be parted.  A thread per connection reads; only when there
 * is nothing to read does it poll, inside of the same read function.  Under
 * load the next request is there already and poll is never called, so poll
 * alone would glue requests together.  An event loop that calls poll first and
 * a handler that reads look alike but for two things: there poll is not deeper
 * than the read, and between the last read and poll lies work.
 *
 * Threads are looked at together (a pool) when they are known to run the same
 * code: they wait at an equal place, or their stacks part inside of one
 * function.  A thread that was only ever seen in a lock, in the middle of a
 * long request, is so told from one that lives by waiting there.  Where such a
 * pool turns out to hold threads that do wait again and again but never at the
 * winner's place (a function that starts threads of several roles), they are
 * a pool of their own.
 *
 * Which frame identifies a wait?  A context compares one return address and its
 * distance from the stack pointer.  At a branch frame that is the call that
 * tells the wait from all others known.  With a single place, a frame too far
 * in (a wait function of a library) is met in mid-unit as well, and one too
 * far out tells nothing but the distance.  So it is the outermost frame beyond
 * the start code, which is the thread's own function, or main, or further in
 * if other threads' stacks have the same return addresses up to there.  It
 * stays when waits inside of it are seen later.
 */

#include "boundary.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "shape.h"

enum {
	NO_LEVEL = UINT32_MAX,
	START_LEVEL = 1, /* in start code: of the threads, of main */
	START_BYTES = 256 * 1024, /* code that near to it is start code as well */
	FEW_WAITS = 4, /* less tells nothing of a thread's role */
	MANY_WAITS = 16,
};

/* The waits that leave the branch frame by the same call. */
struct group {
	uint64_t call;
	uint32_t runs;
	uint32_t slept; /* runs */
	uint32_t depth;
	uint32_t kind; /* the likeliest of its shapes */
	bool only_many; /* all its shapes wait for any of several things */
	bool only_read; /* all its shapes wait for bytes or a connection */
	uint64_t blocked_ns;
};

struct thread {
	uint32_t tid;
	uint32_t pool;
	uint32_t last; /* group of the wait before, while counting runs */
	bool slept; /* in the run at hand */
	uint32_t nr_waits;
	uint32_t nr_kept; /* of them in the loop's places */
};

struct finder {
	struct shapes shapes;
	const struct boundary_wait *waits;
	size_t nr_waits;
	struct thread *threads;
	uint32_t nr_threads;
	uint32_t *thread_of_place;
	uint32_t *pool_of_shape; /* SHAPE_NONE if no thread of a pool waits there */
	bool *set; /* shapes under consideration */
	uint32_t *group_of_shape;
	struct group *groups;
	uint64_t *gaps; /* room for two samples, each of nr_waits */
	struct boundary_context *contexts;
	uint32_t nr_contexts;
	uint32_t nr_loops;
	uint32_t nr_pools; /* numbers given; the first are those of threads */
};

/* Room for all of it at once; the finder owns it. */
static int finder_init(struct finder *finder, const struct boundary_place *places,
		       uint32_t nr_places, const struct boundary_wait *waits, size_t nr_waits)
{
	int err;

	memset(finder, 0, sizeof(*finder));
	err = shapes_init(&finder->shapes, places, nr_places);
	if (err)
		return err;
	finder->waits = waits;
	finder->nr_waits = nr_waits;
	finder->threads = calloc(nr_places + 1, sizeof(*finder->threads));
	finder->thread_of_place = calloc(nr_places + 1, sizeof(*finder->thread_of_place));
	finder->pool_of_shape = calloc(nr_places + 1, sizeof(*finder->pool_of_shape));
	finder->set = calloc(nr_places + 1, sizeof(*finder->set));
	finder->group_of_shape = calloc(nr_places + 1, sizeof(*finder->group_of_shape));
	finder->groups = calloc(nr_places + 1, sizeof(*finder->groups));
	finder->gaps = calloc(2 * nr_waits + 1, sizeof(*finder->gaps));
	finder->contexts = calloc(nr_places + 1, sizeof(*finder->contexts));
	if (!finder->threads || !finder->thread_of_place || !finder->pool_of_shape ||
	    !finder->set || !finder->group_of_shape || !finder->groups || !finder->gaps ||
	    !finder->contexts)
		return -ENOMEM;
	return 0;
}

static void finder_deinit(struct finder *finder)
{
	shapes_deinit(&finder->shapes);
	free(finder->threads);
	free(finder->thread_of_place);
	free(finder->pool_of_shape);
	free(finder->set);
	free(finder->group_of_shape);
	free(finder->groups);
	free(finder->gaps);
	free(finder->contexts);
}

static void find_threads(struct finder *finder, const struct boundary_place *places,
			 uint32_t nr_places)
{
	for (uint32_t i = 0; i < nr_places; i++) {
		uint32_t thread = 0;

		while (thread < finder->nr_threads && finder->threads[thread].tid != places[i].tid)
			thread++;
		if (thread == finder->nr_threads) {
			finder->threads[thread].tid = places[i].tid;
			finder->threads[thread].pool = thread;
			finder->nr_pools = ++finder->nr_threads;
		}
		finder->thread_of_place[i] = thread;
	}
	for (size_t i = 0; i < finder->nr_waits; i++)
		finder->threads[finder->thread_of_place[finder->waits[i].place]].nr_waits++;
}

static void join_pools(struct finder *finder, uint32_t from, uint32_t to)
{
	if (from == to)
		return;
	for (uint32_t i = 0; i < finder->nr_threads; i++)
		if (finder->threads[i].pool == from)
			finder->threads[i].pool = to;
	for (uint32_t i = 0; i < finder->shapes.nr; i++)
		if (finder->pool_of_shape[i] == from)
			finder->pool_of_shape[i] = to;
}

static void find_pools(struct finder *finder, uint32_t nr_places)
{
	const struct shapes *shapes = &finder->shapes;

	for (uint32_t i = 0; i < shapes->nr; i++)
		finder->pool_of_shape[i] = SHAPE_NONE;
	for (uint32_t i = 0; i < nr_places; i++) {
		uint32_t pool = finder->threads[finder->thread_of_place[i]].pool;
		uint32_t shape = shapes->of_place[i];

		if (shape == SHAPE_NONE)
			continue;
		if (finder->pool_of_shape[shape] == SHAPE_NONE)
			finder->pool_of_shape[shape] = pool;
		else
			join_pools(finder, pool, finder->pool_of_shape[shape]);
	}
	for (uint32_t i = 0; i < shapes->nr; i++) {
		for (uint32_t j = 0; j < i; j++) {
			const struct shape *a = &shapes->entries[i], *b = &shapes->entries[j];

			if (finder->pool_of_shape[i] != finder->pool_of_shape[j] &&
			    shape_same_function(a, b, shape_common(a, b)))
				join_pools(finder, finder->pool_of_shape[i],
					   finder->pool_of_shape[j]);
		}
	}
}

/* The level at which the set's places part, or NO_LEVEL if it holds one shape. */
static uint32_t branch_level(const struct finder *finder)
{
	const struct shape *first = NULL;
	uint32_t level = NO_LEVEL;

	for (uint32_t i = 0; i < finder->shapes.nr; i++) {
		uint32_t common;

		if (!finder->set[i])
			continue;
		if (!first) {
			first = &finder->shapes.entries[i];
			continue;
		}
		common = shape_common(first, &finder->shapes.entries[i]);
		if (common < level)
			level = common;
	}
	return level;
}

/* Sort the set's shapes into groups by the call they leave @level by. */
static uint32_t make_groups(struct finder *finder, uint32_t level)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < finder->shapes.nr; i++) {
		const struct shape *shape = &finder->shapes.entries[i];
		struct group *group;
		uint32_t at = 0, depth;

		if (!finder->set[i])
			continue;
		while (at < nr && finder->groups[at].call != shape_call(shape, level))
			at++;
		group = &finder->groups[at];
		if (at == nr) {
			nr++;
			*group = (struct group){
				.call = shape_call(shape, level),
				.depth = UINT32_MAX,
				.kind = UINT32_MAX,
				.only_many = true,
				.only_read = true,
			};
		}
		finder->group_of_shape[i] = at;
		/* stacks that part at once are not all complete, depth says nothing */
		depth = level ? shape_frame(shape, level) : 1;
		if (depth < group->depth)
			group->depth = depth;
		if (shape->kind < group->kind)
			group->kind = shape->kind;
		group->only_many &= shape->kind == SHAPE_MANY;
		group->only_read &= shape->kind == SHAPE_READ || shape->kind == SHAPE_ACCEPT;
	}
	return nr;
}

/* The group of a wait of @pool, or SHAPE_NONE if it is not in the set. */
static uint32_t wait_group(const struct finder *finder, const struct boundary_wait *wait)
{
	uint32_t shape = finder->shapes.of_place[wait->place];

	if (shape == SHAPE_NONE || !finder->set[shape])
		return SHAPE_NONE;
	return finder->group_of_shape[shape];
}

static void count_runs(struct finder *finder, uint32_t pool)
{
	for (uint32_t i = 0; i < finder->nr_threads; i++)
		finder->threads[i].last = SHAPE_NONE;
	for (size_t i = 0; i < finder->nr_waits; i++) {
		const struct boundary_wait *wait = &finder->waits[i];
		struct thread *thread = &finder->threads[finder->thread_of_place[wait->place]];
		uint32_t at = wait_group(finder, wait);

		if (thread->pool != pool)
			continue;
		if (at != SHAPE_NONE) {
			struct group *group = &finder->groups[at];

			if (at != thread->last) {
				group->runs++;
				thread->slept = false;
			}
			if (wait->blocked_ns && !thread->slept) {
				group->slept++;
				thread->slept = true;
			}
			group->blocked_ns += wait->blocked_ns;
		}
		thread->last = at;
	}
}

static double score(const struct group *group, uint32_t max_runs)
{
	double depth = group->depth ? group->depth : 1, runs = group->runs;

	if (!group->runs)
		return 0;
	if (group->runs == 1 && max_runs >= 8)
		runs = 0.1;
	return runs * (0.02 + (double)group->slept / group->runs) / (depth * depth * depth);
}

/* A read that never sleeps is no wait if there is one for many things. */
static bool is_mere_read(const struct group *group, const struct group *other)
{
	return group->only_read && !group->slept && other->kind == SHAPE_MANY && other->runs;
}

static bool is_better(const struct group *a, const struct group *b, uint32_t max_runs)
{
	double score_a = score(a, max_runs), score_b = score(b, max_runs);

	if (is_mere_read(a, b) != is_mere_read(b, a))
		return is_mere_read(b, a);
	if (score_a >= 3 * score_b || score_b >= 3 * score_a)
		return score_a > score_b;
	if (a->depth >= 3 * b->depth || b->depth >= 3 * a->depth)
		return a->depth < b->depth;
	if (a->kind != b->kind)
		return a->kind < b->kind;
	if (a->depth == b->depth) {
		score_a *= (double)a->blocked_ns;
		score_b *= (double)b->blocked_ns;
	}
	return score_a > score_b;
}

static uint32_t best_group(const struct finder *finder, uint32_t nr)
{
	uint32_t max_runs = 0, best = 0;

	for (uint32_t i = 0; i < nr; i++)
		if (finder->groups[i].runs > max_runs)
			max_runs = finder->groups[i].runs;
	for (uint32_t i = 1; i < nr; i++)
		if (is_better(&finder->groups[i], &finder->groups[best], max_runs))
			best = i;
	return best;
}

static int compare_gaps(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return a < b ? -1 : a > b;
}

/* Time between two waits of a thread. */
static uint64_t gap_ns(const struct boundary_wait *from, const struct boundary_wait *to)
{
	uint64_t left = from->enter_ns + from->blocked_ns;

	return to->enter_ns > left ? to->enter_ns - left : 0;
}

/*
 * Does group @many wait inside of what @read does, as its own way to wait?  The
 * time from a read to the wait is then that of a few instructions, while the
 * work lies between reads.
 */
static bool is_pair(struct finder *finder, uint32_t pool, uint32_t many, uint32_t read)
{
	uint64_t *to_many = finder->gaps, *to_read = finder->gaps + finder->nr_waits;
	size_t nr_many = 0, nr_read = 0;

	if (finder->groups[many].depth <= finder->groups[read].depth)
		return false;
	for (uint32_t thread = 0; thread < finder->nr_threads; thread++) {
		const struct boundary_wait *last = NULL;

		if (finder->threads[thread].pool != pool)
			continue;
		for (size_t i = 0; i < finder->nr_waits; i++) {
			const struct boundary_wait *wait = &finder->waits[i];
			uint32_t group = wait_group(finder, wait);

			/* what lies between, waits elsewhere included, is work */
			if (group == SHAPE_NONE || finder->thread_of_place[wait->place] != thread)
				continue;
			if (last && wait_group(finder, last) == read) {
				if (group == many)
					to_many[nr_many++] = gap_ns(last, wait);
				else if (group == read)
					to_read[nr_read++] = gap_ns(last, wait);
			}
			last = wait;
		}
	}
	if (nr_many + nr_read < 8)
		return true; /* too few to say otherwise */
	if (10 * nr_read < nr_many + nr_read)
		return false; /* the wait is never left out, so it is enough */
	if (!nr_many)
		return true;
	qsort(to_many, nr_many, sizeof(*to_many), compare_gaps);
	qsort(to_read, nr_read, sizeof(*to_read), compare_gaps);
	return to_many[nr_many / 2] < to_read[3 * nr_read / 4] / 2 + 1;
}

static bool belongs_to(struct finder *finder, uint32_t pool, uint32_t best, uint32_t other)
{
	const struct group *a = &finder->groups[best], *b = &finder->groups[other];

	if (a->only_many && b->only_read)
		return is_pair(finder, pool, best, other);
	if (a->only_read && b->only_many)
		return is_pair(finder, pool, other, best);
	return best == other;
}

/* Take all groups out of the set that do not belong to the best.  Returns how many stay. */
static uint32_t keep_best(struct finder *finder, uint32_t pool, uint32_t nr)
{
	uint32_t best = best_group(finder, nr), kept = 0;

	for (uint32_t i = 0; i < nr; i++) {
		if (belongs_to(finder, pool, best, i)) {
			kept++;
			continue;
		}
		for (uint32_t shape = 0; shape < finder->shapes.nr; shape++)
			if (finder->set[shape] && finder->group_of_shape[shape] == i)
				finder->group_of_shape[shape] = SHAPE_NONE;
	}
	for (uint32_t shape = 0; shape < finder->shapes.nr; shape++)
		if (finder->set[shape] && finder->group_of_shape[shape] == SHAPE_NONE)
			finder->set[shape] = false;
	return kept;
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

/* Where a set that does not part, or parts nowhere else, is identified. */
static uint32_t single_level(const struct finder *finder, uint32_t pool)
{
	uint32_t level = 0, innermost = branch_level(finder);

	if (innermost != NO_LEVEL && innermost)
		innermost--; /* one return address for all */
	for (uint32_t i = 0; i < finder->shapes.nr; i++) {
		uint32_t nr_frames = finder->shapes.entries[i].place->nr_frames, deepest;

		if (!finder->set[i])
			continue;
		if (level < outermost_level(&finder->shapes.entries[i]))
			level = outermost_level(&finder->shapes.entries[i]);
		/* not the wrapper of the call nor, if there is more, what calls that */
		deepest = nr_frames > 4 ? nr_frames - 3 : nr_frames - 2;
		if (innermost > deepest)
			innermost = deepest;
		for (uint32_t j = 0; j < finder->shapes.nr; j++) {
			uint32_t common;

			if (finder->pool_of_shape[j] == pool)
				continue;
			common = shape_common(&finder->shapes.entries[i],
					      &finder->shapes.entries[j]);
			if (common > level)
				level = common;
		}
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

/* The set's shapes, which are the loop's own waits, become contexts. */
static void add_contexts(struct finder *finder, uint32_t level)
{
	uint32_t first = finder->nr_contexts, loop_id = 0;

	for (uint32_t i = 0; i < finder->shapes.nr; i++) {
		struct boundary_context context;

		if (!finder->set[i] ||
		    !make_context(&finder->shapes.entries[i], level, &context))
			continue;
		if (!loop_id)
			loop_id = loop_of(finder, context.return_address);
		if (!is_known(finder, &context))
			finder->contexts[finder->nr_contexts++] = context;
	}
	if (!loop_id && finder->nr_contexts > first)
		loop_id = ++finder->nr_loops;
	for (uint32_t i = first; i < finder->nr_contexts; i++)
		finder->contexts[i].loop_id = loop_id;
}

/*
 * Threads of the pool that wait again and again, but never where the loop does,
 * have another role and become a pool of their own.  Waits deeper than the
 * loop's are more likely those of one long unit.
 */
static void split_pool(struct finder *finder, uint32_t pool, uint32_t loop_depth)
{
	uint32_t split = SHAPE_NONE;

	for (uint32_t i = 0; i < finder->nr_threads; i++)
		finder->threads[i].nr_kept = 0;
	for (size_t i = 0; i < finder->nr_waits; i++)
		if (wait_group(finder, &finder->waits[i]) != SHAPE_NONE)
			finder->threads[finder->thread_of_place[finder->waits[i].place]].nr_kept++;
	for (size_t i = 0; i < finder->nr_waits; i++) {
		uint32_t place = finder->waits[i].place, shape = finder->shapes.of_place[place];
		struct thread *thread = &finder->threads[finder->thread_of_place[place]];
		uint32_t limit = FEW_WAITS;

		if (thread->nr_kept || shape == SHAPE_NONE)
			continue;
		if (split != SHAPE_NONE && thread->pool == split)
			finder->pool_of_shape[shape] = split;
		if (thread->pool != pool)
			continue;
		if (finder->shapes.entries[shape].place->nr_frames > loop_depth)
			limit = MANY_WAITS;
		if (thread->nr_waits < limit)
			continue;
		if (split == SHAPE_NONE)
			split = finder->nr_pools++;
		thread->pool = split;
		finder->pool_of_shape[shape] = split;
	}
}

/* Put the shapes in which threads of @pool wait into the set. */
static bool take_pool(struct finder *finder, uint32_t pool)
{
	bool any = false;

	memset(finder->set, 0, finder->shapes.nr * sizeof(*finder->set));
	memset(finder->group_of_shape, 0, finder->shapes.nr * sizeof(*finder->group_of_shape));
	for (size_t i = 0; i < finder->nr_waits; i++) {
		uint32_t place = finder->waits[i].place, shape = finder->shapes.of_place[place];

		if (shape != SHAPE_NONE &&
		    finder->threads[finder->thread_of_place[place]].pool == pool)
			any = finder->set[shape] = true;
	}
	return any;
}

static uint32_t set_depth(const struct finder *finder)
{
	uint32_t depth = 0;

	for (uint32_t i = 0; i < finder->shapes.nr; i++)
		if (finder->set[i] && finder->shapes.entries[i].place->nr_frames > depth)
			depth = finder->shapes.entries[i].place->nr_frames;
	return depth;
}

/* Decide for one pool; a pool split off is left for later. */
static void decide(struct finder *finder, uint32_t pool)
{
	uint32_t level = NO_LEVEL;

	if (!take_pool(finder, pool))
		return;
	for (;;) {
		uint32_t branch = branch_level(finder), nr, kept;

		if (branch == NO_LEVEL)
			break;
		nr = make_groups(finder, branch);
		if (nr < 2)
			break; /* the same calls in frames of other sizes */
		count_runs(finder, pool);
		kept = keep_best(finder, pool, nr);
		if (kept == nr)
			break; /* nothing to tell apart: identified further out */
		level = branch;
		if (kept > 1)
			break;
	}
	/* stacks that have no frame in common were not unwound to their start */
	add_contexts(finder, level == NO_LEVEL || !level ? single_level(finder, pool) : level);
	split_pool(finder, pool, set_depth(finder));
}

int boundary_find(const struct boundary_place *places, uint32_t nr_places,
		  const struct boundary_wait *waits, size_t nr_waits,
		  struct boundary_context **ret, uint32_t *ret_nr)
{
	struct finder finder;
	int err = finder_init(&finder, places, nr_places, waits, nr_waits);

	*ret = NULL;
	*ret_nr = 0;
	if (!err) {
		find_threads(&finder, places, nr_places);
		find_pools(&finder, nr_places);
		/* those split off get the next numbers, so the loop comes to them too */
		for (uint32_t pool = 0; pool < finder.nr_pools; pool++)
			decide(&finder, pool);
		*ret = finder.contexts;
		*ret_nr = finder.nr_contexts;
		finder.contexts = NULL;
	}
	finder_deinit(&finder);
	return err;
}
