// SPDX-License-Identifier: GPL-2.0

#include "train/samples/extract-timing.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash-index.h"
#include "data/samples.h"
#include "train/samples/find-added.h"
#include "train/samples/times.h"
#include "train/trace/call-stack.h"

enum {
	MAX_HITS = 1024, /* different contexts of a unit that are kept */
	/* What an event of a unit has in sp, see the netlink spec. */
	UNIT_LOOP_SHIFT = 32,
	UNIT_LOOP_MASK = 0xffff,
};

#define UNIT_CHECKS_MASK UINT64_C(0xffffffff)
#define UNIT_IS_NONE (UINT64_C(1) << 62)
#define UNIT_HAS_ACCOUNT (UINT64_C(1) << 61)
#define UNIT_WAS_INTERRUPTED (UINT64_C(1) << 60)
#define UNIT_WAS_BATCHED (UINT64_C(1) << 59)
#define ACCOUNT_BLOCK_IO_NS 256 /* a step of an account's block I/O */

/* A connection's request was read, by a unit that has its number as first_read or behind. */
struct request_read {
	uint64_t time_ns;
	uint32_t connection;
	uint32_t timing; /* of that unit */
	int half; /* in which that counts; -1: in neither */
};

/* The request of a connection that was read last was over. */
struct request_over {
	uint64_t time_ns;
	struct request_parts parts_ns;
	uint32_t connection;
	bool has_parts; /* else only all of it is known */
};

struct timer {
	const struct trace *trace;
	uint32_t *function_of; /* the profile's, by the trace's */
	uint32_t *loop_of; /* the same */
	struct samples *samples;
	struct timed_unit *units;
	size_t nr_units;
	size_t max_units;
	struct request_read *reads;
	uint32_t nr_reads;
	size_t max_reads;
	struct request_over *requests;
	uint32_t nr_requests;
	size_t max_requests;
	size_t max_timings;
	struct hash_index index; /* of timings */
	/* The thread. */
	uint32_t loop; /* of its last unit; SAMPLES_NONE before the first */
	bool is_doubtful; /* events of the unit at hand may be lost */
	struct samples_hit met[MAX_HITS]; /* by function and depth */
	uint32_t nr_met;
	uint64_t hits;
	uint32_t first_read; /* of the unit at hand */
	const struct perfguard_event *account; /* of the unit at hand, or NULL: it was calm */
	uint64_t runqueue_ns; /* of the request whose end comes next */
	const struct perfguard_event *parts; /* the same, or NULL */
};

/* The timing of units of this loop with the contexts at hand, which are sorted. */
static int timing_get(struct timer *timer, uint32_t *ret)
{
	struct samples *samples = timer->samples;
	uint64_t hash = timer->loop + 1;
	struct samples_hit *hits;
	uint32_t cursor = 0;

	for (uint32_t i = 0; i < timer->nr_met; i++)
		hash = hash_mix(hash, ((uint64_t)timer->met[i].function << 32) | timer->met[i].depth);
	while ((*ret = hash_index_next(&timer->index, hash, &cursor)) != HASH_INDEX_NONE) {
		const struct samples_timing *known = &samples->timings[*ret];

		if (known->loop == timer->loop && known->nr_hits == timer->nr_met &&
		    (!timer->nr_met ||
		     !memcmp(known->hits, timer->met, timer->nr_met * sizeof(*known->hits))))
			return 0;
	}
	hits = calloc(timer->nr_met + 1, sizeof(*hits));
	if (!hits || array_grow(samples->timings, samples->nr_timings, timer->max_timings) ||
	    hash_index_add(&timer->index, hash)) {
		free(hits);
		return -ENOMEM;
	}
	memcpy(hits, timer->met, timer->nr_met * sizeof(*hits));
	*ret = samples->nr_timings++;
	samples->timings[*ret] = (struct samples_timing){
		.loop = timer->loop,
		.hits = hits,
		.nr_hits = timer->nr_met,
	};
	return 0;
}

static void forget_hits(struct timer *timer)
{
	timer->nr_met = 0;
	timer->hits = 0;
	timer->first_read = timer->nr_reads;
	timer->account = NULL;
}

static void meet(struct timer *timer, uint32_t function, uint32_t depth)
{
	struct samples_hit *met = timer->met, *at;

	timer->hits++;
	at = met + array_bisect(i, timer->nr_met, met[i].function > function ||
				(met[i].function == function && met[i].depth >= depth));
	if (at < met + timer->nr_met && at->function == function && at->depth == depth)
		return;
	if (timer->nr_met == MAX_HITS)
		return;
	memmove(at + 1, at, (size_t)(met + timer->nr_met - at) * sizeof(*at));
	/* Padding is compared, too. */
	memset(at, 0, sizeof(*at));
	at->function = function;
	at->depth = depth;
	timer->nr_met++;
}

