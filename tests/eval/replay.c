// SPDX-License-Identifier: GPL-2.0

#include "replay.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/samples.h"
#include "train/trace/trace-pass.h"
#include "train/trace/call-stack.h"

enum {
	MAX_SCORE = 0x7fff,
	MAX_MET = 4096,
	/* In the second word of a unit's event. */
	LOOP_SHIFT = 32,
	LOOP_MASK = 0xffff,
	EMPTY_BIT = 62,
	NOVEL_BIT = 63,
};

/* A thread's unit, as the reference sees it. */
struct unit {
	uint32_t loop; /* SAMPLES_NONE before the thread's first wait */
	bool is_known; /* its begin was seen, and all since */
	bool is_running;
	bool has_unknown;
	uint32_t met[MAX_MET]; /* contexts, */
	uint32_t met_hits[MAX_MET]; /* and how often */
	uint32_t nr_met;
	uint32_t hits;
};

struct reader {
	const struct trace *trace;
	const struct samples *samples;
	const struct model *model;
	const struct loading *loading;
	uint32_t *guard_of; /* by function of the trace, SAMPLES_NONE for none */
	struct replay *replay;
	struct unit unit;
	uint64_t *loop_sp; /* by loop, of the current thread; 0: not known yet */
	size_t end; /* of the thread's events */
	size_t taken; /* the hit that belongs to the last guard hit; SIZE_MAX for none */
};

static __attribute__((format(printf, 2, 3))) void complain(struct replay *replay,
							   const char *format, ...)
{
	va_list args;

	if (replay->why[0])
		return;
	va_start(args, format);
	vsnprintf(replay->why, sizeof(replay->why), format, args);
	va_end(args);
}

/* Contexts are in the order of loops; guards and depths in no order to rely on. */
uint32_t replay_context(const struct model *model, uint32_t loop, uint32_t guard, uint32_t depth)
{
	for (uint32_t i = 0; i < model->nr_contexts; i++) {
		const struct model_context *context = &model->contexts[i];

		if (context->loop == loop && context->guard == guard && context->depth == depth)
			return i;
	}
	return SAMPLES_NONE;
}

static int weight_of(const struct model *model, uint32_t context, uint32_t type, bool is_final)
{
	uint32_t first = model->contexts[context].first_weight;
	uint32_t end = first + model->contexts[context].nr_weights;

	for (uint32_t i = first; i < end; i++)
		if (model->weights[i].type == type)
			return is_final ? model->weights[i].final : model->weights[i].early;
	return -1;
}

/* True if the better of two equal types comes first, by threshold; none is the largest. */
static bool goes_before(const struct model *model, uint32_t a, uint32_t b)
{
	uint64_t left = model->types[a].limit_ns[SAMPLES_OWN];
	uint64_t right = model->types[b].limit_ns[SAMPLES_OWN];

	if (left == right)
		return a < b;
	return left && (!right || left < right);
}

uint32_t replay_type(const struct model *model, uint32_t loop, const uint32_t *contexts,
		     uint32_t nr, bool is_final, int *ret_score)
{
	uint32_t best = SAMPLES_NONE;
	int most = 0;

	for (uint32_t type = 0; type < model->nr_types; type++) {
		int score = is_final ? model->types[type].base_final :
				       model->types[type].base_early;

		if (model->types[type].loop != loop)
			continue;
		for (uint32_t i = 0; i < nr; i++) {
			int weight = weight_of(model, contexts[i], type, is_final);

			score += weight > 0 ? weight : 0;
		}
		if (score > MAX_SCORE)
			score = MAX_SCORE;
		if (best != SAMPLES_NONE &&
		    (score < most || (score == most && goes_before(model, best, type))))
			continue;
		best = type;
		most = score;
	}
	*ret_score = most;
	return best;
}

