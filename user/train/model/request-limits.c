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

/* From one half, tried on the other; then from both, which @learnt has afterwards. */
static int find(const struct threshold_rule *rule, struct samples_parts *learnt,
		const struct samples_parts *held_back, uint32_t nr, struct limits *ret)
{
	struct limits_loop loop = {
		.times = learnt, .held_back = held_back, .nr = nr, .all = sum_of(learnt, nr),
	};
	struct limits_stretch stretch;
	int error;

	limits_stretch_init(&stretch);
	error = limits_find(rule, &loop, &stretch, ret);
	for (uint32_t i = 0; i < nr; i++)
		times_merge_parts(&learnt[i], &held_back[i]);
	loop.held_back = NULL;
	loop.all = sum_of(learnt, nr);
	return error ?: limits_find(rule, &loop, &stretch, ret);
}

int request_limits_set(struct model_type *types, struct samples_parts *const times[2], uint32_t nr,
		       const struct threshold_rule *rule)
{
	struct samples_parts *learnt = as_units(times[0], nr), *held_back = as_units(times[1], nr);
	struct limits *limits;
	int error = array_new(limits, nr);

	if (!learnt || !held_back)
		error = -ENOMEM;
	error = error ?: find(rule, learnt, held_back, nr, limits);
	for (uint32_t i = 0; i < nr && !error; i++) {
		types[i].requests = learnt[i].of[SAMPLES_OWN];
		types[i].request_ns = types[i].requests.nr ? limits[i].ns[SAMPLES_OWN] : 0;
	}
	free(limits);
	free(learnt);
	free(held_back);
	return error;
}
