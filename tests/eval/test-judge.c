// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of the judge of the module: on synthetic servers, whose traces have the
 * inference of perfguard/infer.h as the module would report it; then with one
 * error in them.
 */

#include <string.h>

#include "replay.h"
#include "servers.h"
#include "tap.h"
#include "train/guards/infer-tables.h"
#include "train/guards/novelty-floor.h"
#include "train/model/derive.h"
#include "train/samples/extract.h"
#include "train/samples/join.h"
#include "truth.h"
#include "units.h"

enum {
	CHECKS = 43,
	MAX_UNITS = 4096,
};

struct guarded {
	struct samples samples;
	struct samples joined;
	struct model model;
	struct loading loading;
	struct infer_tables tables;
	struct infer_tables paper; /* by the paper's rule */
	uint32_t paper_types[MAX_UNITS]; /* that these have, unit by unit */
	uint32_t nr_units;
	struct replay replay;
	struct truth truth;
	uint32_t *types;
	size_t *reported;
};

static void must(int error, const char *what)
{
	if (!error)
		return;
	printf("Bail out! %s: %s\n", what, strerror(-error));
	exit(1);
}

/* The profile that the module loads after a training on this trace. */
static void learn(struct guarded *guarded, const struct trace *trace)
{
	struct derive_options options;
	struct novelty_floors floors;
	const char *why;

	memset(guarded, 0, sizeof(*guarded));
	must(extract_samples(trace, &guarded->samples, NULL), "collect");
	must(extract_samples(trace, &guarded->joined, NULL), "collect");
	derive_options_init(&options);
	options.hits = 4;
	must(model_derive(&guarded->samples, &options, &guarded->model), "derive");
	must(novelty_floors_init(&floors, &guarded->samples, &guarded->model), "floors");
	must(loading_init(&guarded->loading, &guarded->samples, &guarded->model,
			  floors.least_final, &why), "loading");
	novelty_floors_deinit(&floors);
	must(infer_tables_init(&guarded->tables, &guarded->samples, &guarded->model, false),
	     "tables");
	must(infer_tables_init(&guarded->paper, &guarded->samples, &guarded->model, true),
	     "tables");
	for (uint32_t i = 0; i < guarded->model.nr_types; i++)
		guarded->tables.types[i].least_final = guarded->loading.types[i].least_final;
}

static void put(struct trace *trace, const struct perfguard_event *at, uint64_t later_ns,
		enum perfguard_event_kind kind, uint32_t number, uint64_t sp, uint64_t value)
{
	struct perfguard_event event = {
		.time_ns = at->time_ns + later_ns,
		.sp = sp,
		.value = value,
		.tid = at->tid,
		.what = (uint32_t)kind << TRACE_KIND_SHIFT | number,
	};

	must(trace_add(trace, &event, 1), "events");
}

static uint32_t id_of(const struct table *table, uint16_t type)
{
	return type == INFER_NO_TYPE ? 0 : table->table.types[type].id;
}

static uint32_t guard_of(const struct guarded *guarded, uint32_t function)
{
	for (uint32_t i = 0; i < guarded->loading.nr_guards; i++)
		if (guarded->loading.functions[i] == function)
			return i;
	return SAMPLES_NONE;
}

