// SPDX-License-Identifier: GPL-2.0

#include "train/loops/group.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

int groups_init(struct groups *groups, const struct pools *pools)
{
	size_t nr = pools->shapes->nr + 1;

	*groups = (struct groups){ .pools = pools };
	groups->set = calloc(nr, sizeof(*groups->set));
	groups->of_shape = calloc(nr, sizeof(*groups->of_shape));
	groups->idle = calloc(nr, sizeof(*groups->idle));
	groups->entries = calloc(nr, sizeof(*groups->entries));
	groups->gaps = calloc(2 * pools->nr_waits + 1, sizeof(*groups->gaps));
	groups->last = calloc(pools->nr_threads + 1, sizeof(*groups->last));
	groups->slept = calloc(pools->nr_threads + 1, sizeof(*groups->slept));
	if (groups->set && groups->of_shape && groups->idle && groups->entries && groups->gaps &&
	    groups->last && groups->slept)
		return 0;
	groups_deinit(groups);
	return -ENOMEM;
}

void groups_deinit(struct groups *groups)
{
	free(groups->set);
	free(groups->of_shape);
	free(groups->idle);
	free(groups->entries);
	free(groups->gaps);
	free(groups->last);
	free(groups->slept);
	memset(groups, 0, sizeof(*groups));
}

bool groups_take(struct groups *groups, uint32_t pool)
{
	const struct pools *pools = groups->pools;
	bool any = false;

	groups->pool = pool;
	groups->nr = 0;
	memset(groups->set, 0, pools->shapes->nr * sizeof(*groups->set));
	for (size_t i = 0; i < pools->nr_waits; i++) {
		uint32_t shape = pools->shapes->of_place[pools->waits[i].place];

		if (shape != SHAPE_NONE && pools_thread(pools, &pools->waits[i])->pool == pool)
			any = groups->set[shape] = true;
	}
	return any;
}

uint32_t groups_level(const struct groups *groups)
{
	const struct shape *first = NULL;
	uint32_t level = GROUP_NO_LEVEL;

	for (uint32_t i = 0; i < groups->pools->shapes->nr; i++) {
		uint32_t common;

		if (!groups->set[i])
			continue;
		if (!first) {
			first = &groups->pools->shapes->entries[i];
			continue;
		}
		common = shape_common(first, &groups->pools->shapes->entries[i]);
		if (common < level)
			level = common;
	}
	return level;
}

static void add_to_group(struct group *group, const struct shape *shape, uint32_t level)
{
	/* stacks that part at once are not all complete, depth says nothing */
	uint32_t depth = level ? shape_frame(shape, level) : 1;

	if (depth < group->depth)
		group->depth = depth;
	if (shape->kind < group->kind)
		group->kind = shape->kind;
	group->kinds |= 1u << shape->kind;
	group->is_own |= shape->is_own;
}

/* True if all its shapes wait for bytes or a connection. */
static bool only_reads(const struct group *group)
{
	return !(group->kinds & ~(1u << SHAPE_READ | 1u << SHAPE_ACCEPT));
}

static bool is_only(const struct group *group, enum shape_kind kind)
{
	return group->kinds == 1u << kind;
}

/* The group of a wait, or SHAPE_NONE if it is not in the set. */
static uint32_t wait_group(const struct groups *groups, const struct boundary_wait *wait)
{
	uint32_t shape = groups->pools->shapes->of_place[wait->place];

	if (shape == SHAPE_NONE || !groups->set[shape])
		return SHAPE_NONE;
	return groups->of_shape[shape];
}

static void count_wait(struct groups *groups, const struct boundary_wait *wait)
{
	uint32_t thread = groups->pools->thread_of_place[wait->place];
	uint32_t shape = groups->pools->shapes->of_place[wait->place];
	uint32_t at = wait_group(groups, wait);

	if (at != SHAPE_NONE) {
		struct group *group = &groups->entries[at];

		if (at != groups->last[thread]) {
			group->runs++;
			groups->slept[thread] = false;
		}
		if (wait->blocked_ns && !groups->slept[thread]) {
			group->slept++;
			groups->slept[thread] = true;
		}
		if (groups->pools->shapes->entries[shape].is_own) {
			group->own_waits++;
			group->own_slept += wait->blocked_ns != 0;
		}
		group->sleeps += wait->blocked_ns != 0;
		group->empty += wait->blocked_ns && wait->is_empty;
		group->blocked_ns += wait->blocked_ns;
		if (wait->enter_ns > group->last_ns)
			group->last_ns = wait->enter_ns;
	}
	groups->last[thread] = at;
}

