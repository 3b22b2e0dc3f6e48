/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Where the frame of an event loop is on a thread's stack.
 *
 * Between two waits of a loop, control returns to the loop's function and to
 * no function further out.  So the shallowest function entered in between was
 * called by the loop, and the loop's frame begins above its return address.
 * From one wait place the frame is always equally far; this distance, the
 * rise, serves threads that did not live long enough to tell.
 */
#ifndef _USER_TRAIN_LOOPS_LOOP_FRAME_H
#define _USER_TRAIN_LOOPS_LOOP_FRAME_H

#include <stdint.h>

#include "data/trace.h"
#include "train/trace/call-stack.h"
#include "train/trace/wait-index.h"

/* Stacks are not larger; what is further away is on another one. */
#define LEVEL_STACK_BYTES (UINT64_C(8) << 20)

/* The event loops of a trace, over all images. */
struct level_loops {
	uint32_t nr;
	uint32_t *of_context; /* by index of trace_context */
	struct wait_index index;
};

struct level {
	uint32_t thread; /* index of the walk_thread */
	uint32_t loop;
	const struct perfguard_event *wait; /* the first in that loop */
	uint64_t sp; /* of the loop frame, run-time address */
};

struct levels {
	struct level *entries; /* by thread and loop */
	uint32_t nr;
	uint32_t max;
};

/*
 * Contexts of the same code are of the same loop, in whatever image.  Returns
 * 0 or -ENOMEM.
 */
int level_loops_find(const struct trace *trace, struct level_loops *ret);
void level_loops_deinit(struct level_loops *loops);

/* The loop of an event that begins or ends a wait; TRACE_NONE if it is of none. */
uint32_t level_loop_of(const struct level_loops *loops, const struct walk_thread *thread,
		       const struct perfguard_event *event);

/* Returns 0 or -ENOMEM. */
int levels_find(const struct trace *trace, const struct level_loops *loops,
		const struct walk_thread *threads, uint32_t nr_threads, struct levels *ret);
void levels_deinit(struct levels *levels);

/* SP of the frame of @loop in a thread; 0 if it is not known. */
uint64_t levels_sp(const struct levels *levels, uint32_t thread, uint32_t loop);

#endif /* _USER_TRAIN_LOOPS_LOOP_FRAME_H */