/* All that happens in a unit, from its first event to the one that ends it. */
static void guard_unit(struct guarded *guarded, struct trace *trace, size_t nr,
		       const struct extract_unit *unit, uint64_t loop_sp)
{
	struct table *table = &guarded->tables.loops[unit->loop];
	struct table *paper = &guarded->paper.loops[unit->loop];
	struct perfguard_event *end = NULL;
	uint64_t about = UINT64_C(1) << 32;
	bool is_known = true;

	infer_begin(&table->table, table->state);
	infer_begin(&paper->table, paper->state);
	for (size_t i = 0; i < nr; i++) {
		struct perfguard_event event = trace->events[i];
		uint32_t guard, depth = (uint32_t)(loop_sp - event.sp);

		if (event.tid != unit->tid || event.time_ns < unit->start_ns ||
		    event.time_ns > unit->end_ns)
			continue;
		if (event.time_ns == unit->end_ns) {
			end = &trace->events[i];
			break;
		}
		guard = trace_kind(&event) == PERFGUARD_EVENT_KIND_HIT ?
			guard_of(guarded, trace_number(&event)) : SAMPLES_NONE;
		if (guard == SAMPLES_NONE)
			continue;
		is_known &= infer_hit(&table->table, table->state, guard, depth) ||
			    guard >= guarded->model.nr_guards;
		infer_hit(&paper->table, paper->state, guard, depth);
		put(trace, &event, 1, PERFGUARD_EVENT_KIND_GUARD, guard, depth,
		    id_of(table, infer_early(&table->table, table->state)));
	}
	/* Reported before a wait or call, but only after a system call that ends it. */
	if (end) {
		struct perfguard_event event = *end;

		guarded->paper_types[guarded->nr_units++] =
			id_of(paper, infer_end(&paper->table, paper->state));
		event.time_ns += trace_kind(&event) == PERFGUARD_EVENT_KIND_HIT ||
				 trace_number(&event) >> TRACE_LOOP_SHIFT ? -2 : SIM_STEP_NS;
		put(trace, &event, 1, PERFGUARD_EVENT_KIND_UNIT,
		    id_of(table, infer_end(&table->table, table->state)),
		    about | (is_known && infer_fits(&table->table, table->state) ?
				     0 : UINT64_C(1) << 63),
		    unit->end_ns - unit->start_ns);
	}
}

/* Of the made-up servers, L's frame begins where its first call's return address ends. */
static uint64_t loop_sp_of(const struct guarded *guarded, const struct trace *trace,
			   const struct extract_unit *unit)
{
	const struct samples_hit *hit = guarded->samples.units[unit->variant].hits;

	for (size_t i = 0; i < trace->nr_events; i++)
		if (trace->events[i].time_ns >= unit->start_ns &&
		    trace_kind(&trace->events[i]) == PERFGUARD_EVENT_KIND_HIT &&
		    trace_number(&trace->events[i]) == hit->function)
			return trace->events[i].sp + hit->depth;
	return 0;
}

/* The events of the module between the calls. */
static void guard_trace(struct guarded *guarded, struct trace *trace)
{
	size_t nr = trace->nr_events;
	struct extract_result result;
	struct samples again;
	uint64_t loop_sp;

	must(extract_samples(trace, &again, &result), "collect");
	loop_sp = loop_sp_of(guarded, trace, &result.units[0]);
	for (uint64_t i = 0; i < result.nr_units; i++)
		guard_unit(guarded, trace, nr, &result.units[i], loop_sp);
	must(trace_sort(trace), "sort");
	samples_deinit(&again);
	extract_result_deinit(&result);
}

static void judge(struct guarded *guarded, const struct trace *trace)
{
	must(replay_run(trace, &guarded->samples, &guarded->model, &guarded->loading,
			&guarded->replay), "replay");
	must(truth_find(trace, &guarded->samples, &guarded->joined, &guarded->truth), "truth");
	guarded->types = calloc(guarded->truth.run.nr_trees + 1, sizeof(*guarded->types));
	guarded->reported = calloc(guarded->truth.nr_units + 1, sizeof(*guarded->reported));
	truth_types(&guarded->truth, &guarded->samples, &guarded->model, guarded->types);
	must(truth_align(&guarded->truth, trace, &guarded->replay, guarded->reported), "align");
}

static void guarded_deinit(struct guarded *guarded)
{
	samples_deinit(&guarded->samples);
	samples_deinit(&guarded->joined);
	model_deinit(&guarded->model);
	loading_deinit(&guarded->loading);
	infer_tables_deinit(&guarded->tables);
	infer_tables_deinit(&guarded->paper);
	replay_deinit(&guarded->replay);
	truth_deinit(&guarded->truth);
	free(guarded->types);
	free(guarded->reported);
}

static uint64_t count_right(const struct guarded *guarded)
{
	uint64_t right = 0;

	for (size_t i = 0; i < guarded->truth.nr_units; i++)
		right += guarded->reported[i] != SIZE_MAX &&
			 guarded->replay.units[guarded->reported[i]].type ==
				 guarded->types[guarded->truth.units[i].tree];
	return right;
}

static uint64_t count_paper(const struct guarded *guarded)
{
	uint64_t right = 0;

	for (size_t i = 0; i < guarded->replay.nr_units && i < guarded->nr_units; i++) {
		uint32_t type = guarded->replay.units[i].paper;

		right += guarded->paper_types[i] ==
			 (type == SAMPLES_NONE ? 0 : guarded->model.types[type].id);
	}
	return right;
}