uint32_t groups_part(struct groups *groups, uint32_t level)
{
	const struct pools *pools = groups->pools;

	groups->nr = 0;
	for (uint32_t i = 0; i < pools->shapes->nr; i++) {
		const struct shape *shape = &pools->shapes->entries[i];
		uint32_t at = 0;

		if (!groups->set[i])
			continue;
		while (at < groups->nr && groups->entries[at].call != shape_call(shape, level))
			at++;
		if (at == groups->nr) {
			groups->nr++;
			groups->entries[at] = (struct group){
				.call = shape_call(shape, level),
				.depth = UINT32_MAX,
				.kind = UINT32_MAX,
			};
		}
		groups->of_shape[i] = at;
		add_to_group(&groups->entries[at], shape, level);
	}
	for (uint32_t i = 0; i < pools->nr_threads; i++)
		groups->last[i] = SHAPE_NONE;
	for (size_t i = 0; i < pools->nr_waits; i++)
		if (pools_thread(pools, &pools->waits[i])->pool == groups->pool)
			count_wait(groups, &pools->waits[i]);
	return groups->nr;
}

/*
 * A thread that waits for a lock gets it; one that waits for work may time out.
 * If always, it is time that it waits for.
 */
static bool ends_empty(const struct group *group)
{
	enum { NOW_AND_THEN = 16 };

	return group->empty && group->empty < group->sleeps &&
	       group->empty >= group->sleeps / NOW_AND_THEN;
}

/* Of what is no longer reported, suppose that it is frequent and goes on as before. */
static double score(const struct group *group, uint32_t max_runs)
{
	enum { WORTH_OF_EMPTY = 4 };
	double depth = group->depth ? group->depth : 1, runs = group->runs, share;

	if (!group->runs)
		return 0;
	share = (double)group->slept / group->runs;
	if (group->is_own) {
		runs = max_runs;
		if (group->own_waits && share * group->own_waits < group->own_slept)
			share = (double)group->own_slept / group->own_waits;
	} else if (group->runs == 1 && max_runs >= 8) {
		runs = 0.1;
	}
	if (ends_empty(group))
		runs *= WORTH_OF_EMPTY;
	return runs * (0.02 + share) / (depth * depth * depth);
}

/* A read that never sleeps is no wait if there is one for many things. */
static bool is_mere_read(const struct group *group, const struct group *other)
{
	return only_reads(group) && !group->slept && other->kind == SHAPE_MANY && other->runs;
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
	if (ends_empty(a) != ends_empty(b))
		return ends_empty(a);
	if (a->depth == b->depth) {
		score_a *= (double)a->blocked_ns;
		score_b *= (double)b->blocked_ns;
	}
	return score_a > score_b;
}

static uint32_t best_group(const struct groups *groups)
{
	uint32_t max_runs = 0, best = 0;

	for (uint32_t i = 0; i < groups->nr; i++)
		if (groups->entries[i].runs > max_runs)
			max_runs = groups->entries[i].runs;
	for (uint32_t i = 1; i < groups->nr; i++)
		if (is_better(&groups->entries[i], &groups->entries[best], max_runs))
			best = i;
	return best;
}

/* Time between two waits of a thread. */
static uint64_t gap_ns(const struct boundary_wait *from, const struct boundary_wait *to)
{
	uint64_t left = from->enter_ns + from->blocked_ns;

	return to->enter_ns > left ? to->enter_ns - left : 0;
}

/*
 * Collect the times from a wait of group @from to the thread's next one, if
 * that is of group @to.  What lies between, waits outside of the set included,
 * is work.
 */
static size_t collect_gaps(const struct groups *groups, uint32_t from, uint32_t to, uint64_t *ret)
{
	const struct pools *pools = groups->pools;
	size_t nr = 0;

	for (uint32_t i = 0; i < pools->nr_threads; i++)
		groups->last[i] = SHAPE_NONE;
	for (size_t i = 0; i < pools->nr_waits; i++) {
		const struct boundary_wait *wait = &pools->waits[i];
		uint32_t at = wait_group(groups, wait), *last;

		if (at == SHAPE_NONE || pools_thread(pools, wait)->pool != groups->pool)
			continue;
		last = &groups->last[pools->thread_of_place[wait->place]];
		if (at == to && *last != SHAPE_NONE &&
		    wait_group(groups, &pools->waits[*last]) == from)
			ret[nr++] = gap_ns(&pools->waits[*last], wait);
		*last = (uint32_t)i;
	}
	return nr;
}

