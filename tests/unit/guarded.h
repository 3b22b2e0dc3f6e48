/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A made-up program under guard: from what the module would report of a run with
 * sites, in servers.h, to what it reports when a profile is armed.
 */
#ifndef _PGUARD_GUARDED_H
#define _PGUARD_GUARDED_H

#include "simulated.h"
#include "train/trace/cutter.h"
#include "train/trace/trace-pass.h"

enum {
	GUARDED_CHECK_NS = 3, /* of a hit */
	GUARDED_MAX_CONTEXTS = 64,
};

#define GUARDED_NONE (UINT64_C(1) << 62)

struct guarded {
	const struct samples *profile;
	struct sim *sim;
	const struct samples_boundary *boundaries[GUARDED_MAX_CONTEXTS]; /* by loop id less 1 */
	uint32_t loops[GUARDED_MAX_CONTEXTS]; /* the same */
	/* What comes of the events. */
	struct perfguard_event *events;
	uint32_t nr;
	/* The thread. */
	struct cutter cutter;
	uint32_t loop; /* SAMPLES_NONE: in none */
	uint64_t frame;
	uint64_t checks_ns;
	const struct samples_boundary *in;
	uint64_t entered_ns;
};

/* Each boundary that is a call is a loop to the simulation. */
static inline void guarded_init(struct guarded *g, struct sim *sim, const struct samples *profile,
				uint32_t image)
{
	struct trace *trace = &sim->trace;

	memset(g, 0, sizeof(*g));
	g->profile = profile;
	g->sim = sim;
	g->loop = SAMPLES_NONE;
	sim->has_contexts = true;
	for (uint32_t i = 0; i < profile->nr_loops; i++) {
		for (uint32_t j = 0; j < profile->loops[i].nr_boundaries; j++) {
			const struct samples_boundary *boundary =
				&profile->loops[i].boundaries[j];
			struct trace_context row = {
				.image = image,
				.loop = 1 + trace->nr_contexts,
				.syscall = boundary->syscall,
				.object = boundary->object,
				.return_offset = boundary->return_offset,
				.distance = boundary->distance,
			};

			if (boundary->role == SAMPLES_ROLE_EVENT_SITE)
				continue;
			if (trace->nr_contexts == GUARDED_MAX_CONTEXTS)
				abort();
			g->boundaries[trace->nr_contexts] = boundary;
			g->loops[trace->nr_contexts] = i;
			trace->contexts = sim_add(trace->contexts, &trace->nr_contexts,
						  sizeof(row), &row);
		}
	}
}

static inline void guarded_put(struct guarded *g, const struct perfguard_event *event,
			       enum perfguard_event_kind kind, uint32_t number, uint64_t sp,
			       uint64_t value)
{
	struct perfguard_event row = {
		.time_ns = event->time_ns,
		.sp = sp,
		.value = value,
		.tid = event->tid,
		.what = (uint32_t)kind << TRACE_KIND_SHIFT | number,
	};

	g->events = sim_add(g->events, &g->nr, sizeof(row), &row);
}

static inline void guarded_end_unit(struct guarded *g, const struct perfguard_event *event,
				    enum cutter_end end, uint64_t ns)
{
	uint64_t about = g->checks_ns | (uint64_t)(g->loop + 1) << 32 |
			 (end == CUTTER_EMPTY ? GUARDED_NONE : 0);

	if (end != CUTTER_NONE)
		guarded_put(g, event, PERFGUARD_EVENT_KIND_UNIT, 1, about, ns);
	if (end != CUTTER_NONE)
		g->checks_ns = 0;
}

static inline void guarded_mark(struct guarded *g, const struct perfguard_event *event,
				uint64_t at_ns)
{
	uint64_t start_ns = 0;
	enum cutter_end end = cutter_mark(&g->cutter, at_ns, &start_ns);

	guarded_end_unit(g, event, end, at_ns - start_ns);
}

