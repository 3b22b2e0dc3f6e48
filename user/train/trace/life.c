// SPDX-License-Identifier: GPL-2.0

#include "train/trace/life.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "train/trace/call-stack.h"

enum {
	MANY_LIVES = 16, /* with one function; fewer threads may be helpers */
	FEW_OTHERS = 10, /* one of so many may come to a loop */
	MAX_FUNCTIONS = 64, /* that threads start with */
	LAST_ID = 0xffff, /* of a loop, in an event; the module's begin with 1 */
};

/* What is known of threads that start with one function. */
struct start {
	uint32_t lives;
	uint32_t others; /* that come to a loop */
	uint32_t id; /* of their loop, 0 for none */
};

/* A loop as the discovery had it: where threads wait. */
struct supposed_loop {
	uint32_t image;
	uint32_t id;
	uint32_t waits; /* of the thread at hand */
	uint32_t once; /* threads that waited once in all of their life */
	uint32_t more; /* that waited more often */
	bool is_none; /* lives have a wait in them, and do not go round */
};

struct life {
	uint32_t function; /* the first one that the thread enters; TRACE_NONE: it is no life */
	uint64_t sp; /* there, at its entry */
	bool is_other;
};

struct life_finder {
	struct trace *trace;
	struct trace_thread *threads;
	uint32_t nr_threads;
	struct supposed_loop *loops;
	uint32_t nr_loops;
	struct life *lives; /* by thread */
	struct start *starts; /* by function */
};

static uint32_t loop_id(const struct perfguard_event *event)
{
	switch (trace_kind(event)) {
	case PERFGUARD_EVENT_KIND_ENTER:
	case PERFGUARD_EVENT_KIND_LEAVE:
		return trace_number(event) >> TRACE_LOOP_SHIFT;
	default:
		return 0;
	}
}

static struct supposed_loop *find_loop(const struct life_finder *finder, uint32_t image,
				       uint32_t id)
{
	for (uint32_t i = 0; i < finder->nr_loops && id; i++)
		if (finder->loops[i].image == image && finder->loops[i].id == id)
			return &finder->loops[i];
	return NULL;
}

/* So many threads are lives, and hardly any others, that none is meant to be another. */
static bool are_lives(uint32_t lives, uint32_t others)
{
	return lives >= MANY_LIVES && others <= lives / FEW_OTHERS;
}

/* A thread's first event comes with its start, or it was known before this stage. */
static bool is_born_here(const struct trace *trace, const struct trace_thread *thread)
{
	const struct perfguard_event *first = &trace->events[thread->begin];

	return trace_kind(first) == PERFGUARD_EVENT_KIND_START && trace_number(first) &&
	       thread->end - thread->begin > 1 && first[1].time_ns - first->time_ns <= 1;
}

static bool has_ended(const struct trace *trace, const struct trace_thread *thread)
{
	return trace_kind(&trace->events[thread->end - 1]) == PERFGUARD_EVENT_KIND_END;
}

static void count_waits(struct life_finder *finder, const struct trace_thread *thread)
{
	const struct trace *trace = finder->trace;
	bool is_whole = is_born_here(trace, thread) && has_ended(trace, thread);

	for (uint32_t i = 0; i < finder->nr_loops; i++)
		finder->loops[i].waits = 0;
	for (size_t i = thread->begin; i < thread->end; i++) {
		struct supposed_loop *loop =
			find_loop(finder, thread->image, loop_id(&trace->events[i]));

		if (loop && trace_kind(&trace->events[i]) == PERFGUARD_EVENT_KIND_ENTER)
			loop->waits++;
	}
	for (uint32_t i = 0; i < finder->nr_loops; i++) {
		finder->loops[i].once += is_whole && finder->loops[i].waits == 1;
		finder->loops[i].more += finder->loops[i].waits > 1;
	}
}

static bool is_no_loop(const struct life_finder *finder, uint32_t image, uint32_t id)
{
	const struct supposed_loop *loop = find_loop(finder, image, id);

	return loop && loop->is_none;
}

/* What the thread's events say of loops that are none. */
static void forget_waits(const struct life_finder *finder, const struct trace_thread *thread)
{
	struct perfguard_event *events = finder->trace->events;

	for (size_t i = thread->begin; i < thread->end; i++)
		if (is_no_loop(finder, thread->image, loop_id(&events[i])))
			events[i].what &= ~((uint32_t)TRACE_NUMBER_MASK - TRACE_SYSCALL_MASK);
}

/* Forget the loops to which hardly a thread comes back: their waits are as any others. */
static void drop_loops(struct life_finder *finder)
{
	struct trace *trace = finder->trace;
	uint32_t nr = 0, kept = 0;

	for (uint32_t i = 0; i < finder->nr_loops; i++) {
		struct supposed_loop *loop = &finder->loops[i];

		loop->is_none = are_lives(loop->once, loop->more);
		nr += loop->is_none;
	}
	for (uint32_t i = 0; i < finder->nr_threads && nr; i++)
		forget_waits(finder, &finder->threads[i]);
	for (uint32_t i = 0; i < trace->nr_contexts; i++)
		if (!is_no_loop(finder, trace->contexts[i].image, trace->contexts[i].loop))
			trace->contexts[kept++] = trace->contexts[i];
	trace->nr_contexts = kept;
}

static struct life life_of(const struct trace *trace, const struct trace_thread *thread)
{
	struct life life = { .function = TRACE_NONE };

	if (!is_born_here(trace, thread))
		return life;
	for (size_t i = thread->begin; i < thread->end; i++) {
		const struct perfguard_event *event = &trace->events[i];

		life.is_other |= loop_id(event) != 0;
		if (trace_kind(event) != PERFGUARD_EVENT_KIND_HIT || life.function != TRACE_NONE ||
		    trace_number(event) >= trace->nr_functions)
			continue;
		life.function = trace_number(event);
		life.sp = event->sp;
	}
	if (!life.is_other && !has_ended(trace, thread))
		life.function = TRACE_NONE;
	return life;
}

