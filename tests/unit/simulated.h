/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A made-up program that runs, and what the module would report of it.
 *
 * Functions are letters.  Each thread has a stack: calls push a return address
 * and make a frame, system calls look for wait contexts on it as the module
 * does.  Every step takes SIM_STEP_NS, reported or not, so that a run with other
 * sites has the same times.
 */
#ifndef _PGUARD_SIMULATED_H
#define _PGUARD_SIMULATED_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "data/trace.h"

enum {
	SIM_STEP_NS = 100,
	SIM_FRAMES = 256,
	SIM_FUNCTION_BYTES = 0x1000,
	/* How a call is made; added to its number in the caller. */
	INDIRECT = 0x100,
	LOOP = 0x200, /* in a natural loop of the caller */
};

#define SIM_PROGRAM_BYTES UINT64_C(0x100000)
#define SIM_LIBRARY UINT64_C(0x10000000) /* where it is, from the program on */
#define SIM_NOWHERE UINT64_C(0x7000000000) /* code of no file */

struct sim {
	struct trace trace;
	uint64_t now_ns;
	uint32_t site_of[128]; /* by letter; TRACE_NONE: carries no site */
	bool has_contexts; /* they are given and none is added */
	uint64_t steps; /* that could be reported */
	uint64_t lose_from, lose_to; /* these find no room */
	uint64_t nr_lost; /* not reported yet */
	uint64_t first_lost_ns, reported_lost_ns;
};

struct sim_frame {
	int function;
	uint64_t slot; /* where its return address stands */
	uint64_t address;
};

struct thread {
	struct sim *sim;
	uint32_t tid;
	uint32_t pid;
	uint32_t image;
	uint64_t base; /* where the program is */
	uint64_t sp;
	struct sim_frame frames[SIM_FRAMES];
	uint32_t nr_frames;
};

static inline void *sim_add(void *array, uint32_t *nr, size_t size, const void *row)
{
	char *grown = realloc(array, (*nr + 1) * size);

	if (!grown)
		abort();
	memcpy(grown + (*nr)++ * size, row, size);
	return grown;
}

static inline uint64_t sim_offset(int function)
{
	return (uint64_t)function * SIM_FUNCTION_BYTES;
}

/* Only the @functions carry sites. */
static inline void sim_init(struct sim *sim, const char *functions)
{
	struct trace *trace = &sim->trace;

	memset(sim, 0, sizeof(*sim));
	memset(sim->site_of, 0xff, sizeof(sim->site_of));
	sim->now_ns = 1000000;
	sim->lose_from = UINT64_MAX;
	trace->objects = calloc(2, sizeof(*trace->objects));
	trace->nr_objects = 2;
	trace->objects[0] = (struct samples_object){ .path = strdup("/bin/sim"), .build_id = strdup("aa") };
	trace->objects[1] = (struct samples_object){ .path = strdup("/lib/sim.so"), .build_id = strdup("bb") };
	for (; *functions; functions++) {
		struct samples_function row = {
			.offset = sim_offset(*functions),
			.site = sim_offset(*functions),
			.size = SIM_FUNCTION_BYTES,
			.name = strndup(functions, 1),
		};

		sim->site_of[(int)*functions] = trace->nr_functions;
		trace->functions = sim_add(trace->functions, &trace->nr_functions, sizeof(row),
					   &row);
	}
}

static inline void sim_deinit(struct sim *sim)
{
	trace_deinit(&sim->trace);
}

/* Map both files; images by rising number. */
static inline void sim_image(struct sim *sim, uint32_t image, uint64_t base)
{
	struct trace *trace = &sim->trace;

	for (uint32_t i = 0; i < 2; i++) {
		struct trace_mapping row = {
			.image = image,
			.object = i,
			.start = base + i * SIM_LIBRARY,
			.end = base + i * SIM_LIBRARY + SIM_PROGRAM_BYTES,
		};

		trace->mappings = sim_add(trace->mappings, &trace->nr_mappings, sizeof(row), &row);
	}
}

static inline int sim_by_place(const void *a, const void *b)
{
	const struct trace_call *left = a, *right = b;

	if (left->object != right->object)
		return left->object < right->object ? -1 : 1;
	return left->offset < right->offset ? -1 : left->offset > right->offset;
}

