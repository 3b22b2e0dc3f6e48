/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The loops' own waits as a profile has them.
 *
 * Which waits are a loop's own is decided from the threads' stacks before the
 * trace is recorded (boundary.c).  The contexts of that decision can lie in a
 * library's wait function and so be on the way of other waits, too.  The trace
 * is evidence for them: it shows by which call the loop's function went to
 * wait, how far the loop's frame is, and which calls are too rare to be the
 * loop's.  A context without evidence, as no thread came to it, stays as it was
 * decided.
 */
#ifndef _USER_TRAIN_LOOPS_LOOP_WAIT_H
#define _USER_TRAIN_LOOPS_LOOP_WAIT_H

#include <stdbool.h>
#include <stdint.h>

#include "data/samples.h"
#include "train/loops/loop-shape.h"
#include "train/trace/trace-pass.h"

struct loop_wait {
	uint32_t loop;
	uint32_t class; /* of the context that identified it */
	struct samples_boundary boundary;
	uint64_t seen;
};

struct loop_waits {
	const struct trace_pass_input *input;
	struct loop_wait *entries;
	uint32_t nr;
	size_t max;
	bool *waited; /* by class: a context of it was shown to identify a wait */
	uint64_t *unsure; /* by loop: the calls (number modulo 64) of waits where none was */
};

/* @input must outlive it.  Returns 0 or -ENOMEM; loop_waits_deinit() in either case. */
int loop_waits_init(struct loop_waits *waits, const struct trace_pass_input *input);
void loop_waits_deinit(struct loop_waits *waits);

/*
 * The loop's wait was entered in context @index or, if nothing shows that, in
 * another of its loop.  Returns 0 or -ENOMEM.
 */
int loop_waits_note(struct loop_waits *waits, const struct loop_shape *shape,
		    const struct trace_pass *pass, uint32_t index);

/*
 * Add the waits to @loops, without the contexts in @dropped.  Returns 0, -ENOMEM, or -EBADMSG if
 * lives start with a function that is not there.
 */
int loop_waits_add(const struct loop_waits *waits, const bool *dropped,
		   struct samples_loop *loops);

#endif /* _USER_TRAIN_LOOPS_LOOP_WAIT_H */
