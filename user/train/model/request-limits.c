// SPDX-License-Identifier: GPL-2.0

#include "train/model/request-limits.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "train/model/type-limits.h"
#include "train/samples/times.h"

/* The requests as if they were the own times of units; NULL without memory. */
static struct samples_parts *as_units(const struct samples_parts *times, uint32_t nr)
{
	struct samples_parts *ret;

	if (array_new(ret, nr))
		return NULL;
	for (uint32_t i = 0; i < nr; i++)
		ret[i].of[SAMPLES_OWN] = times[i].requests;
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
	for (uint32_t i = 0; i < nr && !error; i++) {
		types[i].requests = requests[0][i].of[SAMPLES_OWN];
		types[i].request_ns = types[i].requests.nr ? limits[i].ns[SAMPLES_OWN] : 0;
	}
	free(limits);
	free(tried);
	free(requests[0]);
	free(requests[1]);
	return error;
}