/* All has run. */
static inline void sim_finish(struct sim *sim)
{
	if (sim->trace.nr_calls)
		qsort(sim->trace.calls, sim->trace.nr_calls, sizeof(*sim->trace.calls),
		      sim_by_place);
	if (trace_sort(&sim->trace))
		abort();
}

static inline void sim_put(struct sim *sim, const struct perfguard_event *event)
{
	if (trace_add(&sim->trace, event, 1))
		abort();
}

/* True if there is no room for an event.  Once there is, the loss comes first. */
static inline bool sim_loses(struct sim *sim)
{
	uint64_t step = sim->steps++;
	struct perfguard_event event = {
		.time_ns = sim->now_ns,
		.value = sim->nr_lost,
		.what = (uint32_t)PERFGUARD_EVENT_KIND_LOST << TRACE_KIND_SHIFT,
	};

	if (step >= sim->lose_from && step < sim->lose_to) {
		if (!sim->nr_lost++)
			sim->first_lost_ns = sim->now_ns;
		sim->trace.lost++;
		return true;
	}
	if (sim->nr_lost) {
		sim_put(sim, &event);
		sim->reported_lost_ns = sim->now_ns;
		sim->nr_lost = 0;
	}
	return false;
}

static inline void sim_tell(struct thread *t, enum perfguard_event_kind kind, uint32_t number,
			    uint64_t sp, uint64_t value)
{
	struct perfguard_event event = {
		.time_ns = t->sim->now_ns,
		.sp = sp,
		.value = value,
		.tid = t->tid,
		.what = (uint32_t)kind << TRACE_KIND_SHIFT | number,
	};

	if (!sim_loses(t->sim))
		sim_put(t->sim, &event);
}

static inline void sim_pass(struct thread *t, uint64_t ns)
{
	t->sim->now_ns += ns;
}

static inline void thread_start(struct thread *t, struct sim *sim, uint32_t pid, uint32_t tid,
				uint32_t image, uint64_t base)
{
	*t = (struct thread){ .sim = sim, .tid = tid, .pid = pid, .image = image, .base = base };
	t->sp = UINT64_C(0x7ff000000000) - tid * UINT64_C(0x10000000);
	sim_pass(t, SIM_STEP_NS);
	sim_tell(t, PERFGUARD_EVENT_KIND_START, 0, 0, (uint64_t)image << 32 | pid);
}

static inline void thread_end(struct thread *t)
{
	sim_pass(t, SIM_STEP_NS);
	sim_tell(t, PERFGUARD_EVENT_KIND_END, 0, 0, 0);
}

static inline void sim_enter(struct thread *t, int function, uint64_t address)
{
	t->frames[t->nr_frames++] = (struct sim_frame){ function, t->sp, address };
	sim_pass(t, SIM_STEP_NS);
	if (t->sim->site_of[function] != TRACE_NONE)
		sim_tell(t, PERFGUARD_EVENT_KIND_HIT, t->sim->site_of[function], t->sp, address);
	t->sp -= 16 * (1 + (uint64_t)function % 5);
}

static inline void sim_note_call(struct sim *sim, int caller, uint64_t offset, int callee,
				 uint32_t how)
{
	struct trace_call row = {
		.offset = offset,
		.caller = sim->site_of[caller],
		.callee = how & INDIRECT ? TRACE_NONE : sim->site_of[callee],
		.is_indirect = how & INDIRECT,
		.is_in_loop = how & LOOP,
	};

	for (uint32_t i = 0; i < sim->trace.nr_calls; i++)
		if (sim->trace.calls[i].offset == offset)
			return;
	sim->trace.calls = sim_add(sim->trace.calls, &sim->trace.nr_calls, sizeof(row), &row);
}

/* Call a function; @how is the call's number in the caller, and INDIRECT, LOOP. */
static inline void call(struct thread *t, int function, uint32_t how)
{
	uint64_t address = SIM_NOWHERE;

	if (t->nr_frames) {
		int caller = t->frames[t->nr_frames - 1].function;
		uint64_t offset = sim_offset(caller) + 16 + 8 * (uint64_t)(how & 0xff);

		sim_note_call(t->sim, caller, offset, function, how);
		address = t->base + offset;
	}
	t->sp -= 8;
	sim_enter(t, function, address);
}

