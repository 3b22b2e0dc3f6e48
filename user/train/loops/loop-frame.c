// SPDX-License-Identifier: GPL-2.0

#include "train/loops/loop-frame.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

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
	struct rise *entries; /* once settled, one for each place, by place */
	uint32_t nr;
	uint32_t max;
};

/* The intervals between the waits of one loop in one thread. */
struct intervals {
	uint32_t thread;
	uint64_t *tops; /* highest SP of an entry in each; 0: there was none */
	uint32_t nr;
	uint32_t max;
};

struct finder {
	const struct trace *trace;
	const struct trace_loops *loops;
	const struct trace_thread *threads;
	struct intervals *intervals; /* by loop */
	struct rises rises;
	struct loop_frames *levels;
};

/* Contexts of the same code come one after the other. */
struct code_row {
	const struct trace_context *context;
	uint32_t index;
};

static int compare_code(const struct trace_context *a, const struct trace_context *b)
{
	return order_of(a->syscall, b->syscall) ?: order_of(a->object, b->object) ?:
	       order_of(a->return_offset, b->return_offset);
}

static int by_code(const void *a, const void *b)
{
	const struct code_row *left = a, *right = b;
	int order = compare_code(left->context, right->context);

	return order ? order : left->index < right->index ? -1 : left->index > right->index;
}

/* The smallest index of its class; what is on the way gets to know it. */
static uint32_t kin_of(uint32_t *of, uint32_t index)
{
	while (of[index] != index) {
		of[index] = of[of[index]];
		index = of[index];
	}
	return index;
}

static void unite(uint32_t *of, uint32_t a, uint32_t b)
{
	a = kin_of(of, a);
	b = kin_of(of, b);
	of[a < b ? b : a] = a < b ? a : b;
}

static int unite_kin(const struct trace *trace, struct trace_loops *loops)
{
	struct code_row *rows = calloc((size_t)trace->nr_contexts + 1, sizeof(*rows));
	const uint32_t *order = loops->index.order;

	if (!rows)
		return -ENOMEM;
	for (uint32_t i = 0; i < trace->nr_contexts; i++)
		rows[i] = (struct code_row){ &trace->contexts[i], i };
	qsort(rows, trace->nr_contexts, sizeof(*rows), by_code);
	for (uint32_t i = 1; i < trace->nr_contexts; i++) {
		const struct trace_context *context = &trace->contexts[order[i]];
		const struct trace_context *before = &trace->contexts[order[i - 1]];

		if (context->image == before->image && context->loop == before->loop)
			unite(loops->of_context, order[i - 1], order[i]);
		if (!compare_code(rows[i - 1].context, rows[i].context))
			unite(loops->of_context, rows[i - 1].index, rows[i].index);
	}
	free(rows);
	return 0;
}

int trace_loops_init(const struct trace *trace, struct trace_loops *ret)
{
	uint32_t nr = trace->nr_contexts;
	uint32_t *of = calloc((size_t)nr + 1, sizeof(*of));
	int error;

	*ret = (struct trace_loops){ .of_context = of };
	error = of ? wait_index_init(&ret->index, trace) : -ENOMEM;
	for (uint32_t i = 0; !error && i < nr; i++)
		of[i] = i;
	if (!error)
		error = unite_kin(trace, ret);
	if (error) {
		trace_loops_deinit(ret);
		return error;
	}
	/* From class to numbers: the smallest of the class comes first. */
	for (uint32_t i = 0; i < nr; i++)
		of[i] = kin_of(of, i);
	for (uint32_t i = 0; i < nr; i++)
		of[i] = of[i] == i ? ret->nr++ : of[of[i]];
	return 0;
}

void trace_loops_deinit(struct trace_loops *loops)
{
	free(loops->of_context);
	loops->of_context = NULL;
	wait_index_deinit(&loops->index);
}