uint32_t replay_paper(const struct model *model, uint32_t loop, const uint32_t *contexts,
		      const uint32_t *hits, uint32_t nr)
{
	uint32_t best = SAMPLES_NONE;
	uint64_t most = 0;

	for (uint32_t type = 0; type < model->nr_types; type++) {
		uint64_t count = 0;

		if (model->types[type].loop != loop)
			continue;
		for (uint32_t i = 0; i < nr; i++)
			if (weight_of(model, contexts[i], type, true) >= 0)
				count += hits[i];
		if (!count || count < most ||
		    (count == most && goes_before(model, best, type)))
			continue;
		best = type;
		most = count;
	}
	return best;
}

static bool does_fit(const struct reader *reader, uint32_t type, int score)
{
	const struct unit *unit = &reader->unit;

	if (type == SAMPLES_NONE)
		return true;
	if (unit->has_unknown)
		return false;
	for (uint32_t i = 0; i < unit->nr_met; i++)
		if (weight_of(reader->model, unit->met[i], type, true) < 0)
			return false;
	return score >= reader->loading->types[type].least_final;
}

static uint32_t id_of(const struct model *model, uint32_t type)
{
	return type == SAMPLES_NONE ? 0 : model->types[type].id;
}

static uint32_t type_of_id(const struct model *model, uint32_t id)
{
	for (uint32_t i = 0; i < model->nr_types && id; i++)
		if (model->types[i].id == id)
			return i;
	return SAMPLES_NONE;
}

static void begin_unit(struct reader *reader)
{
	struct unit *unit = &reader->unit;

	unit->is_known = true;
	unit->is_running = true;
	unit->has_unknown = false;
	unit->nr_met = 0;
	unit->hits = 0;
}

static void lose(struct reader *reader)
{
	reader->replay->losses++;
	reader->unit.is_known = false;
	reader->unit.is_running = false;
	reader->taken = SIZE_MAX;
}

/*
 * The event of @kind next to another of its thread, on this @side of it; SIZE_MAX
 * if there is none.  The end of a unit may stand between.
 */
static size_t find_beside(const struct trace *trace, size_t index, int side,
			  enum perfguard_event_kind kind)
{
	uint32_t tid = trace->events[index].tid;

	do
		index += (size_t)side;
	while (index < trace->nr_events && trace->events[index].tid == tid &&
	       trace_kind(&trace->events[index]) == PERFGUARD_EVENT_KIND_UNIT);
	if (index >= trace->nr_events || trace->events[index].tid != tid ||
	    trace_kind(&trace->events[index]) != kind)
		return SIZE_MAX;
	return index;
}

/* The call that a guard hit belongs to. */
static size_t find_call(const struct reader *reader, size_t index, uint32_t guard)
{
	const struct trace *trace = reader->trace;

	for (int side = -1; side <= 1; side += 2) {
		size_t other = find_beside(trace, index, side, PERFGUARD_EVENT_KIND_HIT);
		uint32_t number;

		if (other == SIZE_MAX || other == reader->taken)
			continue;
		number = trace_number(&trace->events[other]);
		if (number < trace->nr_functions && reader->guard_of[number] == guard)
			return other;
	}
	return SIZE_MAX;
}

/* From each call in a loop, its frame is equally far. */
static void check_depth(struct reader *reader, size_t index, uint32_t guard, uint32_t depth)
{
	uint64_t *loop_sp = &reader->loop_sp[reader->unit.loop];
	uint64_t sp;

	reader->taken = find_call(reader, index, guard);
	if (reader->taken == SIZE_MAX) {
		complain(reader->replay, "guard %" PRIu32 " was hit, but its function not", guard);
		reader->replay->misplaced_hits++;
		return;
	}
	sp = reader->trace->events[reader->taken].sp + depth;
	if (!*loop_sp)
		*loop_sp = sp;
	if (sp == *loop_sp)
		return;
	reader->replay->misplaced_hits++;
	complain(reader->replay, "guard %" PRIu32 " was hit at depth %" PRIu32 ", off by %" PRId64,
		 guard, depth, (int64_t)(sp - *loop_sp));
}

