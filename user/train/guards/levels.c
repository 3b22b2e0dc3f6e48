// SPDX-License-Identifier: GPL-2.0

#include "train/guards/levels.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/array.h"

/* What a loop's level is worth in that of its types, in units. */
#define LOOP_WEIGHT 5.0

/* Sums over units. */
struct level {
	double units;
	double log;
};

static double mean(const struct level *level)
{
	return level->units > 0 ? level->log / level->units : 0;
}

static void add(struct level *level, double units, uint64_t ns)
{
	level->units += units;
	level->log += units * log2((double)ns);
}

int levels_of_types(const struct samples *samples, const struct types *types, double *ret)
{
	struct level *of_loops = NULL, *of_types = NULL;
	int error = array_new(of_loops, samples->nr_loops) ?: array_new(of_types, types->nr);

	for (uint32_t i = 0; i < samples->nr_units && !error; i++) {
		const struct samples_unit *unit = &samples->units[i];
		uint32_t type = types->of_tree[unit->tree];
		double units = (double)types_learnt(types, samples, i);

		if (type == SAMPLES_NONE || !unit->least_ns)
			continue;
		add(&of_types[type], units, unit->least_ns);
		add(&of_loops[types->loop[type]], units, unit->least_ns);
	}
	for (uint32_t i = 0; i < types->nr && !error; i++)
		ret[i] = (of_types[i].log + LOOP_WEIGHT * mean(&of_loops[types->loop[i]])) /
			 (of_types[i].units + LOOP_WEIGHT);
	free(of_loops);
	free(of_types);
	return error;
}