uint32_t trace_loops_of(const struct trace_loops *loops, const struct trace_thread *thread,
			const struct perfguard_event *event)
{
	uint32_t context = wait_index_of(&loops->index, thread->image, event);

	return context == TRACE_NONE ? TRACE_NONE : loops->of_context[context];
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
	if (intervals->nr)
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

static bool rise_place(const struct trace *trace, const struct trace_thread *thread, uint32_t loop,
		       const struct perfguard_event *wait, struct rise *ret)
{
	*ret = (struct rise){
		.loop = loop,
		.syscall = trace_number(wait) & TRACE_SYSCALL_MASK,
	};
	return trace_locate(trace, thread->image, wait->value, &ret->object, &ret->offset);
}

static int compare_places(const struct rise *a, const struct rise *b)
{
	return order_of(a->loop, b->loop) ?: order_of(a->syscall, b->syscall) ?:
	       order_of(a->object, b->object) ?: order_of(a->offset, b->offset);
}

static int by_place_and_bytes(const void *a, const void *b)
{
	const struct rise *left = a, *right = b;
	int order = compare_places(left, right);

	return order ? order : left->bytes < right->bytes ? -1 : left->bytes > right->bytes;
}

static int rises_add(struct rises *rises, const struct rise *rise)
{
	struct rise *grown;

	if (rises->nr == rises->max) {
		uint32_t max = rises->max ? rises->max * 2 : 64;

		grown = reallocarray(rises->entries, max, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		rises->entries = grown;
		rises->max = max;
	}
	rises->entries[rises->nr++] = *rise;
	return 0;
}

/*
 * Keep of each place the rise that was seen most often; of equals the largest.
 */
static void rises_settle(struct rises *rises)
{
	uint32_t kept = 0;

	if (rises->nr)
		qsort(rises->entries, rises->nr, sizeof(*rises->entries), by_place_and_bytes);
	for (uint32_t i = 0; i < rises->nr;) {
		struct rise rise = rises->entries[i++];

		for (; i < rises->nr && !by_place_and_bytes(&rise, &rises->entries[i]); i++)
			rise.weight += rises->entries[i].weight;
		if (!kept || compare_places(&rises->entries[kept - 1], &rise))
			rises->entries[kept++] = rise;
		else if (rise.weight >= rises->entries[kept - 1].weight)
			rises->entries[kept - 1] = rise;
	}
	rises->nr = kept;
}

/* The rise from a place; 0 if it is not known. */
static uint64_t rises_at(const struct rises *rises, const struct rise *place)
{
	uint32_t low = 0, high = rises->nr;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		int order = compare_places(&rises->entries[middle], place);

		if (!order)
			return rises->entries[middle].bytes;
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return 0;
}

static int levels_add(struct loop_frames *levels, uint32_t thread, uint32_t loop,
		      const struct perfguard_event *wait)
{
	struct loop_frame *grown;

	if (levels->nr == levels->max) {
		uint32_t max = levels->max ? levels->max * 2 : 64;

		grown = reallocarray(levels->entries, max, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		levels->entries = grown;
		levels->max = max;
	}
	levels->entries[levels->nr++] = (struct loop_frame){ thread, loop, wait, 0 };
	return 0;
}

/* The thread waits in a loop: its first wait there has a level. */
static int note_wait(struct finder *finder, uint32_t thread, uint32_t loop,
		     const struct perfguard_event *event)
{
	struct intervals *intervals = &finder->intervals[loop];

	if (intervals->thread == thread)
		return 0;
	intervals->thread = thread;
	intervals->nr = 0;
	return levels_add(finder->levels, thread, loop, event);
}

/* The intervals of all loops of a thread, which get levels without SP. */
static int collect(struct finder *finder, uint32_t index)
{
	const struct trace_thread *thread = &finder->threads[index];
	const struct trace *trace = finder->trace;
	uint32_t loop = TRACE_NONE;
	uint64_t top = 0, wait_sp = 0;
	struct trace_losses losses;
	int error = 0;

	trace_losses_init(&losses, trace, &trace->events[thread->begin]);
	for (size_t i = thread->begin; i < thread->end && !error; i++) {
		const struct perfguard_event *event = &trace->events[i];
		uint32_t waits;

		if (trace_losses_before(&losses, event))
			loop = TRACE_NONE;
		switch (trace_kind(event)) {
		case PERFGUARD_EVENT_KIND_HIT:
			if (event->sp > top && event->sp - wait_sp + LOOP_FRAME_STACK_BYTES <
						       2 * LOOP_FRAME_STACK_BYTES)
				top = event->sp;
			break;
		case PERFGUARD_EVENT_KIND_ENTER:
			waits = trace_loops_of(finder->loops, thread, event);
			if (waits == TRACE_NONE)
				break;
			error = note_wait(finder, index, waits, event);
			if (waits == loop && !error)
				error = intervals_add(&finder->intervals[loop], top);
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
static int learn(struct finder *finder, uint32_t index)
{
	const struct trace_thread *thread = &finder->threads[index];
	uint32_t i = finder->levels->nr;
	int error = collect(finder, index);

	for (; i < finder->levels->nr && !error; i++) {
		const struct loop_frame *level = &finder->levels->entries[i];
		struct rise rise;
		uint64_t weight, sp;

		sp = intervals_level(&finder->intervals[level->loop], &weight);
		if (!sp || sp < level->wait->sp ||
		    !rise_place(finder->trace, thread, level->loop, level->wait, &rise))
			continue;
		rise.bytes = sp - level->wait->sp;
		rise.weight = weight;
		error = rises_add(&finder->rises, &rise);
	}
	return error;
}

static int by_thread_and_loop(const void *a, const void *b)
{
	const struct loop_frame *left = a, *right = b;

	return order_of(left->thread, right->thread) ?: order_of(left->loop, right->loop);
}

/* Set the levels of all threads, those that told nothing by what others did. */
static void place(struct finder *finder)
{
	struct loop_frames *levels = finder->levels;
	uint32_t kept = 0;

	rises_settle(&finder->rises);
	for (uint32_t i = 0; i < levels->nr; i++) {
		struct loop_frame level = levels->entries[i];
		struct rise at;
		uint64_t bytes;

		if (!rise_place(finder->trace, &finder->threads[level.thread], level.loop,
				level.wait, &at))
			continue;
		bytes = rises_at(&finder->rises, &at);
		if (!bytes)
			continue;
		level.sp = level.wait->sp + bytes;
		levels->entries[kept++] = level;
	}
	levels->nr = kept;
	if (kept)
		qsort(levels->entries, kept, sizeof(*levels->entries), by_thread_and_loop);
}

int loop_frames_find(const struct trace *trace, const struct trace_loops *loops,
		     const struct trace_thread *threads, uint32_t nr_threads,
		     struct loop_frames *ret)
{
	struct finder finder = {
		.trace = trace,
		.loops = loops,
		.threads = threads,
		.intervals = calloc((size_t)loops->nr + 1, sizeof(*finder.intervals)),
		.levels = ret,
	};
	int error = finder.intervals ? 0 : -ENOMEM;

	*ret = (struct loop_frames){ 0 };
	for (uint32_t i = 0; i < loops->nr && !error; i++)
		finder.intervals[i].thread = TRACE_NONE;
	for (uint32_t i = 0; i < nr_threads && !error; i++)
		error = learn(&finder, i);
	if (error)
		loop_frames_deinit(ret);
	else
		place(&finder);
	for (uint32_t i = 0; finder.intervals && i < loops->nr; i++)
		free(finder.intervals[i].tops);
	free(finder.intervals);
	free(finder.rises.entries);
	return error;
}

void loop_frames_deinit(struct loop_frames *levels)
{
	free(levels->entries);
	*levels = (struct loop_frames){ 0 };
}

uint64_t loop_frames_sp(const struct loop_frames *levels, uint32_t thread, uint32_t loop)
{
	const struct loop_frame wanted = { .thread = thread, .loop = loop };
	const struct loop_frame *level = NULL;

	if (levels->nr)
		level = bsearch(&wanted, levels->entries, levels->nr, sizeof(wanted),
				by_thread_and_loop);
	return level ? level->sp : 0;
}
