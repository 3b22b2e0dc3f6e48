// SPDX-License-Identifier: GPL-2.0

#include "train/loops/pool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	FEW_WAITS = 4, /* less says nothing of a thread's role */
	FEW_SLEEPS = 3, /* the same, in one place */
	MANY_WAITS = 16,
};

static void find_threads(struct pools *pools, const struct boundary_place *places,
			 uint32_t nr_places)
{
	for (uint32_t i = 0; i < nr_places; i++) {
		uint32_t thread = 0;

		while (thread < pools->nr_threads && pools->threads[thread].tid != places[i].tid)
			thread++;
		if (thread == pools->nr_threads) {
			pools->threads[thread].tid = places[i].tid;
			pools->threads[thread].pool = thread;
			pools->nr = ++pools->nr_threads;
		}
		pools->thread_of_place[i] = thread;
	}
	for (size_t i = 0; i < pools->nr_waits; i++) {
		struct pool_thread *thread = pools_thread(pools, &pools->waits[i]);

		thread->nr_waits++;
		if (pools->waits[i].blocked_ns)
			thread->recurs |= ++pools->slept[pools->waits[i].place] >= FEW_SLEEPS;
	}
}

static void join(struct pools *pools, uint32_t from, uint32_t to)
{
	if (from == to)
		return;
	for (uint32_t i = 0; i < pools->nr_threads; i++)
		if (pools->threads[i].pool == from)
			pools->threads[i].pool = to;
	for (uint32_t i = 0; i < pools->shapes->nr; i++)
		if (pools->of_shape[i] == from)
			pools->of_shape[i] = to;
}

static void join_equal_places(struct pools *pools, uint32_t nr_places)
{
	for (uint32_t i = 0; i < pools->shapes->nr; i++)
		pools->of_shape[i] = SHAPE_NONE;
	for (uint32_t i = 0; i < nr_places; i++) {
		uint32_t pool = pools->threads[pools->thread_of_place[i]].pool;
		uint32_t shape = pools->shapes->of_place[i];

		if (shape == SHAPE_NONE)
			continue;
		if (pools->of_shape[shape] == SHAPE_NONE)
			pools->of_shape[shape] = pool;
		else
			join(pools, pool, pools->of_shape[shape]);
	}
}

static void join_equal_functions(struct pools *pools)
{
	for (uint32_t i = 0; i < pools->shapes->nr; i++) {
		for (uint32_t j = 0; j < i; j++) {
			const struct shape *a = &pools->shapes->entries[i];
			const struct shape *b = &pools->shapes->entries[j];

			if (pools->of_shape[i] != pools->of_shape[j] &&
			    shape_same_function(a, b, shape_common(a, b)))
				join(pools, pools->of_shape[i], pools->of_shape[j]);
		}
	}
}

int pools_init(struct pools *pools, const struct shapes *shapes,
	       const struct boundary_place *places, uint32_t nr_places,
	       const struct boundary_wait *waits, size_t nr_waits)
{
	*pools = (struct pools){ .shapes = shapes, .waits = waits, .nr_waits = nr_waits };
	pools->threads = calloc(nr_places + 1, sizeof(*pools->threads));
	pools->thread_of_place = calloc(nr_places + 1, sizeof(*pools->thread_of_place));
	pools->of_shape = calloc(nr_places + 1, sizeof(*pools->of_shape));
	pools->slept = calloc(nr_places + 1, sizeof(*pools->slept));
	if (!pools->slept || !pools->threads || !pools->thread_of_place || !pools->of_shape) {
		pools_deinit(pools);
		return -ENOMEM;
	}
	find_threads(pools, places, nr_places);
	join_equal_places(pools, nr_places);
	join_equal_functions(pools);
	return 0;
}

void pools_deinit(struct pools *pools)
{
	free(pools->threads);
	free(pools->thread_of_place);
	free(pools->of_shape);
	free(pools->slept);
	memset(pools, 0, sizeof(*pools));
}

static void mark_kept(struct pools *pools, const bool *is_kept)
{
	for (uint32_t i = 0; i < pools->nr_threads; i++)
		pools->threads[i].is_kept = false;
	for (size_t i = 0; i < pools->nr_waits; i++) {
		uint32_t shape = pools->shapes->of_place[pools->waits[i].place];

		if (shape != SHAPE_NONE && is_kept[shape])
			pools_thread(pools, &pools->waits[i])->is_kept = true;
	}
}

void pools_split(struct pools *pools, uint32_t pool, const bool *is_kept, uint32_t max_frames)
{
	uint32_t split = SHAPE_NONE;

	mark_kept(pools, is_kept);
	for (size_t i = 0; i < pools->nr_waits; i++) {
		struct pool_thread *thread = pools_thread(pools, &pools->waits[i]);
		uint32_t shape = pools->shapes->of_place[pools->waits[i].place];
		uint32_t limit = FEW_WAITS;

		if (shape == SHAPE_NONE || thread->is_kept ||
		    (thread->pool != pool && thread->pool != split))
			continue;
		if (pools->shapes->entries[shape].place->nr_frames > max_frames)
			limit = MANY_WAITS;
		if (thread->pool == pool && (thread->nr_waits < limit || !thread->recurs))
			continue;
		if (split == SHAPE_NONE)
			split = pools->nr++;
		thread->pool = split;
		pools->of_shape[shape] = split;
	}
}
