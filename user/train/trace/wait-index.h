/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Finds the wait contexts of a trace by what its events tell of them.
 */
#ifndef _USER_TRAIN_TRACE_WAIT_INDEX_H
#define _USER_TRAIN_TRACE_WAIT_INDEX_H

#include <stdint.h>

#include "data/trace.h"

struct wait_index {
	const struct trace *trace;
	uint32_t *order; /* contexts by image, loop and index */
};

/* Returns 0 or -ENOMEM.  The trace outlives the index. */
int wait_index_init(struct wait_index *index, const struct trace *trace);
void wait_index_deinit(struct wait_index *index);

/*
 * The first context of @loop (0: of any) in an image, as a position in the
 * order; the others follow.  nr_contexts if there is none.
 */
uint32_t wait_index_find(const struct wait_index *index, uint32_t image, uint32_t loop);

/* The context that an event that begins or ends a wait tells; TRACE_NONE if none. */
uint32_t wait_index_of(const struct wait_index *index, uint32_t image,
		       const struct perfguard_event *event);

#endif /* _USER_TRAIN_TRACE_WAIT_INDEX_H */
