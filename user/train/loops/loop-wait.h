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

struct own_wait {
	uint32_t loop;
	uint32_t kin; /* of the context it was told by: the first of them, kin.h */
	struct samples_boundary boundary;
	uint64_t seen;
};

struct own_waits {
	struct own_wait *entries;
	uint32_t nr;
};

/* The loop's wait was entered, told by a context of @kin.  Returns 0 or -ENOMEM. */
int own_waits_note(struct own_waits *waits, const struct course *course,
		   const struct pass *pass, uint32_t kin);

/* Was this one seen often enough to be no accident? */
bool own_waits_counts(const struct own_waits *waits, const struct own_wait *wait);

void own_waits_deinit(struct own_waits *waits);

#endif /* _USER_TRAIN_LOOPS_LOOP_WAIT_H */