/*
 * True if events of some loop begin there.  Then it has a probe even if training has
 * no contexts of it.
 */
static bool is_event_site(const struct loading *loading, uint32_t guard)
{
	for (uint32_t i = 0; i < loading->nr_boundaries; i++) {
		const struct perfguard_boundary *boundary = &loading->boundaries[i];

		if (boundary->role == PERFGUARD_BOUNDARY_ROLE_EVENT_SITE &&
		    boundary->guard == guard)
			return true;
	}
	return false;
}

static void meet(struct reader *reader, uint32_t guard, uint32_t depth)
{
	struct unit *unit = &reader->unit;
	uint32_t context = replay_context(reader->model, unit->loop, guard, depth);

	unit->is_running = true;
	/* Behind the model's are those that only begin events. */
	unit->hits += guard < reader->model->nr_guards;
	if (context == SAMPLES_NONE && is_event_site(reader->loading, guard))
		return;
	if (context == SAMPLES_NONE) {
		reader->replay->unknown_hits++;
		unit->has_unknown = true;
		return;
	}
	for (uint32_t i = 0; i < unit->nr_met; i++)
		if (unit->met[i] == context) {
			unit->met_hits[i]++;
			return;
		}
	if (unit->nr_met < MAX_MET) {
		unit->met_hits[unit->nr_met] = 1;
		unit->met[unit->nr_met++] = context;
	}
}

static void on_guard(struct reader *reader, size_t index, const struct perfguard_event *event)
{
	struct replay *replay = reader->replay;
	struct unit *unit = &reader->unit;
	uint32_t guard = trace_number(event), depth = (uint32_t)event->sp;
	uint32_t type;
	int score;

	if (guard >= reader->loading->nr_guards || event->sp > UINT32_MAX) {
		replay->strange++;
		complain(replay, "a hit of guard %" PRIu32 ", which is none", guard);
		return;
	}
	if (unit->loop == SAMPLES_NONE)
		return;
	check_depth(reader, index, guard, depth);
	meet(reader, guard, depth);
	if (!unit->is_known)
		return;
	replay->hits++;
	type = replay_type(reader->model, unit->loop, unit->met, unit->nr_met, false, &score);
	if (id_of(reader->model, type) == event->value)
		return;
	replay->wrong_hits++;
	complain(replay, "guard %" PRIu32 " at depth %" PRIu32 ": type %" PRIu64
		 " so far, not %" PRIu32, guard, depth, (uint64_t)event->value,
		 id_of(reader->model, type));
}