static inline void call_from(struct thread *t, int function, uint64_t address)
{
	t->sp -= 8;
	sim_enter(t, function, address);
}

static inline void ret(struct thread *t)
{
	t->sp = t->frames[--t->nr_frames].slot + 8;
}

static inline void leaf(struct thread *t, int function, uint32_t how)
{
	call(t, function, how);
	ret(t);
}

/* Call these one after the other. */
static inline void leaves(struct thread *t, const char *functions, uint32_t how)
{
	for (; *functions; functions++)
		leaf(t, *functions, how++);
}

/* The function at hand ends by jumping to another. */
static inline void jump(struct thread *t, int function)
{
	struct sim_frame *frame = &t->frames[--t->nr_frames];

	t->sp = frame->slot;
	sim_enter(t, function, frame->address);
}

/* A word of the stack; 0 where none is known. */
static inline uint64_t sim_word(const struct thread *t, uint64_t at)
{
	for (uint32_t i = t->nr_frames; i-- > 0;)
		if (t->frames[i].slot == at)
			return t->frames[i].address;
	return 0;
}

/* The id of the loop whose wait it is, as the module reports it. */
static inline uint32_t sim_loop_of(const struct thread *t, uint32_t syscall, uint64_t sp)
{
	const struct trace *trace = &t->sim->trace;

	for (uint32_t i = 0; i < trace->nr_contexts; i++) {
		const struct trace_context *context = &trace->contexts[i];

		if (context->image == t->image && context->syscall == syscall &&
		    sim_word(t, sp + context->distance) ==
			    t->base + context->object * SIM_LIBRARY + context->return_offset)
			return context->loop;
	}
	return 0;
}

static inline void syscall_enter(struct thread *t, uint32_t syscall)
{
	uint64_t sp = t->sp - 8;

	sim_pass(t, SIM_STEP_NS);
	sim_tell(t, PERFGUARD_EVENT_KIND_ENTER,
		 syscall | sim_loop_of(t, syscall, sp) << TRACE_LOOP_SHIFT, sp,
		 t->base + SIM_LIBRARY + 16 * (uint64_t)syscall);
}

static inline void syscall_leave(struct thread *t, uint32_t syscall, int64_t fd, int64_t value)
{
	sim_pass(t, SIM_STEP_NS);
	sim_tell(t, PERFGUARD_EVENT_KIND_LEAVE,
		 syscall | sim_loop_of(t, syscall, t->sp - 8) << TRACE_LOOP_SHIFT, (uint64_t)fd,
		 (uint64_t)value);
}

static inline void system_call(struct thread *t, uint32_t syscall, int64_t fd, int64_t value)
{
	syscall_enter(t, syscall);
	syscall_leave(t, syscall, fd, value);
}

/* Waits in this place belong to @loop; @chain is what the loop's function called. */
static inline void wait_known(struct thread *t, uint32_t loop, uint32_t syscall, int chain)
{
	uint32_t at = t->nr_frames;
	struct trace_context row;

	while (t->frames[--at].function != chain)
		;
	row = (struct trace_context){
		.image = t->image,
		.loop = loop,
		.syscall = syscall,
		.return_offset = t->frames[at].address - t->base,
		.distance = (uint32_t)(t->frames[at].slot - (t->sp - 8)),
		.comm = "sim",
	};
	if (!t->sim->has_contexts && !sim_loop_of(t, syscall, t->sp - 8))
		t->sim->trace.contexts = sim_add(t->sim->trace.contexts,
						 &t->sim->trace.nr_contexts, sizeof(row), &row);
}

/* The wait of @loop, which sleeps for @ns. */
static inline void wait_call(struct thread *t, uint32_t loop, uint32_t syscall, int chain,
			     int64_t fd, int64_t value, uint64_t ns)
{
	wait_known(t, loop, syscall, chain);
	syscall_enter(t, syscall);
	sim_pass(t, ns);
	syscall_leave(t, syscall, fd, value);
}

#endif /* _PGUARD_SIMULATED_H */
