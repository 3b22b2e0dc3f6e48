// SPDX-License-Identifier: GPL-2.0

#include "train/model/request-limits.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "train/model/type-limits.h"
#include "train/samples/times.h"

/*
 * Parts of a request are as those of a unit: its own work, what it waits for, and what of that is
 * for another reason; but the last is not a part of the one before.
 */
static const int part_of_unit[REQUEST_NR_PARTS] = {
	[REQUEST_PART_ALL] = SAMPLES_OWN,
	[REQUEST_PART_WORKING] = SAMPLES_CPU,
	[REQUEST_PART_PEERS] = SAMPLES_BLOCKED,
	[REQUEST_PART_HELD] = SAMPLES_BLOCK_IO,
};

/* The requests as if they were units; NULL without memory. */
static struct samples_parts *as_units(const struct samples_parts *times, uint32_t nr)
{
	struct samples_parts *ret;

	if (array_new(ret, nr))
		return NULL;
	for (uint32_t i = 0; i < nr; i++)
		for (int part = 0; part < REQUEST_NR_PARTS; part++)
			ret[i].of[part_of_unit[part]] = times[i].requests[part];
	return ret;
}

static struct samples_times sum_of(const struct samples_parts *times, uint32_t nr)
{
	struct samples_times ret = { 0 };

	for (uint32_t i = 0; i < nr; i++)
		times_merge(&ret, &times[i].of[SAMPLES_OWN]);
	return ret;
}

int request_limits_set(struct model_type *types, struct samples_parts *const times[2], uint32_t nr,
		       const struct threshold_rule *rule)
{
	struct samples_parts *requests[2] = { as_units(times[0], nr), as_units(times[1], nr) };
	struct limits *limits, *tried = NULL;
	struct samples_times all[2];
	int error = array_new(limits, nr) ?: array_new(tried, nr);

	if (!requests[0] || !requests[1])
		error = -ENOMEM;
	for (int half = 0; half < 2 && !error; half++)
		all[half] = sum_of(requests[half], nr);
	if (!error)
		error = limits_find_tried(rule, requests, nr,
					  (const struct samples_times *[]){ &all[0], &all[1] }, tried,
					  limits);
	for (uint32_t i = 0; i < nr && !error; i++)
		for (int part = 0; part < REQUEST_NR_PARTS; part++) {
			int of = part_of_unit[part];

			types[i].requests[part] = requests[0][i].of[of];
			types[i].request_ns[part] =
				types[i].requests[part].nr ? limits[i].ns[of] : 0;
		}
	free(limits);
	free(tried);
	free(requests[0]);
	free(requests[1]);
	return error;
}
