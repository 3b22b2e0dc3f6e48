/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the units would show if every function carried a guard: for each unit
 * of the samples the contexts (function, depth) it met, numbered.  The part of
 * it that belongs to chosen guards is the unit's signature.
 */
#ifndef _USER_TRAIN_GUARDS_SIGNATURE_H
#define _USER_TRAIN_GUARDS_SIGNATURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "data/samples.h"

struct signature_context {
	uint32_t function;
	uint32_t depth;
};

struct signature_hit {
	uint32_t context;
	uint16_t count;
	uint8_t quarter;
};

struct signatures {
	const struct samples *samples;
	struct signature_context *contexts; /* by function, then depth */
	uint32_t nr_contexts;
	struct signature_hit *hits; /* of a unit in the samples' order */
	size_t *first_hit; /* by unit, and one more */
	uint64_t *loop_units; /* by loop: units that are learnt from */
	bool *is_site; /* by function: events of a loop begin there, so it has a probe anyway */
};

/* @samples must outlive it.  Returns 0 or -ENOMEM. */
int signatures_init(struct signatures *signatures, const struct samples *samples);
void signatures_deinit(struct signatures *signatures);

static inline uint32_t signatures_loop(const struct signatures *signatures, uint32_t unit)
{
	return signatures->samples->trees[signatures->samples->units[unit].tree].loop;
}

#endif /* _USER_TRAIN_GUARDS_SIGNATURE_H */
