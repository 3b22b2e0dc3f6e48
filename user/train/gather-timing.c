// SPDX-License-Identifier: GPL-2.0

#include "gather-timing.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/samples-hash.h"
#include "cutter.h"
#include "match.h"
#include "pass.h"
#include "times.h"
#include "wait-index.h"
#include "walk.h"

enum {
	MAX_HITS = 1024, /* different contexts of a unit that are kept */
};

struct timed_unit {
	uint64_t start_ns;
	uint64_t elapsed_ns;
	uint32_t loop;
	uint32_t timing;
	uint64_t hits;
};

struct timer {
	const struct trace *trace;
	const struct samples *profile;
	struct wait_index waits;
	uint32_t *function_of; /* the profile's, by the trace's */
	bool *is_guard; /* by function of the profile */
	struct samples *samples;
	struct timed_unit *units;
	size_t nr_units;
	size_t max_units;
	uint32_t max_timings;
	uint32_t *slots; /* of timings, index + 1 */
	uint32_t nr_slots;
	/* The thread. */
	const struct walk_thread *thread;
	struct cutter cutter;
	uint32_t loop; /* SAMPLES_NONE: not in one */
	uint64_t loop_sp;
	const struct perfguard_event *enter;
	const struct samples_boundary *boundary; /* it is in */
	struct samples_hit met[MAX_HITS]; /* by function and depth */
	uint32_t nr_met;
	uint64_t hits;
};

static uint64_t hash_of(uint32_t loop, const struct samples_hit *hits, uint32_t nr)
{
	uint64_t hash = loop + 1;

	for (uint32_t i = 0; i < nr; i++) {
		hash = (hash ^ (((uint64_t)hits[i].function << 32) | hits[i].depth)) *
		       UINT64_C(0x9e3779b97f4a7c15);
		hash ^= hash >> 29;
	}
	return hash;
}

