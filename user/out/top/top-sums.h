/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the module's counters of a type say: sums over all of its units, late ones or not.
 */
#ifndef _USER_OUT_TOP_TOP_SUMS_H
#define _USER_OUT_TOP_TOP_SUMS_H

#include <stdint.h>

#include "data/armed.h"

enum top_part { TOP_CPU, TOP_RUNQUEUE, TOP_BLOCKED, TOP_NR_PARTS };

/* Sums of units, ever rising. */
struct top_sums {
	uint64_t units;
	uint64_t late;
	uint64_t starved;
	uint64_t ns;
	uint64_t part_ns[TOP_NR_PARTS];
};

/* All 0 if @type is NULL. */
struct top_sums top_sums_of(const struct armed_type *type);
void top_sums_add(struct top_sums *to, const struct top_sums *from);

/* The last bucket of a histogram of all times that bucket @at of a type's has. */
uint32_t top_bucket_of(uint32_t first, uint32_t at);

#endif /* _USER_OUT_TOP_TOP_SUMS_H */
