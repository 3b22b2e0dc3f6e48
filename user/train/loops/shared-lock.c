// SPDX-License-Identifier: GPL-2.0

#include "train/loops/shared-lock.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "train/loops/boundary.h"

enum {
	MANY_CALLERS = 4, /* ways of calls to the wait */
	MANY_THREADS = 3,
	NEAR_FRAMES = 8, /* that a way is compared by, without the system call's own */
	LOCK_BYTES = 8, /* a condition has two words that it uses in turn */
};

/* A place at some address; sorted by process and address. */
struct waiter {
	uint32_t pid;
	uint32_t place;
	uint64_t lock;
};

static int compare_waiters(const void *left, const void *right)
{
	const struct waiter *a = left, *b = right;

	return order_of(a->pid, b->pid) ?: order_of(a->lock, b->lock) ?:
	       order_of(a->place, b->place);
}

/* True if both came to the wait by the same calls, as far as these are compared. */
static bool is_same_way(const struct boundary_place *a, const struct boundary_place *b)
{
	for (uint32_t i = 1; i <= NEAR_FRAMES; i++) {
		if (i >= a->nr_frames || i >= b->nr_frames)
			return a->nr_frames == b->nr_frames;
		if (a->frames[i].pc != b->frames[i].pc)
			return false;
	}
	return true;
}

/* True if so many ways, and so many threads, are among the waiters at one lock. */
static bool is_shared(const struct boundary_place *places, const struct waiter *waiters,
		      uint32_t nr)
{
	const struct boundary_place *ways[MANY_CALLERS];
	uint32_t threads[MANY_THREADS], nr_ways = 0, nr_threads = 0;

	for (uint32_t i = 0; i < nr; i++) {
		const struct boundary_place *place = &places[waiters[i].place];
		uint32_t way = 0, thread = 0;

		while (way < nr_ways && !is_same_way(ways[way], place))
			way++;
		if (way == nr_ways && nr_ways < MANY_CALLERS)
			ways[nr_ways++] = place;
		while (thread < nr_threads && threads[thread] != place->tid)
			thread++;
		if (thread == nr_threads && nr_threads < MANY_THREADS)
			threads[nr_threads++] = place->tid;
		if (nr_ways == MANY_CALLERS && nr_threads == MANY_THREADS)
			return true;
	}
	return false;
}

/* How many of the waiters, from the first one on, wait at the same lock. */
static uint32_t count_same(const struct waiter *waiters, uint32_t nr)
{
	uint32_t same = 1;

	while (same < nr && waiters[same].pid == waiters[0].pid &&
	       waiters[same].lock - waiters[0].lock < LOCK_BYTES)
		same++;
	return same;
}

int shared_lock_find(const struct boundary_place *places, uint32_t nr_places, bool *ret)
{
	struct waiter *waiters = calloc(nr_places + 1, sizeof(*waiters));
	uint32_t nr = 0;

	if (!waiters)
		return -ENOMEM;
	for (uint32_t i = 0; i < nr_places; i++) {
		if (!places[i].lock || places[i].nr_frames < 2)
			continue;
		waiters[nr++] = (struct waiter){
			.pid = places[i].pid,
			.place = i,
			.lock = places[i].lock,
		};
	}
	qsort(waiters, nr, sizeof(*waiters), compare_waiters);
	for (uint32_t i = 0, same; i < nr; i += same) {
		bool is_lock;

		same = count_same(waiters + i, nr - i);
		is_lock = is_shared(places, waiters + i, same);
		for (uint32_t j = i; j < i + same; j++)
			ret[waiters[j].place] = is_lock;
	}
	free(waiters);
	return 0;
}
