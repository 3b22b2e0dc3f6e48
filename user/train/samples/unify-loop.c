// SPDX-License-Identifier: GPL-2.0

#include "train/samples/unify.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/union-find.h"
#include "train/samples/rank.h"

static int compare_boundaries(const void *a, const void *b)
{
	const struct samples_boundary *of_a = a, *of_b = b;

	return order_of(of_a->role, of_b->role) ?: order_of(of_a->object, of_b->object) ?:
	       order_of(of_a->return_offset, of_b->return_offset) ?:
	       order_of(of_a->syscall, of_b->syscall) ?:
	       order_of(of_a->distance, of_b->distance) ?:
	       order_of(of_a->function, of_b->function);
}

/* Of two that are the same: where one does not know the rise, the other may. */
static void merge_boundary(struct samples_boundary *into, const struct samples_boundary *from)
{
	if (from->rise > into->rise)
		into->rise = from->rise;
}

/* Fields that a role does not use must not distinguish boundaries. */
static void clear_unused(struct samples_boundary *boundary,
			 const struct samples_function *functions)
{
	if (boundary->role != SAMPLES_ROLE_WAIT)
		boundary->rise = 0;
	if (!samples_is_site(boundary)) {
		boundary->function = SAMPLES_NONE;
		return;
	}
	boundary->object = functions[boundary->function].object;
	boundary->return_offset = 0;
	boundary->syscall = 0;
	boundary->distance = 0;
}

static void sort_boundaries(struct samples_loop *loop)
{
	uint32_t kept = 0;

	qsort(loop->boundaries, loop->nr_boundaries, sizeof(*loop->boundaries), compare_boundaries);
	for (uint32_t i = 0; i < loop->nr_boundaries; i++) {
		struct samples_boundary *last = &loop->boundaries[kept ? kept - 1 : 0];

		if (kept && !compare_boundaries(&loop->boundaries[i], last))
			merge_boundary(last, &loop->boundaries[i]);
		else
			loop->boundaries[kept++] = loop->boundaries[i];
	}
	loop->nr_boundaries = kept;
}

/* A wait of a loop, or its start. */
struct wait {
	struct samples_boundary boundary;
	uint32_t loop;
};

static int compare_waits(const void *context, uint32_t a, uint32_t b)
{
	const struct wait *waits = context;

	return compare_boundaries(&waits[a].boundary, &waits[b].boundary);
}

/* Set same[i] to the first loop that is one with loop i. */
static int find_same(const struct samples *samples, uint32_t *same)
{
	struct ranks ranks;
	struct wait *waits;
	uint32_t nr = 0;
	int ret;

	for (uint32_t i = 0; i < samples->nr_loops; i++)
		nr += samples->loops[i].nr_boundaries;
	waits = calloc(nr + 1u, sizeof(*waits));
	if (!waits)
		return -ENOMEM;
	nr = 0;
	for (uint32_t i = 0; i < samples->nr_loops; i++) {
		const struct samples_loop *loop = &samples->loops[i];

		same[i] = i;
		for (uint32_t j = 0; j < loop->nr_boundaries; j++)
			if (samples_begins_units(&loop->boundaries[j]))
				waits[nr++] = (struct wait){ loop->boundaries[j], i };
	}
	ret = ranks_init(&ranks, nr, compare_waits, waits);
	for (uint32_t i = 1; i < nr && !ret; i++) {
		uint32_t a = ranks.sorted[i - 1], b = ranks.sorted[i];

		if (ranks.rank[a] == ranks.rank[b])
			union_join(same, waits[a].loop, waits[b].loop);
	}
	for (uint32_t i = 0; i < samples->nr_loops; i++)
		same[i] = union_find(same, i);
	if (!ret)
		ranks_deinit(&ranks);
	free(waits);
	return ret;
}

static int merge_loop(struct samples_loop *into, struct samples_loop *from)
{
	uint32_t nr = into->nr_boundaries + from->nr_boundaries;

	if (array_resize(into->boundaries, nr + 1UL))
		return -ENOMEM;
	memcpy(into->boundaries + into->nr_boundaries, from->boundaries,
	       from->nr_boundaries * sizeof(*from->boundaries));
	into->nr_boundaries = nr;
	if (from->function < into->function)
		into->function = from->function;
	if (!into->comm[0] || (from->comm[0] && strcmp(from->comm, into->comm) < 0))
		memcpy(into->comm, from->comm, sizeof(into->comm));
	into->has_empty |= from->has_empty;
	into->units = sum_saturating(into->units, from->units);
	into->cut_off = sum_saturating(into->cut_off, from->cut_off);
	into->foreign_stack = sum_saturating(into->foreign_stack, from->foreign_stack);
	into->unmarked = sum_saturating(into->unmarked, from->unmarked);
	free(from->boundaries);
	from->boundaries = NULL;
	from->nr_boundaries = 0;
	return 0;
}

/* No two loops have a wait in common then, so the first distinguishes them. */
static int compare_loops(const void *context, uint32_t a, uint32_t b)
{
	const struct samples_loop *loops = context;

	if (!loops[a].nr_boundaries || !loops[b].nr_boundaries)
		return order_of(loops[b].nr_boundaries, loops[a].nr_boundaries);
	return compare_boundaries(&loops[a].boundaries[0], &loops[b].boundaries[0]);
}

/* Those that became part of another are empty, and last. */
static int sort_loops(struct samples *samples, uint32_t *same)
{
	struct samples_loop *loops = calloc(samples->nr_loops + 1u, sizeof(*loops));
	struct ranks ranks;
	uint32_t nr = 0;
	int ret = loops ? 0 : -ENOMEM;

	if (!ret)
		ret = ranks_init(&ranks, samples->nr_loops, compare_loops, samples->loops);
	if (ret) {
		free(loops);
		return ret;
	}
	for (uint32_t i = 0; i < samples->nr_trees; i++)
		samples->trees[i].loop = ranks.rank[same[samples->trees[i].loop]];
	for (uint32_t i = 0; i < samples->nr_timings; i++)
		samples->timings[i].loop = ranks.rank[same[samples->timings[i].loop]];
	for (uint32_t i = 0; i < samples->nr_loops; i++)
		if (samples->loops[ranks.sorted[i]].nr_boundaries)
			loops[nr++] = samples->loops[ranks.sorted[i]];
	free(samples->loops);
	samples->loops = loops;
	samples->nr_loops = nr;
	ranks_deinit(&ranks);
	return 0;
}

int samples_unify_loops(struct samples *samples)
{
	uint32_t *same = calloc(samples->nr_loops + 1u, sizeof(*same));
	int ret = same ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < samples->nr_loops && !ret; i++) {
		struct samples_loop *loop = &samples->loops[i];
		size_t len = strnlen(loop->comm, sizeof(loop->comm) - 1);

		memset(loop->comm + len, 0, sizeof(loop->comm) - len);
		for (uint32_t j = 0; j < loop->nr_boundaries; j++)
			clear_unused(&loop->boundaries[j], samples->functions);
	}
	if (!ret)
		ret = find_same(samples, same);
	for (uint32_t i = 0; i < samples->nr_loops && !ret; i++)
		if (same[i] != i)
			ret = merge_loop(&samples->loops[same[i]], &samples->loops[i]);
	for (uint32_t i = 0; i < samples->nr_loops && !ret; i++)
		if (same[i] == i)
			sort_boundaries(&samples->loops[i]);
	if (!ret)
		ret = sort_loops(samples, same);
	free(same);
	return ret;
}
