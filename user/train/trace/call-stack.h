/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Goes along the events of one thread and keeps the stack of calls that they
 * imply.
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

/* A call pushes the return address: the callee is entered so far below its caller's SP. */
enum { CALL_PUSH_BYTES = 8 };

/* A function that has been entered and, as far as is known, not left. */
struct call_frame {
	uint32_t function;
	uint32_t object; /* of the return address; TRACE_NONE if not known */
	uint64_t return_offset; /* in that file */
	uint64_t sp; /* at entry: where the return address stands */
	const struct trace_call *call; /* what it returns to; NULL if not known */
};

/* Where the events of one thread, in one image, are. */
struct trace_thread {
	uint32_t tid;
	uint32_t pid;
	uint32_t image;
	size_t begin; /* indices of events */
	size_t end;
};

/* Where a return address is: looking it up is most of what a call costs. */
struct call_return {
	uint64_t address; /* 0: the slot is free */
	uint32_t image;
	uint32_t object;
	uint64_t offset;
	const struct trace_call *call;
};

struct call_stack {
	const struct trace *trace;
	struct call_return *returns; /* those met last, by a hash */
	struct call_frame *frames; /* outermost first */
	uint32_t nr_frames;
	size_t max_frames;
	uint32_t *active; /* by function: its frames */
};

/*
 * The threads of a sorted trace; one that executed another program counts as
 * another thread.  *@ret is the caller's to free.  Returns 0 or -ENOMEM.
 */
int trace_threads(const struct trace *trace, struct trace_thread **ret, uint32_t *ret_nr);

/*
 * The losses of a trace.  One is reported for a CPU, not for a thread, so it may
 * concern each thread.
 */
struct trace_losses {
	const struct trace *trace; /* sorted: they stand at its begin */
	size_t next;
};

/* Begin with the losses after an event, the first of a thread. */
void trace_losses_init(struct trace_losses *losses, const struct trace *trace,
		       const struct perfguard_event *event);

/* True if events were lost since the last event this was called for, or the first. */
bool trace_losses_before(struct trace_losses *losses, const struct perfguard_event *event);

/* Returns 0 or -ENOMEM; the trace outlives the stack. */
int call_stack_init(struct call_stack *stack, const struct trace *trace);
void call_stack_deinit(struct call_stack *stack);

/* Forget the calls: a thread begins, or events are missing. */
void call_stack_reset(struct call_stack *stack);

/* The frame whose return address stands at @sp; NULL if there is none. */
const struct call_frame *call_stack_frame_at(const struct call_stack *stack, uint64_t sp);

/*
 * The thread enters a function: event @index of the trace, of kind hit.  The
 * new frame is the last one.  Returns 0 or -ENOMEM.
 */
int call_stack_call(struct call_stack *stack, const struct trace_thread *thread, size_t index);

/* The thread makes a system call at @sp: what was entered below has returned. */
void call_stack_syscall(struct call_stack *stack, uint64_t sp);

/* Forget what was entered at @sp or above: only what is below counts. */
void call_stack_below(struct call_stack *stack, uint64_t sp);

#endif /* _USER_TRAIN_TRACE_CALL_STACK_H */