/*
 * True if group @many waits inside of what @read does, as its own way to wait.  The
 * time from a read to the wait is then that of a few instructions, while the
 * work lies between reads.
 */
static bool is_pair(const struct groups *groups, uint32_t many, uint32_t read)
{
	enum { ENOUGH = 8 };
	uint64_t *to_many = groups->gaps, *to_read = groups->gaps + groups->pools->nr_waits;
	size_t nr_many, nr_read;

	if (groups->entries[many].depth <= groups->entries[read].depth)
		return false;
	nr_many = collect_gaps(groups, read, many, to_many);
	nr_read = collect_gaps(groups, read, read, to_read);
	if (nr_many + nr_read < ENOUGH)
		return true; /* too few to say otherwise */
	if (10 * nr_read < nr_many + nr_read)
		return false; /* the wait is never left out, so it is enough */
	if (!nr_many)
		return true;
	qsort(to_many, nr_many, sizeof(*to_many), order_u64);
	qsort(to_read, nr_read, sizeof(*to_read), order_u64);
	return to_many[nr_many / 2] <= to_read[3 * nr_read / 4] / 2;
}

static bool belongs_to(const struct groups *groups, uint32_t best, uint32_t other)
{
	const struct group *a = &groups->entries[best], *b = &groups->entries[other];

	if (is_only(a, SHAPE_MANY) && only_reads(b))
		return is_pair(groups, best, other);
	if (only_reads(a) && is_only(b, SHAPE_MANY))
		return is_pair(groups, other, best);
	return best == other;
}

/*
 * How often threads slept in @group early in their lives and up to a time.  At
 * first all waits of a thread are reported, later only the next few after one
 * that was not met lately: that favours what is rare.
 */
static uint32_t early_sleeps(struct groups *groups, uint32_t group, uint64_t until_ns)
{
	enum { EARLY = 64 };
	const struct pools *pools = groups->pools;
	uint32_t *seen = groups->last, sleeps = 0;

	memset(seen, 0, pools->nr_threads * sizeof(*seen));
	for (size_t i = 0; i < pools->nr_waits; i++) {
		const struct boundary_wait *wait = &pools->waits[i];

		if (seen[pools->thread_of_place[wait->place]]++ >= EARLY)
			continue;
		sleeps += wait->blocked_ns && wait->enter_ns <= until_ns &&
			  pools_thread(pools, wait)->pool == groups->pool &&
			  wait_group(groups, wait) == group;
	}
	return sleeps;
}

/*
 * A thread that sleeps in accept waits for the next client, even where it polls
 * more often: the socket that others have polled, too, and were faster, or a
 * client that is slow to close.
 */
static bool is_accept_beside(const struct group *best, const struct group *other)
{
	return best->kind == SHAPE_MANY && is_only(other, SHAPE_ACCEPT) && other->depth < 3 * best->depth;
}

enum { MUCH_LESS = 8 };

/* Next to a wait for work that other threads bring, what sleeps far shorter is a lock. */
static bool is_lock_beside(const struct group *best, const struct group *other)
{
	return best->kind == SHAPE_WAKEUP && other->kind == SHAPE_WAKEUP && !other->empty &&
	       best->sleeps &&
	       MUCH_LESS * (other->blocked_ns / other->sleeps) < best->blocked_ns / best->sleeps;
}

/* True if a thread that waits in @group polls for what it waits for in the best. */
static bool looks_for_work(const struct group *group, const struct group *best)
{
	return group == best || (group->kind == best->kind && group->depth <= best->depth);
}

/* True if the wait came after an empty poll, and is no lock's. */
static bool follows_empty_poll(const struct groups *groups, const struct group *best,
			       const struct boundary_wait *wait)
{
	const struct empty_poll *poll = &wait->poll;
	const struct boundary_wait before = { .place = poll->place };
	const struct boundary_wait between = { .place = poll->between };
	uint32_t at;

	if (poll->place == EMPTY_POLL_NONE)
		return false;
	at = wait_group(groups, &before);
	if (at == SHAPE_NONE || at == wait_group(groups, wait) ||
	    (poll->between != EMPTY_POLL_NONE && wait_group(groups, &between) != at))
		return false;
	return looks_for_work(&groups->entries[at], best) && wait->blocked_ns > poll->since_ns &&
	       wait->blocked_ns >= poll->slept_ns / MUCH_LESS;
}

