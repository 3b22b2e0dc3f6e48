/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A trace pass, thread by thread: keeps what every reader of it needs
 * (which loop the thread is in, where that loop's frame is, the calls from
 * there on) and reports what happens.
 */
#ifndef _USER_TRAIN_TRACE_TRACE_PASS_H
#define _USER_TRAIN_TRACE_TRACE_PASS_H

#include <stdbool.h>
#include <stdint.h>

#include "data/trace.h"
#include "train/trace/call-stack.h"
#include "train/trace/context-class.h"
#include "train/trace/loop-frame.h"

/* What all trace passes go by. */
struct trace_pass_input {
	const struct trace *trace;
	struct context_classes contexts;
	struct trace_thread *threads;
	uint32_t nr_threads;
	struct loop_frames levels;
};

/* Returns 0 or -ENOMEM.  The trace is sorted and outlives the input. */
int trace_pass_input_init(struct trace_pass_input *input, const struct trace *trace);
void trace_pass_input_deinit(struct trace_pass_input *input);

struct trace_pass {
	const struct trace_pass_input *input;
	uint32_t thread; /* index */
	uint32_t loop; /* TRACE_NONE before the thread's first wait */
	uint64_t loop_sp; /* of its frame; 0 if not known */
	bool is_waiting; /* in the loop's wait */
	bool is_whole; /* no call between the loop's frame and here is missing */
	bool was_lost; /* what the stack has may lack calls */
	struct trace_losses losses;
	struct call_stack stack; /* within a loop, its frames begin right below the loop's */
	size_t index; /* of the event */
	const struct perfguard_event *event;
	const struct perfguard_event *enter; /* of the system call it is in, or NULL */
};

/* Each may be NULL; each but lost returns 0 or a negative errno, which ends the pass. */
struct trace_pass_ops {
	/* A function is entered; the stack's last frame is it.  Only within a loop. */
	int (*call)(struct trace_pass *pass, void *arg);
	/* The loop's own wait, entered and returned with event->value. */
	int (*wait)(struct trace_pass *pass, void *arg);
	int (*wake)(struct trace_pass *pass, void *arg);
	/* Another hooked call on the loop's stack has returned; enter is its entry. */
	int (*syscall)(struct trace_pass *pass, void *arg);
	/* The thread leaves the loop for a while or ends, or events are lost. */
	int (*leave)(struct trace_pass *pass, void *arg);
	/* An entry on another stack than the thread's own. */
	int (*foreign)(struct trace_pass *pass, void *arg);
};

int trace_pass_run(const struct trace_pass_input *input, const struct trace_pass_ops *ops,
		   void *arg);

/* The last frame of the stack, which has one. */
static inline const struct call_frame *trace_pass_frame(const struct trace_pass *pass)
{
	return &pass->stack.frames[pass->stack.nr_frames - 1];
}

/*
 * Which of its loop's contexts a wait, just entered, is in: by the return
 * address where a function with a site was called, else by the system call.
 * An index into the trace's contexts; TRACE_NONE if it cannot be identified.
 */
uint32_t trace_pass_context(const struct trace_pass *pass);

/* True if a function with a site was called from there, which identifies the wait just entered. */
bool trace_pass_is_called_from(const struct trace_pass *pass, const struct trace_context *context);

/* True if the return of a wait begins a unit, as the module decides. */
bool trace_pass_wake_begins(uint32_t syscall, int64_t value);

/* Calls that say by EAGAIN that there is nothing to be had. */
bool trace_pass_reads(uint32_t syscall);

#endif /* _USER_TRAIN_TRACE_TRACE_PASS_H */
