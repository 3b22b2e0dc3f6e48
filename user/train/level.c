// SPDX-License-Identifier: GPL-2.0

#include "level.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/*
 * The shallowest entry counts if it recurs: in one interval of fifty, and at
 * least twice.  What is further out was left once, by the way into the loop or
 * a signal handler.
 */
enum {
	RECURS = 50,
	RECURS_LEAST = 2,
	RETURN_SLOT = 8,
};

/* Stacks are not larger; what is further away is on another one. */
#define STACK_BYTES (UINT64_C(8) << 20)

/* A distance from a wait place to the loop frame, and how often it was seen. */
struct rise {
	uint32_t loop;
	uint32_t syscall;
	uint32_t object; /* of the wait's instruction pointer */
	uint64_t offset;
	uint64_t bytes;
	uint64_t weight;
};

struct rises {
	struct rise *entries;
	uint32_t nr;
};

/* The intervals between the waits of one loop in one thread. */
struct intervals {
	uint64_t *tops; /* highest SP of an entry in each; 0: there was none */
	uint32_t nr;
	uint32_t max;
};

static bool is_same_code(const struct trace_context *a, const struct trace_context *b)
{
	return a->syscall == b->syscall && a->object == b->object &&
	       a->return_offset == b->return_offset;
}

static bool is_same_loop(const struct trace_context *a, const struct trace_context *b)
{
	return (a->image == b->image && a->loop == b->loop) || is_same_code(a, b);
}

int level_loops_find(const struct trace *trace, struct level_loops *ret)
{
	uint32_t nr = trace->nr_contexts;
	uint32_t *of = calloc(nr ? nr : 1, sizeof(*of));
	bool is_changed = true;

	*ret = (struct level_loops){ .of_context = of };
	if (!of)
		return -ENOMEM;
	for (uint32_t i = 0; i < nr; i++)
		of[i] = i;
	/* Each takes the smallest index of its kin, until all agree. */
	while (is_changed) {
		is_changed = false;
		for (uint32_t i = 0; i < nr; i++) {
			for (uint32_t j = 0; j < nr; j++) {
				if (of[j] >= of[i] ||
				    !is_same_loop(&trace->contexts[i], &trace->contexts[j]))
					continue;
				of[i] = of[j];
				is_changed = true;
			}
		}
	}
	for (uint32_t i = 0; i < nr; i++)
		of[i] = of[i] == i ? ret->nr++ : of[of[i]];
	return 0;
}

void level_loops_deinit(struct level_loops *loops)
{
	free(loops->of_context);
	loops->of_context = NULL;
}

uint32_t level_loop_of(const struct trace *trace, const struct level_loops *loops,
		       const struct walk_thread *thread, const struct perfguard_event *event)
{
	uint32_t id = trace_number(event) >> TRACE_LOOP_SHIFT;

	if (!id)
		return TRACE_NONE;
	for (uint32_t i = 0; i < trace->nr_contexts; i++)
		if (trace->contexts[i].image == thread->image && trace->contexts[i].loop == id)
			return loops->of_context[i];
	return TRACE_NONE;
}