static void is_judged(void (*run)(struct sim *sim), const char *functions, const char *name)
{
	struct guarded guarded;
	struct sim sim;
	uint64_t units;

	sim_init(&sim, functions);
	run(&sim);
	learn(&guarded, &sim.trace);
	guard_trace(&guarded, &sim.trace);
	judge(&guarded, &sim.trace);
	units = guarded.truth.nr_units;
	ok(!guarded.replay.why[0], "%s: nothing is wrong (%s)", name, guarded.replay.why);
	ok(guarded.replay.hits >= units / 4 && !guarded.replay.wrong_hits,
	   "%s: %u hits are compared", name, (unsigned int)guarded.replay.hits);
	is_number(guarded.replay.known_units, guarded.replay.nr_units,
		  "all units are compared");
	is_number(guarded.replay.nr_units, units, "it reported all units");
	is_number(count_right(&guarded), units, "of the type they are");
	is_number(count_paper(&guarded), units, "and of the paper's type");
	is_number(guarded.truth.nr_equal, guarded.truth.nr_boundaries, "cut at equal boundaries");
	guarded_deinit(&guarded);
	sim_deinit(&sim);
}

/* The event of a kind that is the @nr-th. */
static struct perfguard_event *find(struct trace *trace, enum perfguard_event_kind kind, int nr)
{
	for (size_t i = 0; i < trace->nr_events; i++)
		if (trace_kind(&trace->events[i]) == kind && !nr--)
			return &trace->events[i];
	printf("Bail out! no such event\n");
	exit(1);
}

static void make_wrong_guard(struct trace *trace)
{
	find(trace, PERFGUARD_EVENT_KIND_GUARD, 20)->value ^= 3;
}

static void make_wrong_unit(struct trace *trace)
{
	find(trace, PERFGUARD_EVENT_KIND_UNIT, 20)->what ^= 3;
}

static void make_novel(struct trace *trace)
{
	find(trace, PERFGUARD_EVENT_KIND_UNIT, 20)->sp ^= UINT64_C(1) << 63;
}

static void make_deep(struct trace *trace)
{
	find(trace, PERFGUARD_EVENT_KIND_GUARD, 20)->sp += 8;
}

static void drop(struct trace *trace, struct perfguard_event *event)
{
	size_t at = (size_t)(event - trace->events);

	memmove(event, event + 1, (trace->nr_events - at - 1) * sizeof(*event));
	trace->nr_events--;
}

static void drop_guard(struct trace *trace)
{
	drop(trace, find(trace, PERFGUARD_EVENT_KIND_GUARD, 20));
}

static void drop_unit(struct trace *trace)
{
	drop(trace, find(trace, PERFGUARD_EVENT_KIND_UNIT, 20));
}

/* One of the thread's own events, in the first of its units. */
static void lose_one(struct trace *trace)
{
	struct perfguard_event *hit = find(trace, PERFGUARD_EVENT_KIND_GUARD, 20);
	struct perfguard_event event = {
		.time_ns = hit->time_ns,
		.value = 1,
		.what = (uint32_t)PERFGUARD_EVENT_KIND_LOST << TRACE_KIND_SHIFT,
	};

	drop(trace, hit);
	must(trace_add(trace, &event, 1), "events");
	must(trace_sort(trace), "sort");
}

static void with_fault(void (*make)(struct trace *trace), struct guarded *ret)
{
	struct sim sim;

	sim_init(&sim, "MLPWHRGSTUFabcdef");
	run_dispatch(&sim);
	learn(ret, &sim.trace);
	guard_trace(ret, &sim.trace);
	make(&sim.trace);
	judge(ret, &sim.trace);
	sim_deinit(&sim);
}