/*
 * True if there is a place in @other in which threads sleep after an empty poll
 * (empty-poll.h), at once and not for less time.  A third of the sleeps,
 * or of the time, is enough: there are more ways to come there.
 */
static bool has_idle(struct groups *groups, const struct group *best, const struct group *other)
{
	enum { OFTEN = 3 };
	const struct pools *pools = groups->pools;
	uint32_t at = (uint32_t)(other - groups->entries), nr = 0;
	const uint32_t *of_place = pools->shapes->of_place;
	struct group_idle *idle;

	if (other->kind == SHAPE_READ || other->depth >= 3 * best->depth)
		return false;
	for (size_t i = 0; i < pools->nr_waits; i++) {
		const struct boundary_wait *wait = &pools->waits[i];

		if (!wait->blocked_ns || pools_thread(pools, wait)->pool != groups->pool ||
		    wait_group(groups, wait) != at)
			continue;
		idle = &groups->idle[of_place[wait->place]];
		idle->sleeps++;
		idle->slept_ns += wait->blocked_ns;
		if (!follows_empty_poll(groups, best, wait))
			continue;
		idle->polled++;
		idle->polled_ns += wait->blocked_ns;
	}
	for (uint32_t i = 0; i < pools->shapes->nr; i++) {
		if (!groups->set[i] || groups->of_shape[i] != at)
			continue;
		idle = &groups->idle[i];
		idle->joins = idle->polled && (OFTEN * idle->polled >= idle->sleeps ||
					       OFTEN * idle->polled_ns >= idle->slept_ns);
		nr += idle->joins;
	}
	return nr;
}

/*
 * True if @other, which is not the best, is a wait of the loop all the same.  A thread
 * that gets a connection and then serves it has two: for the next connection
 * in the loop function itself, for the next request further in.  Whichever is
 * the best, the other one is identified by being nearer, or, if further in, by being
 * a wait for what comes from outside that is slept in far more often, as long
 * as both were reported.
 */
static enum group_joins joins(struct groups *groups, const struct group *best,
			      const struct group *other)
{
	enum { FAR_MORE = 4 };
	uint32_t of_best, of_other;

	if (!other->sleeps || other->kind == SHAPE_SLEEP)
		return GROUP_JOINS_NOT;
	if (is_accept_beside(best, other))
		return GROUP_JOINS_NEARER;
	if (has_idle(groups, best, other))
		return GROUP_JOINS_IDLE;
	if (other->depth < best->depth)
		return is_only(best, SHAPE_MANY) || is_lock_beside(best, other) ? GROUP_JOINS_NOT :
									GROUP_JOINS_NEARER;
	if ((best->kind != SHAPE_WAKEUP && best->kind != SHAPE_ACCEPT) ||
	    other->kind == SHAPE_WAKEUP)
		return GROUP_JOINS_NOT;
	of_best = early_sleeps(groups, (uint32_t)(best - groups->entries), other->last_ns);
	of_other = early_sleeps(groups, (uint32_t)(other - groups->entries), other->last_ns);
	return of_other >= FAR_MORE * (of_best + 1) ? GROUP_JOINS_INNER : GROUP_JOINS_NOT;
}

enum group_joins groups_joins(const struct groups *groups, uint32_t shape)
{
	enum group_joins joins = groups->entries[groups->of_shape[shape]].joins;

	return joins != GROUP_JOINS_IDLE || groups->idle[shape].joins ? joins : GROUP_JOINS_NOT;
}

uint32_t groups_keep_best(struct groups *groups)
{
	uint32_t best = best_group(groups), kept = 0;

	memset(groups->idle, 0, groups->pools->shapes->nr * sizeof(*groups->idle));
	for (uint32_t i = 0; i < groups->nr; i++) {
		struct group *group = &groups->entries[i];

		group->stays = belongs_to(groups, best, i);
		group->joins = group->stays ? GROUP_JOINS_NOT :
					      joins(groups, &groups->entries[best], group);
		kept += group->stays;
	}
	for (uint32_t i = 0; i < groups->pools->shapes->nr; i++)
		if (groups->set[i])
			groups->set[i] = groups->entries[groups->of_shape[i]].stays;
	return kept;
}