static int on_guard(struct timer *timer, const struct perfguard_event *event)
{
	if (trace_number(event) >= timer->trace->nr_functions)
		return -EBADMSG;
	meet(timer, timer->function_of[trace_number(event)], (uint32_t)event->sp);
	return 0;
}

/* The unit may have met contexts, or begun, without our knowing. */
static void cut_off(struct timer *timer)
{
	if (timer->loop != SAMPLES_NONE)
		timer->samples->loops[timer->loop].cut_off++;
	forget_hits(timer);
}

/* Where its time went; without an account all is its own. */
static void set_parts(const struct timer *timer, struct timed_unit *unit, uint64_t elapsed_ns)
{
	const struct perfguard_event *account = timer->account;
	uint64_t *parts_ns = unit->parts_ns, runqueue_ns;

	parts_ns[SAMPLES_OWN] = parts_ns[SAMPLES_CPU] = elapsed_ns;
	if (!account || !unit->has_account)
		return;
	runqueue_ns = account->sp < elapsed_ns ? account->sp : elapsed_ns;
	parts_ns[SAMPLES_OWN] -= runqueue_ns;
	if (parts_ns[SAMPLES_CPU] > account->value)
		parts_ns[SAMPLES_CPU] = account->value;
	if (parts_ns[SAMPLES_CPU] > parts_ns[SAMPLES_OWN])
		parts_ns[SAMPLES_CPU] = parts_ns[SAMPLES_OWN];
	parts_ns[SAMPLES_BLOCKED] = parts_ns[SAMPLES_OWN] - parts_ns[SAMPLES_CPU];
	parts_ns[SAMPLES_BLOCK_IO] = (uint64_t)trace_number(account) * ACCOUNT_BLOCK_IO_NS;
	if (parts_ns[SAMPLES_BLOCK_IO] > parts_ns[SAMPLES_BLOCKED])
		parts_ns[SAMPLES_BLOCK_IO] = parts_ns[SAMPLES_BLOCKED];
}

/* Why a unit may be longer than others of its type. */
static uint32_t causes_of(const struct perfguard_event *event)
{
	uint32_t causes = 0;

	if (event->sp & UNIT_WAS_INTERRUPTED)
		causes |= 1 << SAMPLES_INTERRUPT;
	if (event->sp & UNIT_WAS_BATCHED)
		causes |= 1 << SAMPLES_BATCH;
	return causes;
}

static int on_unit(struct timer *timer, const struct perfguard_event *event)
{
	uint32_t loop = (uint32_t)(event->sp >> UNIT_LOOP_SHIFT) & UNIT_LOOP_MASK;
	uint64_t checks_ns = event->sp & UNIT_CHECKS_MASK;
	struct timed_unit unit = {
		.start_ns = event->time_ns - event->value - checks_ns,
		.has_account = event->sp & UNIT_HAS_ACCOUNT,
		.causes = causes_of(event),
		.first_read = timer->first_read,
		.nr_reads = timer->nr_reads - timer->first_read,
		.hits = timer->hits,
	};
	int error;

	if (!loop || loop > timer->trace->nr_loops)
		return -EBADMSG;
	timer->loop = unit.loop = timer->loop_of[loop - 1];
	if (timer->is_doubtful) {
		timer->is_doubtful = false;
		cut_off(timer);
		return 0;
	}
	if (event->sp & UNIT_IS_NONE) {
		forget_hits(timer);
		return 0;
	}
	set_parts(timer, &unit, event->value);
	error = timing_get(timer, &unit.timing) ?:
		array_grow(timer->units, timer->nr_units, timer->max_units);
	if (!error)
		timer->units[timer->nr_units++] = unit;
	forget_hits(timer);
	return error;
}

static int on_read(struct timer *timer, const struct perfguard_event *event)
{
	if (array_grow(timer->reads, timer->nr_reads, timer->max_reads))
		return -ENOMEM;
	timer->reads[timer->nr_reads++] = (struct request_read){
		.time_ns = event->time_ns,
		.connection = trace_number(event),
		.half = -1,
	};
	return 0;
}

static int on_request(struct timer *timer, const struct perfguard_event *event)
{
	const struct perfguard_event *parts = timer->parts;
	uint64_t known, held = 0;

	if (array_grow(timer->requests, timer->nr_requests, timer->max_requests))
		return -ENOMEM;
	if (parts) {
		known = parts->value + parts->sp;
		held = event->value > known ? event->value - known : 0;
	}
	timer->requests[timer->nr_requests++] = (struct request_over){
		.time_ns = event->time_ns,
		.connection = trace_number(event),
		.has_parts = parts,
		.parts_ns = request_parts_of(event->value, parts ? parts->value : 0,
					     parts ? parts->sp : 0, held, timer->runqueue_ns),
	};
	timer->runqueue_ns = 0;
	timer->parts = NULL;
	return 0;
}