static void faults(void)
{
	struct guarded guarded;

	with_fault(make_wrong_guard, &guarded);
	is_number(guarded.replay.wrong_hits, 1, "a wrong type at a hit is seen");
	is_number(guarded.replay.wrong_units, 0, "and nothing else");
	guarded_deinit(&guarded);
	with_fault(make_wrong_unit, &guarded);
	is_number(guarded.replay.wrong_units + guarded.replay.strange, 1,
		  "a wrong type at a unit's end is seen");
	is_number(count_right(&guarded), guarded.truth.nr_units - 1, "as a unit not recognised");
	guarded_deinit(&guarded);
	with_fault(make_novel, &guarded);
	is_number(guarded.replay.wrong_novel, 1, "a wrong opinion on whether it fits is seen");
	guarded_deinit(&guarded);
	with_fault(make_deep, &guarded);
	is_number(guarded.replay.misplaced_hits, 1, "a wrong depth is seen");
	guarded_deinit(&guarded);
	with_fault(drop_guard, &guarded);
	is_number(guarded.replay.missed_hits, 1, "a call without a guard hit is seen");
	guarded_deinit(&guarded);
	with_fault(drop_unit, &guarded);
	is_number(guarded.replay.nr_units, guarded.truth.nr_units - 1, "an unreported unit is found");
	is_number(count_right(&guarded), guarded.truth.nr_units - 1, "and the others stay right");
	guarded_deinit(&guarded);
	with_fault(lose_one, &guarded);
	is_number(guarded.replay.known_units, guarded.replay.nr_units - 1,
		  "a unit that lost events is not compared");
	ok(!guarded.replay.wrong_hits && !guarded.replay.wrong_units, "and no other suffers");
	guarded_deinit(&guarded);
}

/* As handle() of what is G, with one call more. */
static void handle_unlike(struct thread *t)
{
	call(t, 'H', 3 | INDIRECT | LOOP);
	call(t, 'R', 0);
	system_call(t, SYS_read, 10, 30);
	ret(t);
	call(t, 'G', 1 | INDIRECT);
	leaves(t, "abcdefx", 0);
	ret(t);
	ret(t);
	note('X');
}

static void run_unlike(struct sim *sim)
{
	struct thread t;

	sim_image(sim, 1, BASE);
	begin(&t, sim, 7);
	for (uint32_t i = 0; i < 60; i++) {
		call(&t, 'P', 0 | LOOP);
		call(&t, 'W', 1);
		wait_call(&t, 1, SYS_epoll_wait, 'P', 3, 1, SLEEP_NS);
		ret(&t);
		handle(&t, 'S');
		if (i % 4 == 3)
			handle_unlike(&t);
		handle(&t, 'G');
		ret(&t);
		leaf(&t, 'F', 5 | LOOP);
	}
	call(&t, 'P', 0 | LOOP);
	call(&t, 'W', 1);
	syscall_enter(&t, SYS_epoll_wait);
	thread_end(&t);
	sim_finish(sim);
}

/* A call tree that training did not see is of the type that it is most like. */
static void unseen(void)
{
	uint32_t type_of[128] = { 0 }, nr_unseen = 0;
	struct guarded guarded;
	struct sim known, more;
	bool same = true;

	sim_init(&known, "MLPWHRGSTUFabcdefx");
	run_dispatch(&known);
	learn(&guarded, &known.trace);
	sim_init(&more, "MLPWHRGSTUFabcdefx");
	run_unlike(&more);
	judge(&guarded, &more.trace);
	is_number(guarded.truth.nr_units, strlen(handled), "a run unlike training: its units");
	for (size_t i = 0; i < guarded.truth.nr_units && handled[i]; i++) {
		uint32_t tree = guarded.truth.units[i].tree, *type = &type_of[(int)handled[i]];

		same &= !*type || *type == guarded.types[tree] + 1;
		*type = guarded.types[tree] + 1;
		nr_unseen += guarded.truth.tree_of[tree] == SAMPLES_NONE;
	}
	ok(same && nr_unseen == 15, "those of a new call tree are known to be (%u)", nr_unseen);
	is_number(type_of['X'], type_of['G'], "they are of the nearest type");
	ok(type_of['S'] != type_of['G'], "which is not the other");
	guarded_deinit(&guarded);
	sim_deinit(&known);
	sim_deinit(&more);
}

int main(void)
{
	plan(CHECKS);
	is_judged(run_plain, "MLWABC", "plain");
	is_judged(run_dispatch, "MLPWHRGSTUFabcdef", "dispatch");
	is_judged(run_flat, "MLWHRGSabcdef", "flat");
	is_judged(run_silent, "MLPWFGSabcdefgh", "silent");
	faults();
	unseen();
	return tap_status();
}
