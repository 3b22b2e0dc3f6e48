// SPDX-License-Identifier: GPL-2.0

#include "train/trace/loop-frame.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"

/*
 * The shallowest entry counts if it recurs: in one interval of fifty, and at
 * least twice.  What is further out was left once, by the way into the loop or
 * a signal handler.
 */
enum {
	RECURS = 50,
	RECURS_LEAST = 2,
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
	size_t max;
};

/* The intervals between the waits of one loop in one thread. */
struct intervals {
	uint32_t thread;
	uint64_t *tops; /* highest SP of an entry in each; 0: there was none */
	uint32_t nr;
	size_t max;
};

struct frame_finder {
	const struct trace *trace;
	const struct context_classes *contexts;
	const struct trace_thread *threads;
	struct intervals *intervals; /* by loop */
	struct rises rises;
	struct loop_frames *frames;
};

/* SP of the loop frame by these intervals; 0 if they do not show it. */
static uint64_t intervals_sp(struct intervals *intervals, uint64_t *ret_weight)
{
	uint64_t needed = intervals->nr / RECURS;
	uint32_t run = 0;

	if (needed < RECURS_LEAST)
		needed = RECURS_LEAST;
	if (intervals->nr)
		qsort(intervals->tops, intervals->nr, sizeof(*intervals->tops), order_u64);
	/* The highest first. */
	for (uint32_t i = intervals->nr; i-- > 0 && intervals->tops[i];) {
		run = i + 1 < intervals->nr && intervals->tops[i] == intervals->tops[i + 1] ?
			      run + 1 : 1;
		if (run < needed)
			continue;
		for (; i && intervals->tops[i - 1] == intervals->tops[i]; i--)
			run++;
		*ret_weight = run;
		return intervals->tops[i] + CALL_PUSH_BYTES;
	}
	return 0;
}

static bool rise_place(const struct trace *trace, const struct trace_thread *thread, uint32_t loop,
		       const struct perfguard_event *wait, struct rise *ret)
{
	*ret = (struct rise){
		.loop = loop,
		.syscall = trace_syscall(wait),
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

	return order ?: order_of(left->bytes, right->bytes);
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

static int by_place(const void *a, const void *b)
{
	return compare_places(a, b);
}

/* The rise from a place; 0 if it is not known. */
static uint64_t rises_at(const struct rises *rises, const struct rise *place)
{
	const struct rise *rise = NULL;

	if (rises->nr)
		rise = bsearch(place, rises->entries, rises->nr, sizeof(*place), by_place);
	return rise ? rise->bytes : 0;
}

/* The thread waits in a loop: its first wait there has a frame. */
static int note_wait(struct frame_finder *finder, uint32_t thread, uint32_t loop,
		     const struct perfguard_event *event)
{
	struct intervals *intervals = &finder->intervals[loop];
	struct loop_frames *frames = finder->frames;

	if (intervals->thread == thread)
		return 0;
	intervals->thread = thread;
	intervals->nr = 0;
	if (array_grow(frames->entries, frames->nr, frames->max))
		return -ENOMEM;
	frames->entries[frames->nr++] = (struct loop_frame){ thread, loop, event, 0 };
	return 0;
}

/* The intervals of all loops of a thread, which get frames without SP. */
static int collect(struct frame_finder *finder, uint32_t index)
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
		struct intervals *intervals;
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
			waits = context_classes_loop(finder->contexts, thread->image, event);
			if (waits == TRACE_NONE)
				break;
			error = note_wait(finder, index, waits, event);
			intervals = &finder->intervals[waits];
			if (waits == loop && !error)
				error = array_grow(intervals->tops, intervals->nr, intervals->max);
			if (waits == loop && !error)
				intervals->tops[intervals->nr++] = top;
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
static int learn(struct frame_finder *finder, uint32_t index)
{
	const struct trace_thread *thread = &finder->threads[index];
	uint32_t i = finder->frames->nr;
	int error = collect(finder, index);

	for (; i < finder->frames->nr && !error; i++) {
		const struct loop_frame *frame = &finder->frames->entries[i];
		struct rise rise;
		uint64_t weight, sp;

		sp = intervals_sp(&finder->intervals[frame->loop], &weight);
		if (!sp || sp < frame->wait->sp ||
		    !rise_place(finder->trace, thread, frame->loop, frame->wait, &rise))
			continue;
		rise.bytes = sp - frame->wait->sp;
		rise.weight = weight;
		error = array_grow(finder->rises.entries, finder->rises.nr, finder->rises.max);
		if (!error)
			finder->rises.entries[finder->rises.nr++] = rise;
	}
	return error;
}

static int by_thread_and_loop(const void *a, const void *b)
{
	const struct loop_frame *left = a, *right = b;

	return order_of(left->thread, right->thread) ?: order_of(left->loop, right->loop);
}

/* Set the frames of all threads, those without evidence by that of others. */
static void place(struct frame_finder *finder)
{
	struct loop_frames *frames = finder->frames;
	uint32_t kept = 0;

	rises_settle(&finder->rises);
	for (uint32_t i = 0; i < frames->nr; i++) {
		struct loop_frame frame = frames->entries[i];
		struct rise at;
		uint64_t bytes;

		/* The begin of a thread's life shows where its frame is. */
		if (trace_syscall(frame.wait) == TRACE_LIFE_SYSCALL) {
			frame.sp = frame.wait->sp;
			frames->entries[kept++] = frame;
			continue;
		}
		if (!rise_place(finder->trace, &finder->threads[frame.thread], frame.loop,
				frame.wait, &at))
			continue;
		bytes = rises_at(&finder->rises, &at);
		if (!bytes)
			continue;
		frame.sp = frame.wait->sp + bytes;
		frames->entries[kept++] = frame;
	}
	frames->nr = kept;
	if (kept)
		qsort(frames->entries, kept, sizeof(*frames->entries), by_thread_and_loop);
}

int loop_frames_find(const struct context_classes *contexts,
		     const struct trace_thread *threads, uint32_t nr_threads,
		     struct loop_frames *ret)
{
	struct frame_finder finder = {
		.trace = contexts->trace,
		.contexts = contexts,
		.threads = threads,
		.intervals = calloc((size_t)contexts->nr_loops + 1, sizeof(*finder.intervals)),
		.frames = ret,
	};
	int error = finder.intervals ? 0 : -ENOMEM;

	*ret = (struct loop_frames){ 0 };
	for (uint32_t i = 0; i < contexts->nr_loops && !error; i++)
		finder.intervals[i].thread = TRACE_NONE;
	for (uint32_t i = 0; i < nr_threads && !error; i++)
		error = learn(&finder, i);
	if (error)
		loop_frames_deinit(ret);
	else
		place(&finder);
	for (uint32_t i = 0; finder.intervals && i < contexts->nr_loops; i++)
		free(finder.intervals[i].tops);
	free(finder.intervals);
	free(finder.rises.entries);
	return error;
}

void loop_frames_deinit(struct loop_frames *frames)
{
	free(frames->entries);
	*frames = (struct loop_frames){ 0 };
}

uint64_t loop_frames_sp(const struct loop_frames *frames, uint32_t thread, uint32_t loop)
{
	const struct loop_frame wanted = { .thread = thread, .loop = loop };
	const struct loop_frame *frame = NULL;

	if (frames->nr)
		frame = bsearch(&wanted, frames->entries, frames->nr, sizeof(wanted),
				by_thread_and_loop);
	return frame ? frame->sp : 0;
}