static int intervals_add(struct intervals *intervals, uint64_t top)
{
	uint64_t *grown;

	if (intervals->nr == intervals->max) {
		uint32_t max = intervals->max ? intervals->max * 2 : 64;

		grown = reallocarray(intervals->tops, max, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		intervals->tops = grown;
		intervals->max = max;
	}
	intervals->tops[intervals->nr++] = top;
	return 0;
}

static int by_falling(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

	return left < right ? 1 : left > right ? -1 : 0;
}

/* SP of the loop frame by these intervals; 0 if they do not tell. */
static uint64_t intervals_level(struct intervals *intervals, uint64_t *ret_weight)
{
	uint64_t needed = intervals->nr / RECURS;
	uint32_t run = 0;

	if (needed < RECURS_LEAST)
		needed = RECURS_LEAST;
	qsort(intervals->tops, intervals->nr, sizeof(*intervals->tops), by_falling);
	for (uint32_t i = 0; i < intervals->nr && intervals->tops[i]; i++) {
		run = i && intervals->tops[i] == intervals->tops[i - 1] ? run + 1 : 1;
		if (run < needed)
			continue;
		while (i + 1 < intervals->nr && intervals->tops[i + 1] == intervals->tops[i]) {
			run++;
			i++;
		}
		*ret_weight = run;
		return intervals->tops[i] + RETURN_SLOT;
	}
	return 0;
}

static bool rise_place(const struct trace *trace, const struct walk_thread *thread, uint32_t loop,
		       const struct perfguard_event *wait, struct rise *ret)
{
	*ret = (struct rise){
		.loop = loop,
		.syscall = trace_number(wait) & TRACE_SYSCALL_MASK,
	};
	return trace_locate(trace, thread->image, wait->value, &ret->object, &ret->offset);
}

static bool is_same_place(const struct rise *a, const struct rise *b)
{
	return a->loop == b->loop && a->syscall == b->syscall && a->object == b->object &&
	       a->offset == b->offset;
}

static int rises_add(struct rises *rises, const struct rise *rise)
{
	struct rise *grown;

	for (uint32_t i = 0; i < rises->nr; i++) {
		if (is_same_place(&rises->entries[i], rise) &&
		    rises->entries[i].bytes == rise->bytes) {
			rises->entries[i].weight += rise->weight;
			return 0;
		}
	}
	grown = reallocarray(rises->entries, rises->nr + 1, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	rises->entries = grown;
	rises->entries[rises->nr++] = *rise;
	return 0;
}

/* The rise most often seen from a place; of equals the largest; 0 if none. */
static uint64_t rises_best(const struct rises *rises, const struct rise *place)
{
	const struct rise *best = NULL;

	for (uint32_t i = 0; i < rises->nr; i++) {
		const struct rise *rise = &rises->entries[i];

		if (!is_same_place(rise, place))
			continue;
		if (!best || rise->weight > best->weight ||
		    (rise->weight == best->weight && rise->bytes > best->bytes))
			best = rise;
	}
	return best ? best->bytes : 0;
}

/* The first wait of @loop in a thread. */
static const struct perfguard_event *first_wait(const struct trace *trace,
						const struct level_loops *loops,
						const struct walk_thread *thread, uint32_t loop)
{
	for (size_t i = thread->begin; i < thread->end; i++) {
		const struct perfguard_event *event = &trace->events[i];

		if (trace_kind(event) == PERFGUARD_EVENT_KIND_ENTER &&
		    level_loop_of(trace, loops, thread, event) == loop)
			return event;
	}
	return NULL;
}

/* Gather the intervals of all loops of a thread. */
static int gather(const struct trace *trace, const struct level_loops *loops,
		  const struct walk_thread *thread, struct intervals *intervals)
{
	uint32_t loop = TRACE_NONE;
	uint64_t top = 0, wait_sp = 0;
	struct walk_losses losses;
	int error = 0;

	for (uint32_t i = 0; i < loops->nr; i++)
		intervals[i].nr = 0;
	walk_losses_init(&losses, trace, &trace->events[thread->begin]);
	for (size_t i = thread->begin; i < thread->end && !error; i++) {
		const struct perfguard_event *event = &trace->events[i];
		uint32_t waits;

		if (walk_losses_before(&losses, event))
			loop = TRACE_NONE;
		switch (trace_kind(event)) {
		case PERFGUARD_EVENT_KIND_HIT:
			if (event->sp > top && event->sp - wait_sp + STACK_BYTES < 2 * STACK_BYTES)
				top = event->sp;
			break;
		case PERFGUARD_EVENT_KIND_ENTER:
			waits = level_loop_of(trace, loops, thread, event);
			if (waits == TRACE_NONE)
				break;
			if (waits == loop)
				error = intervals_add(&intervals[loop], top);
			loop = waits;
			top = 0;
			wait_sp = event->sp;
			break;
		default:
			break;
		}
	}
	return error;
}

/* What a thread's own intervals say of the rises. */
static int learn(const struct trace *trace, const struct level_loops *loops,
		 const struct walk_thread *thread, struct intervals *intervals,
		 struct rises *rises)
{
	int error = gather(trace, loops, thread, intervals);

	for (uint32_t loop = 0; loop < loops->nr && !error; loop++) {
		const struct perfguard_event *wait;
		struct rise rise;
		uint64_t weight, sp;

		sp = intervals_level(&intervals[loop], &weight);
		wait = sp ? first_wait(trace, loops, thread, loop) : NULL;
		if (!wait || sp < wait->sp || !rise_place(trace, thread, loop, wait, &rise))
			continue;
		rise.bytes = sp - wait->sp;
		rise.weight = weight;
		error = rises_add(rises, &rise);
	}
	return error;
}

static int place_thread(const struct trace *trace, const struct level_loops *loops,
			const struct walk_thread *thread, uint32_t index,
			const struct rises *rises, struct levels *ret)
{
	for (uint32_t loop = 0; loop < loops->nr; loop++) {
		const struct perfguard_event *wait = first_wait(trace, loops, thread, loop);
		struct level *grown;
		struct rise place;
		uint64_t bytes;

		if (!wait || !rise_place(trace, thread, loop, wait, &place))
			continue;
		bytes = rises_best(rises, &place);
		if (!bytes)
			continue;
		grown = reallocarray(ret->entries, ret->nr + 1, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		ret->entries = grown;
		ret->entries[ret->nr++] = (struct level){
			.thread = index,
			.loop = loop,
			.sp = wait->sp + bytes,
		};
	}
	return 0;
}

int levels_find(const struct trace *trace, const struct level_loops *loops,
		const struct walk_thread *threads, uint32_t nr_threads, struct levels *ret)
{
	struct intervals *intervals = calloc(loops->nr + 1, sizeof(*intervals));
	struct rises rises = { 0 };
	int error = intervals ? 0 : -ENOMEM;

	*ret = (struct levels){ 0 };
	for (uint32_t i = 0; i < nr_threads && !error; i++)
		error = learn(trace, loops, &threads[i], intervals, &rises);
	for (uint32_t i = 0; i < nr_threads && !error; i++)
		error = place_thread(trace, loops, &threads[i], i, &rises, ret);
	if (error)
		levels_deinit(ret);
	for (uint32_t i = 0; intervals && i < loops->nr; i++)
		free(intervals[i].tops);
	free(intervals);
	free(rises.entries);
	return error;
}

void levels_deinit(struct levels *levels)
{
	free(levels->entries);
	*levels = (struct levels){ 0 };
}

uint64_t levels_sp(const struct levels *levels, uint32_t thread, uint32_t loop)
{
	for (uint32_t i = 0; i < levels->nr; i++)
		if (levels->entries[i].thread == thread && levels->entries[i].loop == loop)
			return levels->entries[i].sp;
	return 0;
}
