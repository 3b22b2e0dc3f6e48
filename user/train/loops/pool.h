/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Threads that run the same code, and so are judged together: they wait at
 * an equal place, or their stacks part inside of one function.
 */
#ifndef _USER_TRAIN_LOOPS_POOL_H
#define _USER_TRAIN_LOOPS_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "train/loops/boundary.h"
#include "train/loops/wait-shape.h"

struct pool_thread {
	uint32_t tid;
	uint32_t pool;
	uint32_t nr_waits;
	bool recurs; /* it slept in some place again and again */
	bool is_kept; /* waits at one of the loop's places, while a pool is split */
};

struct pools {
	const struct shapes *shapes;
	const struct boundary_wait *waits;
	size_t nr_waits;
	struct pool_thread *threads;
	uint32_t nr_threads;
	uint32_t *thread_of_place;
	uint32_t *of_shape; /* SHAPE_NONE if no thread of a pool waits there */
	uint32_t *slept; /* by place: how often */
	uint32_t nr; /* numbers given; a pool can have become empty */
};

/* The arguments must outlive the pools.  Returns 0 or -ENOMEM. */
int pools_init(struct pools *pools, const struct shapes *shapes,
	       const struct boundary_place *places, uint32_t nr_places,
	       const struct boundary_wait *waits, size_t nr_waits);
void pools_deinit(struct pools *pools);

static inline struct pool_thread *pools_thread(const struct pools *pools,
					       const struct boundary_wait *wait)
{
	return &pools->threads[pools->thread_of_place[wait->place]];
}

/*
 * Threads of @pool that wait again and again, but never at a shape of @is_kept,
 * have another role and become a pool of their own.  One that slept here and
 * there, and nowhere often, may only be about to come to its loop.  Where their stacks have
 * more than @max_frames frames it is more likely one long unit.
 */
void pools_split(struct pools *pools, uint32_t pool, const bool *is_kept, uint32_t max_frames);

#endif /* _USER_TRAIN_LOOPS_POOL_H */
