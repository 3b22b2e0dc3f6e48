/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The loops' own waits as seen from the loops' frames: by which call the loop's
 * function went to wait, and how far its frame is.
 *
 * The waits a trace was recorded with are told by some return address on the
 * way, which can lie in a library's wait function and so be on the way of other
 * waits, too.  That in the loop's function cannot.
 */
#ifndef _USER_TRAIN_LOOPS_LOOP_WAIT_H
#define _USER_TRAIN_LOOPS_LOOP_WAIT_H

#include <stdint.h>

#include "data/samples.h"
#include "train/loops/loop-shape.h"
#include "train/trace/trace-pass.h"

struct loop_wait {
	uint32_t loop;
	uint32_t class; /* of the context it was told by: the first of them, class.h */
	struct samples_boundary boundary;
	uint64_t seen;
};

struct loop_waits {
	struct loop_wait *entries;
	uint32_t nr;
};

/* The loop's wait was entered, told by a context of @class.  Returns 0 or -ENOMEM. */
int loop_waits_note(struct loop_waits *waits, const struct loop_shape *shape,
		    const struct trace_pass *pass, uint32_t class);

/* Was this one seen often enough to be no accident? */
bool loop_waits_counts(const struct loop_waits *waits, const struct loop_wait *wait);

void loop_waits_deinit(struct loop_waits *waits);

#endif /* _USER_TRAIN_LOOPS_LOOP_WAIT_H */