static int add_unit(struct replay *replay, const struct replay_unit *unit)
{
	if (replay->nr_units == replay->max_units) {
		size_t max = replay->max_units ? replay->max_units * 2 : 4096;
		struct replay_unit *grown = reallocarray(replay->units, max, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		replay->units = grown;
		replay->max_units = max;
	}
	replay->units[replay->nr_units++] = *unit;
	return 0;
}

static void check_unit(struct reader *reader, const struct replay_unit *reported)
{
	const struct unit *unit = &reader->unit;
	struct replay *replay = reader->replay;
	int score;
	uint32_t type = replay_type(reader->model, unit->loop, unit->met, unit->nr_met, true,
				    &score);

	replay->known_units++;
	if (type != reported->type) {
		replay->wrong_units++;
		complain(replay, "a unit with %" PRIu32 " contexts: type %" PRIu32 ", not %" PRIu32,
			 unit->nr_met, id_of(reader->model, reported->type),
			 id_of(reader->model, type));
	} else if (reported->is_novel == does_fit(reader, type, score)) {
		replay->wrong_novel++;
		complain(replay, "a unit of type %" PRIu32 " and score %d: %s", reported->type, score,
			 reported->is_novel ? "does not fit" : "fits");
	}
}

/* True if the unit is of the loop that the thread is in, and its type as well. */
static bool is_of_loop(struct reader *reader, const struct replay_unit *reported,
		       const struct perfguard_event *event)
{
	uint32_t id = (uint32_t)(event->sp >> LOOP_SHIFT) & LOOP_MASK;
	uint32_t type = trace_number(event);

	if ((reported->type != SAMPLES_NONE || !type) && id && id <= reader->loading->nr_courses &&
	    reader->loading->loops[id - 1] == reported->loop &&
	    (!type || reader->model->types[reported->type].loop == reported->loop))
		return true;
	reader->replay->strange++;
	complain(reader->replay, "a unit of type %" PRIu32 " in loop %" PRIu32, type, id);
	return false;
}

/* The span between two waits was no unit, which the event loop has to allow. */
static void on_empty(struct reader *reader)
{
	uint32_t loop = reader->unit.loop;

	begin_unit(reader);
	if (loop == SAMPLES_NONE || reader->samples->loops[loop].has_empty)
		return;
	reader->replay->strange++;
	complain(reader->replay, "an empty unit in loop %" PRIu32, loop + 1);
}

static int on_unit(struct reader *reader, size_t index, const struct perfguard_event *event)
{
	struct unit *unit = &reader->unit;
	struct replay_unit reported = {
		.index = index,
		.loop = unit->loop,
		.type = type_of_id(reader->model, trace_number(event)),
		.paper = unit->loop == SAMPLES_NONE ? SAMPLES_NONE :
			 replay_paper(reader->model, unit->loop, unit->met, unit->met_hits,
				      unit->nr_met),
		.hits = unit->hits,
		.is_novel = event->sp >> NOVEL_BIT,
		.is_known = unit->is_known && unit->loop != SAMPLES_NONE,
		.elapsed_ns = event->value,
		.check_ns = (uint32_t)event->sp,
	};
	int error;

	if (event->sp >> EMPTY_BIT & 1) {
		on_empty(reader);
		return 0;
	}
	/* The thread's first may be of a profile that was armed before. */
	if (unit->loop == SAMPLES_NONE)
		reported.type = SAMPLES_NONE;
	else if (!is_of_loop(reader, &reported, event))
		reported.is_known = false;
	if (reported.is_known)
		check_unit(reader, &reported);
	error = add_unit(reader->replay, &reported);
	/* Only where an event begins; at a wait, the next one begins at its return. */
	begin_unit(reader);
	return error;
}

/* A guarded function was called: its guard was hit just before, or is just after. */
static void on_hit(struct reader *reader, size_t index, const struct perfguard_event *event)
{
	const struct trace *trace = reader->trace;
	uint32_t number = trace_number(event), guard;
	size_t next;

	if (number >= trace->nr_functions || !reader->unit.is_running ||
	    reader->unit.loop == SAMPLES_NONE)
		return;
	guard = reader->guard_of[number];
	if (guard == SAMPLES_NONE || reader->taken == index)
		return;
	next = find_beside(trace, index, 1, PERFGUARD_EVENT_KIND_GUARD);
	if (next != SIZE_MAX && trace_number(&trace->events[next]) == guard)
		return;
	/* The last event of all may stand before its guard's. */
	if (index + 1 < reader->end)
		reader->replay->missed_hits++;
}

static void on_enter(struct reader *reader, const struct perfguard_event *event)
{
	uint32_t id = trace_number(event) >> TRACE_LOOP_SHIFT;

	if (!id)
		return;
	if (id > reader->loading->nr_courses) {
		reader->replay->strange++;
		complain(reader->replay, "event loop %" PRIu32 " is not in the profile", id);
		return;
	}
	/* No unit runs now, so the next one is known from its begin. */
	begin_unit(reader);
	reader->unit.is_running = false;
	reader->unit.loop = reader->loading->loops[id - 1];
}

static void on_leave(struct reader *reader, const struct perfguard_event *event)
{
	uint32_t id = trace_number(event) >> TRACE_LOOP_SHIFT;
	uint32_t syscall = trace_syscall(event);

	if (id && id <= reader->loading->nr_courses &&
	    trace_pass_wake_begins(syscall, (int64_t)event->value))
		begin_unit(reader);
}

static int on_event(struct reader *reader, size_t index)
{
	const struct perfguard_event *event = &reader->trace->events[index];

	switch (trace_kind(event)) {
	case PERFGUARD_EVENT_KIND_HIT:
		on_hit(reader, index, event);
		break;
	case PERFGUARD_EVENT_KIND_ENTER:
		on_enter(reader, event);
		break;
	case PERFGUARD_EVENT_KIND_LEAVE:
		on_leave(reader, event);
		break;
	case PERFGUARD_EVENT_KIND_GUARD:
		on_guard(reader, index, event);
		break;
	case PERFGUARD_EVENT_KIND_UNIT:
		return on_unit(reader, index, event);
	default:
		break;
	}
	return 0;
}

static int read_thread(struct reader *reader, const struct trace_thread *thread)
{
	struct trace_losses losses;
	int error = 0;

	reader->unit.loop = SAMPLES_NONE;
	reader->unit.is_known = reader->unit.is_running = false;
	reader->unit.nr_met = reader->unit.hits = 0;
	reader->taken = SIZE_MAX;
	reader->end = thread->end;
	memset(reader->loop_sp, 0, reader->samples->nr_loops * sizeof(*reader->loop_sp));
	trace_losses_init(&losses, reader->trace, &reader->trace->events[thread->begin]);
	for (size_t i = thread->begin; i < thread->end && !error; i++) {
		if (trace_losses_before(&losses, &reader->trace->events[i]))
			lose(reader);
		error = on_event(reader, i);
	}
	return error;
}

static bool is_same_function(const struct reader *reader, const struct samples_function *here,
			     const struct samples_function *known)
{
	const struct samples_object *a = &reader->trace->objects[here->object];
	const struct samples_object *b = &reader->samples->objects[known->object];

	return here->offset == known->offset && samples_hash_object(a) == samples_hash_object(b);
}

static void find_guards(struct reader *reader)
{
	for (uint32_t i = 0; i < reader->trace->nr_functions; i++) {
		reader->guard_of[i] = SAMPLES_NONE;
		for (uint32_t j = 0; j < reader->loading->nr_guards; j++) {
			uint32_t function = reader->loading->functions[j];

			if (is_same_function(reader, &reader->trace->functions[i],
					     &reader->samples->functions[function]))
				reader->guard_of[i] = j;
		}
	}
}

int replay_run(const struct trace *trace, const struct samples *samples,
	       const struct model *model, const struct loading *loading, struct replay *ret)
{
	struct reader *reader = calloc(1, sizeof(*reader));
	struct trace_thread *threads = NULL;
	uint32_t nr_threads = 0;
	int error;

	*ret = (struct replay){ 0 };
	if (!reader)
		return -ENOMEM;
	*reader = (struct reader){
		.trace = trace,
		.samples = samples,
		.model = model,
		.loading = loading,
		.guard_of = calloc((size_t)trace->nr_functions + 1, sizeof(uint32_t)),
		.loop_sp = calloc((size_t)samples->nr_loops + 1, sizeof(uint64_t)),
		.replay = ret,
	};
	error = reader->guard_of && reader->loop_sp ? 0 : -ENOMEM;
	if (!error)
		error = trace_threads(trace, &threads, &nr_threads);
	if (!error)
		find_guards(reader);
	for (uint32_t i = 0; i < nr_threads && !error; i++)
		error = read_thread(reader, &threads[i]);
	free(threads);
	free(reader->guard_of);
	free(reader->loop_sp);
	free(reader);
	if (error)
		replay_deinit(ret);
	return error;
}

void replay_deinit(struct replay *replay)
{
	free(replay->units);
	*replay = (struct replay){ 0 };
}
