/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How two profiles of a program differ: A, which was before, and B.  Plain data.
 */
#ifndef _USER_DATA_DIFFERENCE_H
#define _USER_DATA_DIFFERENCE_H

#include <stdbool.h>
#include <stdint.h>

#include "data/samples.h"

enum { DIFFERENCE_MAX_FUNCTIONS = 5 };

/* How long a part of a type's units is.  Typical: the geometric mean, ns; below 1 us as 1 us. */
struct part_difference {
	double before_ns;
	double after_ns;
	double chance; /* that units which are alike differ so much, of all that is compared */
	bool is_sure; /* and it is long enough, and differs enough, to be worth a word */
};

/* Functions that most units of the one call, and few of the other. */
struct call_difference {
	uint32_t functions[DIFFERENCE_MAX_FUNCTIONS]; /* of the samples, the clearest first */
	uint32_t nr;
	uint32_t nr_more; /* beyond those */
};

struct type_difference {
	uint32_t a, b; /* indices into the models' types; SAMPLES_NONE: it is new, or gone */
	double alike; /* share of what distinguishes them that both call */
	double units_a, units_b; /* share of all units */
	bool is_rare; /* new or gone, but chance would do it, too, with units so few */
	struct part_difference parts[SAMPLES_NR_PARTS];
	uint32_t part; /* enum samples_part: the one that changed most; SAMPLES_NONE: none */
	struct call_difference gone, added; /* of A's functions, and of B's */
};

struct difference {
	struct type_difference *types; /* those of A, then the new ones */
	uint32_t nr;
	double pace; /* how long the units of the median type take, by how long before; 0: unknown */
	double lost; /* share of A's functions that were not found in B: no name, other build */
};

enum difference_change {
	DIFFERENCE_SLOWER, /* in the part that changed most */
	DIFFERENCE_FASTER,
	DIFFERENCE_NEW,
	DIFFERENCE_GONE,
	DIFFERENCE_CALLS, /* only what it calls */
	DIFFERENCE_RARE,
	DIFFERENCE_NONE,
	DIFFERENCE_NR_CHANGES,
};

static inline enum difference_change difference_change(const struct type_difference *type)
{
	const struct part_difference *part;

	if (type->is_rare)
		return DIFFERENCE_RARE;
	if (type->a == SAMPLES_NONE)
		return DIFFERENCE_NEW;
	if (type->b == SAMPLES_NONE)
		return DIFFERENCE_GONE;
	if (type->part == SAMPLES_NONE)
		return type->gone.nr || type->added.nr ? DIFFERENCE_CALLS : DIFFERENCE_NONE;
	part = &type->parts[type->part];
	return part->after_ns > part->before_ns ? DIFFERENCE_SLOWER : DIFFERENCE_FASTER;
}

#endif /* _USER_DATA_DIFFERENCE_H */