/* Which threads are lives, and what starts them. */
static void find_lives(struct life_finder *finder)
{
	for (uint32_t i = 0; i < finder->nr_threads; i++) {
		struct life *life = &finder->lives[i];

		*life = life_of(finder->trace, &finder->threads[i]);
		if (life->function == TRACE_NONE)
			continue;
		finder->starts[life->function].lives += !life->is_other;
		finder->starts[life->function].others += life->is_other;
	}
}

/* Give loops to the functions that most threads start with to do one unit. */
static uint32_t number_starts(struct start *starts, uint32_t nr)
{
	uint32_t found = 0;

	for (uint32_t i = 0; i < nr && found < MAX_FUNCTIONS; i++)
		if (are_lives(starts[i].lives, starts[i].others))
			starts[i].id = LAST_ID - found++;
	return found;
}

static int add_context(struct trace *trace, uint32_t image, uint32_t function, uint32_t id)
{
	struct trace_context *contexts;

	for (uint32_t i = 0; i < trace->nr_contexts; i++)
		if (trace->contexts[i].image == image && trace->contexts[i].loop == id)
			return 0;
	if (array_resize(trace->contexts, trace->nr_contexts + 1UL))
		return -ENOMEM;
	contexts = trace->contexts;
	contexts[trace->nr_contexts] = (struct trace_context){
		.image = image,
		.loop = id,
		.syscall = TRACE_LIFE_SYSCALL,
		.object = trace->functions[function].object,
		.return_offset = trace->functions[function].offset,
	};
	/* Threads have the name of those that started them, mostly. */
	if (trace->nr_contexts)
		memcpy(contexts[trace->nr_contexts].comm, contexts[0].comm,
		       sizeof(contexts[0].comm));
	trace->nr_contexts++;
	return 0;
}

/* What the thread would do if it waited in exit() before its first event and after the last. */
static int add_waits(struct trace *trace, const struct trace_thread *thread,
		     const struct life *life, uint32_t id)
{
	uint32_t number = TRACE_LIFE_SYSCALL | id << TRACE_LOOP_SHIFT;
	struct perfguard_event events[] = {
		{ .what = (uint32_t)PERFGUARD_EVENT_KIND_ENTER << TRACE_KIND_SHIFT | number },
		{ .what = (uint32_t)PERFGUARD_EVENT_KIND_LEAVE << TRACE_KIND_SHIFT | number },
		{ .what = (uint32_t)PERFGUARD_EVENT_KIND_ENTER << TRACE_KIND_SHIFT | number },
	};

	events[0].time_ns = events[1].time_ns = trace->events[thread->begin].time_ns;
	events[2].time_ns = trace->events[thread->end - 1].time_ns - 1;
	events[0].sp = events[2].sp = life->sp + CALL_PUSH_BYTES;
	for (int i = 0; i < 3; i++)
		events[i].tid = thread->tid;
	return trace_add(trace, events, 3);
}

static int add_all(const struct life_finder *finder)
{
	struct trace *trace = finder->trace;
	int error = 0;

	for (uint32_t i = 0; i < finder->nr_threads && !error; i++) {
		const struct trace_thread *thread = &finder->threads[i];
		const struct life *life = &finder->lives[i];
		uint32_t id = life->function != TRACE_NONE ? finder->starts[life->function].id : 0;

		if (!id || life->is_other)
			continue;
		error = add_context(trace, thread->image, life->function, id);
		if (!error)
			error = add_waits(trace, thread, life, id);
	}
	return error;
}

static int finder_init(struct life_finder *finder, struct trace *trace)
{
	int error;

	*finder = (struct life_finder){ .trace = trace };
	error = trace_threads(trace, &finder->threads, &finder->nr_threads);
	if (error)
		return error;
	finder->loops = calloc((size_t)trace->nr_contexts + 1, sizeof(*finder->loops));
	finder->lives = calloc((size_t)finder->nr_threads + 1, sizeof(*finder->lives));
	finder->starts = calloc((size_t)trace->nr_functions + 1, sizeof(*finder->starts));
	if (!finder->loops || !finder->lives || !finder->starts)
		return -ENOMEM;
	for (uint32_t i = 0; i < trace->nr_contexts; i++)
		if (!find_loop(finder, trace->contexts[i].image, trace->contexts[i].loop))
			finder->loops[finder->nr_loops++] = (struct supposed_loop){
				.image = trace->contexts[i].image,
				.id = trace->contexts[i].loop,
			};
	return 0;
}

static void finder_deinit(struct life_finder *finder)
{
	free(finder->threads);
	free(finder->loops);
	free(finder->lives);
	free(finder->starts);
}

int lives_add(struct trace *trace)
{
	struct life_finder finder;
	int error = finder_init(&finder, trace);

	if (!error) {
		for (uint32_t i = 0; i < finder.nr_threads; i++)
			count_waits(&finder, &finder.threads[i]);
		drop_loops(&finder);
		find_lives(&finder);
		if (number_starts(finder.starts, trace->nr_functions)) {
			error = add_all(&finder);
			error = error ?: trace_sort(trace);
		}
	}
	finder_deinit(&finder);
	return error;
}

uint32_t life_function(const struct trace *trace, const struct trace_context *context)
{
	for (uint32_t i = 0; i < trace->nr_functions; i++)
		if (trace->functions[i].object == context->object &&
		    trace->functions[i].offset == context->return_offset)
			return i;
	return TRACE_NONE;
}
