/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A pass over a trace, thread by thread: keeps what every reader of it needs
 * (which loop the thread is in, where that loop's frame is, the calls from
 * there on) and tells what happens.
 */
#ifndef _USER_TRAIN_TRACE_TRACE_PASS_H
#define _USER_TRAIN_TRACE_TRACE_PASS_H

#include <stdbool.h>
#include <stdint.h>

#include "data/trace.h"
#include "train/loops/loop-frame.h"
#include "train/trace/call-stack.h"

/* What all passes over a trace go by. */
struct pass_input {
	const struct trace *trace;
	struct level_loops loops;
	struct walk_thread *threads;
	uint32_t nr_threads;
	struct levels levels;
};

/* Returns 0 or -ENOMEM.  The trace is sorted and outlives the input. */
int pass_input_init(struct pass_input *input, const struct trace *trace);
void pass_input_deinit(struct pass_input *input);

struct pass {
	const struct pass_input *input;
	uint32_t thread; /* index */
	uint32_t loop; /* TRACE_NONE before the thread's first wait */
	uint64_t loop_sp; /* of its frame; 0 if not known */
	bool is_waiting; /* in the loop's wait */
	bool is_whole; /* no call between the loop's frame and here is missing */
	bool was_lost; /* what the walk has may lack calls */
	struct walk_losses losses;
	struct walk walk; /* within a loop, its frames begin right below the loop's */
	size_t index; /* of the event */
	const struct perfguard_event *event;
	const struct perfguard_event *enter; /* of the system call it is in, or NULL */
};

/* Each may be NULL; each but lost returns 0 or a negative errno, which ends the pass. */
struct pass_ops {
	int (*begin)(struct pass *pass, void *arg); /* a thread, before its events */
	/* A function is entered; the walk's last frame is it.  Only within a loop. */
	int (*call)(struct pass *pass, void *arg);
	/* The loop's own wait, entered and returned with event->value. */
	int (*wait)(struct pass *pass, void *arg);
	int (*wake)(struct pass *pass, void *arg);
	/* Another hooked call on the loop's stack has returned; enter is its entry. */
	int (*syscall)(struct pass *pass, void *arg);
	/* The thread leaves the loop for a while or ends, or events are lost. */
	int (*leave)(struct pass *pass, void *arg);
	/* An entry on another stack than the thread's own. */
	int (*foreign)(struct pass *pass, void *arg);
};

int pass_run(const struct pass_input *input, const struct pass_ops *ops, void *arg);

/*
 * Which of its loop's contexts a wait, just entered, is in: by the return
 * address where a function with a site was called, else by the system call.
 * An index into the trace's contexts; TRACE_NONE if it cannot be told.
 */
uint32_t pass_context(const struct pass *pass);

/* Was a function with a site called from there, by which the wait, just entered, is told? */
bool pass_is_called_from(const struct pass *pass, const struct trace_context *context);

/* Does the return of a wait begin a unit?  As the module decides (kmod/wait.c). */
bool pass_wake_begins(uint32_t syscall, int64_t value);

/* Calls that say by EAGAIN that there is nothing to be had. */
bool pass_reads(uint32_t syscall);

#endif /* _USER_TRAIN_TRACE_TRACE_PASS_H */
