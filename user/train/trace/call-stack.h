/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Goes along the events of one thread and keeps the stack of calls that they
 * tell of.
 *
 * There are events of entries only.  A function has returned when another one
 * is entered at its stack pointer or above; where the return address says that
 * the caller is not the innermost function, that one has returned, too (it had
 * left arguments on the stack).  So no probe at any return is needed.
 */
#ifndef _USER_TRAIN_TRACE_CALL_STACK_H
#define _USER_TRAIN_TRACE_CALL_STACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "data/trace.h"

/* A function that has been entered and, as far as is known, not left. */
struct walk_frame {
	uint32_t function;
	uint32_t object; /* of the return address; TRACE_NONE if not known */
	uint64_t return_offset; /* in that file */
	uint64_t sp; /* at entry: where the return address stands */
	uint64_t index; /* of the entry, among all events of the trace */
	const struct trace_call *call; /* what it returns to; NULL if not known */
};

/* Where the events of one thread, in one image, are. */
struct walk_thread {
	uint32_t tid;
	uint32_t pid;
	uint32_t image;
	size_t begin; /* indices of events */
	size_t end;
};

/* Where a return address is: looking it up is most of what a call costs. */
struct walk_return {
	uint64_t address; /* 0: the slot is free */
	uint32_t image;
	uint32_t object;
	uint64_t offset;
	const struct trace_call *call;
};

struct walk {
	const struct trace *trace;
	struct walk_return *returns; /* those met last, by a hash */
	struct walk_frame *frames; /* outermost first */
	uint32_t nr_frames;
	uint32_t max_frames;
	uint32_t *active; /* by function: its frames */
};

/*
 * The threads of a sorted trace; one that executed another program counts as
 * another thread.  *@ret is the caller's to free.  Returns 0 or -ENOMEM.
 */
int walk_threads(const struct trace *trace, struct walk_thread **ret, uint32_t *ret_nr);

/*
 * The losses of a trace.  One is told for a CPU, not for a thread, so it may
 * concern each thread.
 */
struct walk_losses {
	const struct trace *trace; /* sorted: they stand at its begin */
	size_t next;
};

/* Begin with the losses after an event, the first of a thread. */
void walk_losses_init(struct walk_losses *losses, const struct trace *trace,
		      const struct perfguard_event *event);

/* Were events lost since the last event that was asked for, or the first? */
bool walk_losses_before(struct walk_losses *losses, const struct perfguard_event *event);

/* Returns 0 or -ENOMEM; the trace outlives the walk. */
int walk_init(struct walk *walk, const struct trace *trace);
void walk_deinit(struct walk *walk);

/* Forget the calls: a thread begins, or events are missing. */
void walk_reset(struct walk *walk);

/* The frame whose return address stands at @sp; NULL if there is none. */
const struct walk_frame *walk_frame_at(const struct walk *walk, uint64_t sp);

/*
 * The thread enters a function: event @index of the trace, of kind hit.  The
 * new frame is the last one.  Returns 0 or -ENOMEM.
 */
int walk_call(struct walk *walk, const struct walk_thread *thread, size_t index);

/* The thread makes a system call at @sp: what was entered below has returned. */
void walk_syscall(struct walk *walk, uint64_t sp);

/* Forget what was entered at @sp or above: only what is below counts. */
void walk_below(struct walk *walk, uint64_t sp);

#endif /* _USER_TRAIN_TRACE_CALL_STACK_H */
