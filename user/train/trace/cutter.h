/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Cuts what a thread does into units, by its loop's boundaries alone: the same
 * rules as the module's, so that training sees the units that are guarded
 * later.
 *
 * A wait ends a unit and its return begins one.  Where the loop has event markers,
 * the second one without a wait in between ends a unit and begins the next;
 * and if the loop has empty spans, what comes to a wait without a marker was
 * none.
 */
#ifndef _USER_TRAIN_TRACE_CUTTER_H
#define _USER_TRAIN_TRACE_CUTTER_H

#include <stdbool.h>
#include <stdint.h>

struct cutter {
	bool has_empty; /* of the loop, see struct samples_loop */
	bool is_running;
	bool has_event; /* an event of this unit was met */
	uint64_t start_ns;
};

/* What became of the unit at hand. */
enum cutter_end {
	CUTTER_NONE, /* there was none, or it goes on */
	CUTTER_UNIT, /* it ended; its begin is in *@ret_start_ns */
	CUTTER_EMPTY, /* it was none */
};

/* Another thread or loop: the unit at hand, if any, is cut off. */
static inline void cutter_reset(struct cutter *cutter, bool has_empty)
{
	*cutter = (struct cutter){ .has_empty = has_empty };
}

/* The loop's wait is entered. */
static inline enum cutter_end cutter_wait(struct cutter *cutter, uint64_t *ret_start_ns)
{
	if (!cutter->is_running)
		return CUTTER_NONE;
	cutter->is_running = false;
	*ret_start_ns = cutter->start_ns;
	return cutter->has_empty && !cutter->has_event ? CUTTER_EMPTY : CUTTER_UNIT;
}

/* The wait has returned something. */
static inline void cutter_wake(struct cutter *cutter, uint64_t now_ns)
{
	cutter->is_running = true;
	cutter->has_event = false;
	cutter->start_ns = now_ns;
}

/* An event begins; if a unit ended by that, the next one runs already. */
static inline enum cutter_end cutter_mark(struct cutter *cutter, uint64_t at_ns,
					  uint64_t *ret_start_ns)
{
	enum cutter_end end = CUTTER_NONE;

	if (cutter->is_running && cutter->has_event) {
		*ret_start_ns = cutter->start_ns;
		end = CUTTER_UNIT;
	}
	if (!cutter->is_running || cutter->has_event)
		cutter_wake(cutter, at_ns);
	cutter->has_event = true;
	return end;
}

#endif /* _USER_TRAIN_TRACE_CUTTER_H */
