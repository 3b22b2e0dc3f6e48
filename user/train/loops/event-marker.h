/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The cheapest boundaries that cut an event loop's work into units.
 *
 * Where from wait to wait there is one event (plain), the waits are enough.
 * Else each event needs an event marker of its own: something that happens exactly
 * once in it, as early as possible, after the waits of its iteration.  A system
 * call that is hooked anyway (read, accept ...) costs about an eighth of a
 * probe, so probes serve only events that no system call marks.
 */
#ifndef _USER_TRAIN_LOOPS_EVENT_MARKER_H
#define _USER_TRAIN_LOOPS_EVENT_MARKER_H

#include <stdbool.h>
#include <stdint.h>

#include "data/samples.h"
#include "train/loops/loop-shape.h"
#include "train/trace/trace-pass.h"

struct event_markers {
	struct samples_boundary *boundaries; /* the events' only */
	uint32_t nr;
	size_t max;
	bool has_empty; /* see struct samples_loop */
	uint64_t marked; /* of the events with work */
	uint64_t unmarked; /* see struct samples_loop */
};

/*
 * Find the event markers of each loop; *@ret has one entry a loop, for
 * event_markers_free().  @dropped, in which loop_shapes_find() left what may be
 * dropped, says then by trace_context which waits are no boundary after all: they
 * never sleep, and the events have markers.  Returns 0 or -ENOMEM.
 */
int event_markers_find(const struct trace_pass_input *input, const struct loop_shape *shapes,
		       bool *dropped, struct event_markers **ret);
void event_markers_free(struct event_markers *markers, uint32_t nr);

/* True if the system call that has just returned marks an event. */
bool event_markers_has_call(const struct event_markers *markers, const struct trace_pass *pass);

/* True if the call of the stack's last frame does. */
bool event_markers_has_site(const struct event_markers *markers, const struct trace_pass *pass);

#endif /* _USER_TRAIN_LOOPS_EVENT_MARKER_H */