/* What the thread was in the middle of has no end. */
static void end(struct timer *timer)
{
	if (timer->nr_met)
		cut_off(timer);
	timer->is_doubtful = false;
	timer->loop = SAMPLES_NONE;
}

static int on_event(struct timer *timer, const struct perfguard_event *event)
{
	switch (trace_kind(event)) {
	case PERFGUARD_EVENT_KIND_GUARD:
		return on_guard(timer, event);
	case PERFGUARD_EVENT_KIND_ACCOUNT:
		timer->account = event;
		return 0;
	case PERFGUARD_EVENT_KIND_UNIT:
		return on_unit(timer, event);
	case PERFGUARD_EVENT_KIND_REQUEST_READ:
		return on_read(timer, event);
	case PERFGUARD_EVENT_KIND_REQUEST_RUNQUEUE:
		timer->runqueue_ns = event->value;
		return 0;
	case PERFGUARD_EVENT_KIND_REQUEST_PARTS:
		timer->parts = event;
		return 0;
	case PERFGUARD_EVENT_KIND_REQUEST:
		return on_request(timer, event);
	case PERFGUARD_EVENT_KIND_END:
		end(timer);
		return 0;
	default:
		return 0;
	}
}

/*
 * A loss is reported by the next event on its CPU, be it of another thread: so what
 * this thread did since its last event is in doubt, and with it the unit that
 * this event is of.
 */
static int run_thread(struct timer *timer, const struct trace_thread *thread)
{
	const struct perfguard_event *events = timer->trace->events;
	struct trace_losses losses;
	int error = 0;

	timer->loop = SAMPLES_NONE;
	trace_losses_init(&losses, timer->trace, &events[thread->begin]);
	for (size_t i = thread->begin; i < thread->end && !error; i++) {
		timer->is_doubtful |= trace_losses_before(&losses, &events[i]);
		error = on_event(timer, &events[i]);
	}
	end(timer);
	return error;
}

static int run(struct timer *timer)
{
	struct trace_thread *threads;
	uint32_t nr;
	int error = trace_threads(timer->trace, &threads, &nr);

	if (error)
		return error;
	for (uint32_t i = 0; i < nr && !error; i++)
		error = run_thread(timer, &threads[i]);
	free(threads);
	return error;
}

static int by_loop_and_begin(const void *a, const void *b)
{
	const struct timed_unit *left = a, *right = b;

	return order_of(left->loop, right->loop) ?: order_of(left->start_ns, right->start_ns);
}

static void add_unit(struct samples_parts *times, const struct timed_unit *unit)
{
	int nr = unit->has_account ? SAMPLES_NR_PARTS : SAMPLES_OWN + 1;

	for (int part = 0; part < nr; part++)
		times_add(&times->of[part], unit->parts_ns[part]);
}

/* The requests that a unit has read count where it does. */
static void count_reads(struct timer *timer, const struct timed_unit *unit, unsigned int half)
{
	for (uint32_t i = unit->first_read; i < unit->first_read + unit->nr_reads; i++) {
		timer->reads[i].timing = unit->timing;
		timer->reads[i].half = (int)half;
	}
}

static int by_connection_and_time(const void *a, const void *b)
{
	const struct request_read *left = a, *right = b;

	return order_of(left->connection, right->connection) ?:
	       order_of(left->time_ns, right->time_ns);
}

/* The read of a request: the last one of its connection before it was over; NULL if it was lost. */
static const struct request_read *find_read(const struct timer *timer,
					    const struct request_over *request)
{
	const struct request_read *reads = timer->reads;
	size_t after = array_bisect(i, timer->nr_reads,
				    reads[i].connection > request->connection ||
				    (reads[i].connection == request->connection &&
				     reads[i].time_ns >= request->time_ns));

	return after && reads[after - 1].connection == request->connection ? &reads[after - 1]
									     : NULL;
}

static void add_request(struct samples_parts *times, const struct request_over *request)
{
	int nr = request->has_parts ? REQUEST_NR_PARTS : PERFGUARD_REQUEST_PART_ALL;

	for (int part = 0; part < nr; part++)
		times_add(&times->requests[part], request->parts_ns.of[part]);
}

/* Units were counted. */
static void count_requests(struct timer *timer)
{
	if (timer->nr_reads)
		qsort(timer->reads, timer->nr_reads, sizeof(*timer->reads), by_connection_and_time);
	for (uint32_t i = 0; i < timer->nr_requests; i++) {
		const struct request_over *request = &timer->requests[i];
		const struct request_read *read = find_read(timer, request);

		if (read && read->half >= 0)
			add_request(&timer->samples->timings[read->timing].times[read->half],
				    request);
	}
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

			if (timer->units[i].is_left_out || i - begin < extract_warm_up(end - begin))
				continue;
			add_unit(&timing->times[half], &timer->units[i]);
			count_reads(timer, &timer->units[i], half);
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
		loop->units = loop->cut_off = loop->foreign_stack = loop->unmarked = 0;
		loop->boundaries = NULL;
		loop->nr_boundaries = 0;
		for (uint32_t j = 0; j < from->loops[i].nr_boundaries && !error; j++)
			error = samples_add_boundary(loop, &from->loops[i].boundaries[j]);
	}
	return error;
}