static inline void guarded_enter(struct guarded *g, const struct perfguard_event *event)
{
	uint32_t id = trace_number(event) >> TRACE_LOOP_SHIFT;
	uint64_t start_ns = 0;
	enum cutter_end end;

	g->in = id ? g->boundaries[id - 1] : NULL;
	g->entered_ns = event->time_ns;
	if (g->in && g->in->role != SAMPLES_ROLE_WAIT && g->loops[id - 1] != g->loop)
		g->in = NULL;
	if (!g->in || g->in->role != SAMPLES_ROLE_WAIT)
		return;
	end = cutter_wait(&g->cutter, &start_ns);
	guarded_end_unit(g, event, end, event->time_ns - start_ns);
	g->loop = g->loops[id - 1];
	g->frame = event->sp + g->in->rise;
	g->cutter.has_empty = g->profile->loops[g->loop].has_empty;
}

static inline void guarded_leave(struct guarded *g, const struct perfguard_event *event)
{
	const struct samples_boundary *in = g->in;

	g->in = NULL;
	if (!in)
		return;
	if (in->role == SAMPLES_ROLE_EVENT_CALL) {
		if ((int64_t)event->value >= 0)
			guarded_mark(g, event, g->entered_ns);
	} else if (trace_pass_wake_begins(trace_syscall(event),
					  (int64_t)event->value)) {
		cutter_wake(&g->cutter, event->time_ns);
		g->checks_ns = 0;
	}
}

static inline bool guarded_is_event_site(const struct guarded *g, uint64_t offset)
{
	const struct samples_loop *loop = &g->profile->loops[g->loop];

	for (uint32_t i = 0; i < loop->nr_boundaries; i++)
		if (loop->boundaries[i].role == SAMPLES_ROLE_EVENT_SITE &&
		    g->profile->functions[loop->boundaries[i].function].offset == offset)
			return true;
	return false;
}

static inline void guarded_hit(struct guarded *g, const struct perfguard_event *event)
{
	uint32_t guard = trace_number(event);

	if (g->loop == SAMPLES_NONE || event->sp >= g->frame)
		return;
	if (guarded_is_event_site(g, g->sim->trace.functions[guard].offset))
		guarded_mark(g, event, event->time_ns);
	if (!g->cutter.is_running)
		return;
	guarded_put(g, event, PERFGUARD_EVENT_KIND_GUARD, guard, g->frame - event->sp, 1);
	g->checks_ns += GUARDED_CHECK_NS;
}

/* All has run, in one thread at a time: the trace becomes one of timing. */
static inline void guarded_finish(struct guarded *g)
{
	struct trace *trace = &g->sim->trace;

	for (size_t i = 0; i < trace->nr_events; i++) {
		const struct perfguard_event *event = &trace->events[i];

		switch (trace_kind(event)) {
		case PERFGUARD_EVENT_KIND_ENTER:
			guarded_enter(g, event);
			break;
		case PERFGUARD_EVENT_KIND_LEAVE:
			guarded_leave(g, event);
			break;
		case PERFGUARD_EVENT_KIND_HIT:
			guarded_hit(g, event);
			break;
		default:
			g->loop = SAMPLES_NONE;
			cutter_reset(&g->cutter, false);
			g->events = sim_add(g->events, &g->nr, sizeof(*event), event);
		}
	}
	free(trace->events);
	free(trace->contexts);
	free(trace->mappings);
	free(trace->calls);
	trace->contexts = NULL;
	trace->mappings = NULL;
	trace->calls = NULL;
	trace->nr_contexts = trace->nr_mappings = trace->nr_calls = 0;
	trace->stage = TRACE_STAGE_TIMING;
	trace->events = g->events;
	trace->nr_events = trace->max_events = g->nr;
	for (uint32_t i = 0; i < g->profile->nr_loops; i++)
		trace->loops = sim_add(trace->loops, &trace->nr_loops, sizeof(*trace->loops),
				       &g->profile->loops[i].hash);
}

#endif /* _PGUARD_GUARDED_H */
