/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Where the frame of an event loop is on a thread's stack.
 *
 * Between two waits of a loop, control returns to the loop's function and to
 * no function further out.  So the shallowest function entered in between was
 * called by the loop, and the loop's frame begins above its return address.
 * From one wait place the frame is always equally far; this distance, the
 * rise, serves threads that did not live long enough to show theirs.
 */
#ifndef _USER_TRAIN_TRACE_LOOP_FRAME_H
#define _USER_TRAIN_TRACE_LOOP_FRAME_H

#include <stdint.h>

#include "data/trace.h"
#include "train/trace/call-stack.h"
#include "train/trace/context-class.h"

/* Stacks are not larger; what is further away is on another one. */
#define LOOP_FRAME_STACK_BYTES (UINT64_C(8) << 20)

struct loop_frame {
	uint32_t thread; /* index of the trace_thread */
	uint32_t loop;
	const struct perfguard_event *wait; /* the first in that loop */
	uint64_t sp; /* of the loop frame, run-time address */
};

struct loop_frames {
	struct loop_frame *entries; /* by thread and loop */
	uint32_t nr;
	size_t max;
};

/* Returns 0 or -ENOMEM. */
int loop_frames_find(const struct context_classes *contexts,
		     const struct trace_thread *threads, uint32_t nr_threads,
		     struct loop_frames *ret);
void loop_frames_deinit(struct loop_frames *frames);

/* SP of the frame of @loop in a thread; 0 if it is not known. */
uint64_t loop_frames_sp(const struct loop_frames *frames, uint32_t thread, uint32_t loop);

#endif /* _USER_TRAIN_TRACE_LOOP_FRAME_H */