/* All that carried a guard, rising, each once. */
static int add_guards(struct samples *samples, const uint32_t *functions, uint32_t nr)
{
	struct samples_guards *guards = calloc(1, sizeof(*guards));

	samples->guards = guards;
	if (!guards)
		return -ENOMEM;
	samples->nr_guards = 1;
	guards->functions = calloc((size_t)nr + 1, sizeof(*guards->functions));
	if (!guards->functions)
		return -ENOMEM;
	if (!nr)
		return 0;
	memcpy(guards->functions, functions, nr * sizeof(*functions));
	qsort(guards->functions, nr, sizeof(*functions), order_u32);
	for (uint32_t i = 0; i < nr; i++)
		if (!i || guards->functions[i] != guards->functions[i - 1])
			guards->functions[guards->nr++] = guards->functions[i];
	return 0;
}

/* The profile's function at a place, found by its offset; SAMPLES_NONE if there is none. */
static uint32_t function_at(const struct samples *profile, const struct hash_index *by_offset,
			    const struct samples_object *object, uint64_t offset)
{
	uint32_t cursor = 0, at;

	while ((at = hash_index_next(by_offset, hash_mix(0, offset), &cursor)) != HASH_INDEX_NONE) {
		const struct samples_function *function = &profile->functions[at];

		if (function->offset == offset &&
		    !samples_compare_objects(&profile->objects[function->object], object))
			return at;
	}
	return SAMPLES_NONE;
}

/* Find each of the trace's functions in the profile. */
static int match_functions(struct timer *timer, const struct samples *profile)
{
	const struct trace *trace = timer->trace;
	struct hash_index by_offset = { 0 };
	int error = 0;

	for (uint32_t i = 0; i < profile->nr_functions && !error; i++)
		error = hash_index_add(&by_offset, hash_mix(0, profile->functions[i].offset));
	for (uint32_t i = 0; i < trace->nr_functions && !error; i++) {
		const struct samples_function *function = &trace->functions[i];

		timer->function_of[i] = function_at(profile, &by_offset,
						    &trace->objects[function->object],
						    function->offset);
		if (timer->function_of[i] == SAMPLES_NONE)
			error = -EBADMSG;
	}
	hash_index_deinit(&by_offset);
	return error;
}

/* The same of its loops, by their hashes. */
static int match_loops(struct timer *timer, const struct samples *profile)
{
	if (timer->trace->nr_loops > profile->nr_loops)
		return -EBADMSG;
	for (uint32_t i = 0; i < timer->trace->nr_loops; i++) {
		uint32_t loop = 0;

		while (loop < profile->nr_loops &&
		       profile->loops[loop].hash != timer->trace->loops[i])
			loop++;
		if (loop == profile->nr_loops)
			return -EBADMSG;
		timer->loop_of[i] = loop;
	}
	return 0;
}

static int extract_into(struct timer *timer, const struct samples *profile)
{
	const struct trace *trace = timer->trace;
	int error;

	timer->function_of = calloc((size_t)trace->nr_functions + 1, sizeof(*timer->function_of));
	timer->loop_of = calloc((size_t)trace->nr_loops + 1, sizeof(*timer->loop_of));
	if (!timer->function_of || !timer->loop_of)
		return -ENOMEM;
	error = match_functions(timer, profile);
	error = error ?: match_loops(timer, profile);
	error = error ?: copy_tables(profile, timer->samples);
	error = error ?: add_guards(timer->samples, timer->function_of, trace->nr_functions);
	error = error ?: run(timer);
	error = error ?: find_added(timer->samples, timer->units, timer->nr_units);
	if (error)
		return error;
	count(timer);
	count_requests(timer);
	return samples_hash_all(timer->samples);
}

int extract_timing(const struct trace *trace, const struct samples *profile, struct samples *ret)
{
	struct timer *timer = calloc(1, sizeof(*timer));
	int error;

	*ret = (struct samples){ .lost = trace->lost };
	if (!timer)
		return -ENOMEM;
	timer->trace = trace;
	timer->samples = ret;
	error = extract_into(timer, profile);
	free(timer->function_of);
	free(timer->loop_of);
	free(timer->units);
	free(timer->reads);
	free(timer->requests);
	hash_index_deinit(&timer->index);
	free(timer);
	if (error)
		samples_deinit(ret);
	return error;
}
