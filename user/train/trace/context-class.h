/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The wait contexts of a trace: those by which boundary_find() decided, while
 * the trace was recorded, which waits are the event loops' own.  The trace does
 * not decide that again; it names the loops and contexts in its events.
 *
 * Contexts of the same code, in other images or at another distance, are one
 * class.  Contexts are of the same event loop if the decision says so, or if
 * their class is the same, in whatever image.
 */
#ifndef _USER_TRAIN_TRACE_CONTEXT_CLASS_H
#define _USER_TRAIN_TRACE_CONTEXT_CLASS_H

#include <stdint.h>

#include "data/trace.h"

struct context_classes {
	const struct trace *trace;
	uint32_t *order; /* contexts by image, loop and index */
	uint32_t *class_of; /* by context: the first one of its class */
	uint32_t *loop_of; /* by context: the event loop, over all images */
	uint32_t nr_loops;
};

/* Returns 0 or -ENOMEM.  The trace outlives the classes. */
int context_classes_init(struct context_classes *classes, const struct trace *trace);
void context_classes_deinit(struct context_classes *classes);

/*
 * The first context of @loop (0: of any) in an image, as a position in the
 * order; the others follow.  nr_contexts if there is none.
 */
uint32_t context_classes_find(const struct context_classes *classes, uint32_t image,
			      uint32_t loop);

/* The event loop whose wait an event begins or ends; TRACE_NONE if it is of none. */
uint32_t context_classes_loop(const struct context_classes *classes, uint32_t image,
			      const struct perfguard_event *event);

#endif /* _USER_TRAIN_TRACE_CONTEXT_CLASS_H */
