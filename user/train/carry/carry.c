// SPDX-License-Identifier: GPL-2.0

#include "train/carry/carry.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "train/carry/carry-state.h"

uint32_t carry_function(const struct carry_object *object, uint32_t function)
{
	if (function == FUNCTION_MATCH_NONE || object->is_gone)
		return FUNCTION_MATCH_NONE;
	if (object->is_same)
		return function;
	return object->match.to ? object->match.to[function] : FUNCTION_MATCH_NONE;
}

static const struct samples_function *site_at(const struct carry_object *object, uint64_t offset)
{
	uint32_t at = (uint32_t)array_bisect(i, object->nr_functions,
					     object->functions[i].offset >= offset);

	return at < object->nr_functions && object->functions[at].offset == offset
		       ? &object->functions[at] : NULL;
}

static enum carry_fate find_function(const struct carry_object *object,
				     const struct samples_function *function,
				     struct carried_function *ret)
{
	*ret = (struct carried_function){
		.old = fingerprints_find(&object->old, function->offset),
		.new = FUNCTION_MATCH_NONE,
	};
	if (object->is_same)
		ret->site = function;
	ret->new = carry_function(object, ret->old);
	if (ret->new == FUNCTION_MATCH_NONE)
		return object->is_same ? CARRY_FOUND : CARRY_LOST;
	if (!object->is_same)
		ret->site = site_at(object, carry_new(object)->functions[ret->new].offset);
	return ret->site ? CARRY_FOUND : CARRY_NO_SITE;
}

void carry_functions(struct carrying_samples *carrying)
{
	const struct samples *samples = carrying->samples;

	for (uint32_t i = 0; i < samples->nr_functions; i++) {
		const struct samples_function *function = &samples->functions[i];

		carrying->report->functions[i] =
			find_function(&carrying->objects[function->object], function,
				      &carrying->functions[i]);
	}
}

/* What is hit at a depth that is not known is not hit at all. */
static void judge_hits(struct carrying_samples *carrying, uint32_t loop,
		       const struct samples_hit *hits, uint32_t nr)
{
	for (uint32_t i = 0; i < nr; i++) {
		enum carry_fate *fate = &carrying->report->functions[hits[i].function];

		if (*fate == CARRY_FOUND && !carrying->report->loops[loop] &&
		    carry_depth(carrying, loop, hits[i].function, hits[i].depth) < 0 &&
		    carry_depth(carrying, loop, hits[i].function, hits[i].depth) != CARRY_DEPTH_UNSEEN)
			*fate = CARRY_NO_DEPTH;
	}
}

static void judge(struct carrying_samples *carrying)
{
	const struct samples *samples = carrying->samples;

	for (uint32_t i = 0; i < samples->nr_units; i++)
		judge_hits(carrying, samples->trees[samples->units[i].tree].loop,
			   samples->units[i].hits, samples->units[i].nr_hits);
	for (uint32_t i = 0; i < samples->nr_timings; i++)
		judge_hits(carrying, samples->timings[i].loop, samples->timings[i].hits,
			   samples->timings[i].nr_hits);
}

int carry_samples(struct samples *samples, const struct carry_object *objects,
		  struct carry_report *report)
{
	struct carrying_samples carrying = {
		.samples = samples, .objects = objects, .report = report,
	};
	int error;

	*report = (struct carry_report){ 0 };
	if (!samples_are_sound(samples))
		return -EINVAL;
	error = array_new(carrying.functions, samples->nr_functions) ?:
		array_new(report->functions, samples->nr_functions) ?:
		array_new(report->loops, samples->nr_loops);
	if (!error) {
		carry_functions(&carrying);
		error = carry_depths(&carrying) ?: carry_waits(&carrying);
	}
	if (!error) {
		judge(&carrying);
		error = carry_replace(&carrying);
	}
	free(carrying.functions);
	free(carrying.depths);
	hash_index_deinit(&carrying.by_depth);
	return error;
}

void carry_report_deinit(struct carry_report *report)
{
	free(report->functions);
	free(report->loops);
	*report = (struct carry_report){ 0 };
}