static int grow_slots(struct timer *timer)
{
	uint32_t nr = timer->nr_slots ? timer->nr_slots * 2 : 1024;
	uint32_t *slots;

	if (2 * timer->samples->nr_timings < timer->nr_slots)
		return 0;
	slots = calloc(nr, sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	for (uint32_t i = 0; i < timer->samples->nr_timings; i++) {
		const struct samples_timing *timing = &timer->samples->timings[i];
		uint32_t slot = (uint32_t)(hash_of(timing->loop, timing->hits,
						   timing->nr_hits) >> 32) & (nr - 1);

		while (slots[slot])
			slot = (slot + 1) & (nr - 1);
		slots[slot] = i + 1;
	}
	free(timer->slots);
	timer->slots = slots;
	timer->nr_slots = nr;
	return 0;
}

/* The timing of units of this loop with the contexts at hand, which are sorted. */
static int timing_get(struct timer *timer, uint32_t *ret)
{
	struct samples *samples = timer->samples;
	struct samples_timing *grown;
	struct samples_hit *hits;
	uint32_t slot;

	if (grow_slots(timer))
		return -ENOMEM;
	slot = (uint32_t)(hash_of(timer->loop, timer->met, timer->nr_met) >> 32) &
	       (timer->nr_slots - 1);
	for (; timer->slots[slot]; slot = (slot + 1) & (timer->nr_slots - 1)) {
		const struct samples_timing *known = &samples->timings[timer->slots[slot] - 1];

		if (known->loop != timer->loop || known->nr_hits != timer->nr_met ||
		    (timer->nr_met && memcmp(known->hits, timer->met,
					     timer->nr_met * sizeof(*known->hits)) != 0))
			continue;
		*ret = timer->slots[slot] - 1;
		return 0;
	}
	if (samples->nr_timings == timer->max_timings) {
		uint32_t max = timer->max_timings ? timer->max_timings * 2 : 256;

		grown = reallocarray(samples->timings, max, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		samples->timings = grown;
		timer->max_timings = max;
	}
	hits = calloc(timer->nr_met + 1, sizeof(*hits));
	if (!hits)
		return -ENOMEM;
	memcpy(hits, timer->met, timer->nr_met * sizeof(*hits));
	*ret = samples->nr_timings++;
	samples->timings[*ret] = (struct samples_timing){
		.loop = timer->loop,
		.hits = hits,
		.nr_hits = timer->nr_met,
	};
	timer->slots[slot] = *ret + 1;
	return 0;
}

static int close_unit(struct timer *timer, uint64_t start_ns, uint64_t end_ns)
{
	struct timed_unit *unit;
	uint32_t timing;

	if (timer->nr_units == timer->max_units) {
		size_t max = timer->max_units ? timer->max_units * 2 : 4096;

		unit = reallocarray(timer->units, max, sizeof(*unit));
		if (!unit)
			return -ENOMEM;
		timer->units = unit;
		timer->max_units = max;
	}
	if (timing_get(timer, &timing))
		return -ENOMEM;
	timer->units[timer->nr_units++] = (struct timed_unit){
		.start_ns = start_ns,
		.elapsed_ns = end_ns - start_ns,
		.loop = timer->loop,
		.timing = timing,
		.hits = timer->hits,
	};
	return 0;
}

static void forget_hits(struct timer *timer)
{
	timer->nr_met = 0;
	timer->hits = 0;
}

static void leave_loop(struct timer *timer)
{
	if (timer->loop != SAMPLES_NONE && timer->cutter.is_running)
		timer->samples->loops[timer->loop].cut_off++;
	cutter_reset(&timer->cutter, false);
	timer->loop = SAMPLES_NONE;
	timer->boundary = NULL;
	forget_hits(timer);
}

static int mark(struct timer *timer, uint64_t at_ns)
{
	uint64_t start_ns = 0;
	int error = 0;

	if (timer->loop == SAMPLES_NONE)
		return 0;
	if (cutter_mark(&timer->cutter, at_ns, &start_ns) == CUTTER_UNIT) {
		error = close_unit(timer, start_ns, at_ns);
		forget_hits(timer);
	}
	return error;
}

static void meet(struct timer *timer, uint32_t function, uint32_t depth)
{
	uint32_t low = 0, high = timer->nr_met;
	struct samples_hit *at;

	timer->hits++;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		const struct samples_hit *known = &timer->met[middle];

		if (known->function == function && known->depth == depth)
			return;
		if (known->function < function ||
		    (known->function == function && known->depth < depth))
			low = middle + 1;
		else
			high = middle;
	}
	if (timer->nr_met == MAX_HITS)
		return;
	at = &timer->met[low];
	memmove(at + 1, at, (timer->nr_met - low) * sizeof(*at));
	/* Padding is compared, too. */
	memset(at, 0, sizeof(*at));
	at->function = function;
	at->depth = depth;
	timer->nr_met++;
}

static bool is_event_site(const struct timer *timer, uint32_t function)
{
	const struct samples_loop *loop = &timer->profile->loops[timer->loop];

	for (uint32_t i = 0; i < loop->nr_boundaries; i++)
		if (loop->boundaries[i].role == SAMPLES_ROLE_EVENT_SITE &&
		    loop->boundaries[i].function == function)
			return true;
	return false;
}

static int on_hit(struct timer *timer, const struct perfguard_event *event)
{
	uint32_t function;
	int error = 0;

	if (trace_number(event) >= timer->trace->nr_functions)
		return -EBADMSG;
	function = timer->function_of[trace_number(event)];
	if (timer->loop == SAMPLES_NONE || event->sp >= timer->loop_sp)
		return 0;
	if (is_event_site(timer, function))
		error = mark(timer, event->time_ns);
	if (timer->is_guard[function] && timer->cutter.is_running)
		meet(timer, function, (uint32_t)(timer->loop_sp - event->sp));
	return error;
}

/* The boundary of an event, and the samples' loop that it is of. */
static const struct samples_boundary *boundary_of(const struct timer *timer,
						  const struct perfguard_event *event,
						  uint32_t *ret_loop)
{
	uint32_t found = wait_index_of(&timer->waits, timer->thread->image, event);
	const struct trace_context *context;

	if (found == TRACE_NONE)
		return NULL;
	context = &timer->trace->contexts[found];
	*ret_loop = context->of_loop;
	return &timer->profile->loops[context->of_loop].boundaries[context->of_boundary];
}

static int on_enter(struct timer *timer, const struct perfguard_event *event)
{
	uint64_t start_ns = 0;
	uint32_t loop;
	int error = 0;

	/* The last one never returned: events are missing. */
	if (timer->enter)
		leave_loop(timer);
	timer->enter = event;
	timer->boundary = boundary_of(timer, event, &loop);
	/* An event of another loop than the thread is in. */
	if (timer->boundary && timer->boundary->role != SAMPLES_ROLE_WAIT && loop != timer->loop)
		timer->boundary = NULL;
	if (!timer->boundary || timer->boundary->role != SAMPLES_ROLE_WAIT)
		return 0;
	if (loop != timer->loop) {
		const struct samples_boundary *boundary = timer->boundary;

		leave_loop(timer);
		timer->boundary = boundary;
		timer->loop = loop;
	}
	timer->loop_sp = event->sp + timer->boundary->rise;
	if (cutter_wait(&timer->cutter, &start_ns) == CUTTER_UNIT)
		error = close_unit(timer, start_ns, event->time_ns);
	forget_hits(timer);
	return error;
}

static int on_leave(struct timer *timer, const struct perfguard_event *event)
{
	const struct samples_boundary *boundary = timer->boundary;
	const struct perfguard_event *enter = timer->enter;

	timer->boundary = NULL;
	timer->enter = NULL;
	if (!enter || enter->what << 4 != event->what << 4)
		leave_loop(timer);
	if (!boundary || timer->loop == SAMPLES_NONE)
		return 0;
	if (boundary->role == SAMPLES_ROLE_EVENT_CALL)
		return (int64_t)event->value < 0 ? 0 : mark(timer, enter->time_ns);
	/* Where the frame is not known, no context is. */
	if (boundary->rise &&
	    pass_wake_begins(trace_number(event) & TRACE_SYSCALL_MASK, (int64_t)event->value)) {
		cutter_wake(&timer->cutter, event->time_ns);
		timer->cutter.has_empty = timer->profile->loops[timer->loop].has_empty;
	}
	return 0;
}

static int on_event(struct timer *timer, const struct perfguard_event *event)
{
	switch (trace_kind(event)) {
	case PERFGUARD_EVENT_KIND_HIT:
		return on_hit(timer, event);
	case PERFGUARD_EVENT_KIND_ENTER:
		return on_enter(timer, event);
	case PERFGUARD_EVENT_KIND_LEAVE:
		return on_leave(timer, event);
	case PERFGUARD_EVENT_KIND_END:
		timer->enter = NULL;
		leave_loop(timer);
		return 0;
	default:
		return 0;
	}
}

static int run(struct timer *timer)
{
	struct walk_thread *threads;
	struct walk_losses losses;
	uint32_t nr;
	int error = walk_threads(timer->trace, &threads, &nr);

	if (error)
		return error;
	for (uint32_t i = 0; i < nr && !error; i++) {
		timer->thread = &threads[i];
		timer->enter = NULL;
		walk_losses_init(&losses, timer->trace, &timer->trace->events[threads[i].begin]);
		for (size_t j = threads[i].begin; j < threads[i].end && !error; j++) {
			const struct perfguard_event *event = &timer->trace->events[j];

			if (walk_losses_before(&losses, event)) {
				timer->enter = NULL;
				leave_loop(timer);
			}
			error = on_event(timer, event);
		}
		leave_loop(timer);
	}
	free(threads);
	return error;
}

static int by_loop_and_begin(const void *a, const void *b)
{
	const struct timed_unit *left = a, *right = b;

	if (left->loop != right->loop)
		return left->loop < right->loop ? -1 : 1;
	return left->start_ns < right->start_ns ? -1 : left->start_ns > right->start_ns;
}

static void count(struct timer *timer)
{
	struct samples *samples = timer->samples;
	size_t begin = 0, end;

	if (timer->nr_units)
		qsort(timer->units, timer->nr_units, sizeof(*timer->units), by_loop_and_begin);
	for (; begin < timer->nr_units; begin = end) {
		for (end = begin; end < timer->nr_units &&
				  timer->units[end].loop == timer->units[begin].loop;
		     end++)
			;
		for (size_t i = begin; i < end; i++) {
			struct samples_timing *timing = &samples->timings[timer->units[i].timing];
			unsigned int half = samples_half(i - begin, end - begin);

			times_add(&timing->times[half], timer->units[i].elapsed_ns);
			timing->nr_contexts_hit += timer->units[i].hits;
		}
	}
}

/* What timings refer to, with the same numbers as in the profile. */
static int copy_tables(const struct samples *from, struct samples *to)
{
	int error = samples_copy_code(to, from->objects, from->nr_objects, from->functions,
				      from->nr_functions);

	to->loops = calloc(from->nr_loops + 1, sizeof(*to->loops));
	to->nodes = calloc(1, sizeof(*to->nodes));
	if (!to->loops || !to->nodes)
		return -ENOMEM;
	to->nr_nodes = 1;
	to->nodes[0].function = SAMPLES_NONE;
	to->nr_loops = from->nr_loops;
	for (uint32_t i = 0; i < from->nr_loops; i++) {
		struct samples_loop *loop = &to->loops[i];

		*loop = from->loops[i];
		loop->units = loop->cut_off = loop->foreign_stack = 0;
		loop->boundaries = calloc(loop->nr_boundaries + 1, sizeof(*loop->boundaries));
		if (!loop->boundaries) {
			loop->nr_boundaries = 0;
			return -ENOMEM;
		}
		if (loop->nr_boundaries)
			memcpy(loop->boundaries, from->loops[i].boundaries,
			       loop->nr_boundaries * sizeof(*loop->boundaries));
	}
	return error;
}

static int add_guards(struct samples *samples, const uint32_t *guards, uint32_t nr)
{
	samples->guards = calloc(1, sizeof(*samples->guards));
	if (!samples->guards)
		return -ENOMEM;
	samples->nr_guards = 1;
	samples->guards[0].functions = calloc(nr + 1, sizeof(*guards));
	if (!samples->guards[0].functions)
		return -ENOMEM;
	if (nr)
		memcpy(samples->guards[0].functions, guards, nr * sizeof(*guards));
	samples->guards[0].nr = nr;
	return 0;
}

int gather_timing(const struct trace *trace, const struct samples *profile,
		  const uint32_t *guards, uint32_t nr_guards, struct samples *ret)
{
	struct timer *timer = calloc(1, sizeof(*timer));
	int error = timer ? 0 : -ENOMEM;

	*ret = (struct samples){ .lost = trace->lost };
	if (error)
		return error;
	timer->trace = trace;
	timer->profile = profile;
	timer->samples = ret;
	timer->loop = SAMPLES_NONE;
	timer->function_of = calloc(trace->nr_functions + 1, sizeof(*timer->function_of));
	timer->is_guard = calloc(profile->nr_functions + 1, sizeof(*timer->is_guard));
	if (!timer->function_of || !timer->is_guard)
		error = -ENOMEM;
	for (uint32_t i = 0; i < nr_guards && !error; i++)
		timer->is_guard[guards[i]] = true;
	if (!error)
		error = match_waits(trace, profile);
	if (!error)
		error = wait_index_init(&timer->waits, trace);
	if (!error)
		error = match_functions(trace, profile, timer->function_of);
	if (!error)
		error = copy_tables(profile, ret);
	if (!error)
		error = add_guards(ret, guards, nr_guards);
	if (!error)
		error = run(timer);
	if (!error)
		count(timer);
	if (!error)
		error = samples_hash_all(ret, NULL);
	wait_index_deinit(&timer->waits);
	free(timer->function_of);
	free(timer->is_guard);
	free(timer->units);
	free(timer->slots);
	free(timer);
	if (error)
		samples_deinit(ret);
	return error;
}
