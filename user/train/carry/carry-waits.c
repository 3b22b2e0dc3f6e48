// SPDX-License-Identifier: GPL-2.0
/*
 * A wait is known by a return address, how far that is from the stack pointer, and how far the
 * loop's frame is.  In the new build the address is that of the same call of the same function;
 * how far things are follows from the frames of the functions that are called from there on,
 * as call-chain.h finds them.
 */

#include "train/carry/call-chain.h"
#include "train/carry/carry-state.h"

enum { CALL_BYTES = 8 };

/* A wait while it is carried. */
struct carried_wait {
	uint32_t loop;
	const struct carry_object *object;
	uint32_t function; /* of the old file, with the call */
	uint32_t ref; /* of it */
	uint32_t new_ref;
	uint32_t distance; /* in the new build */
};

/* The call that a return address belongs to. */
static bool find_call(const struct carry_object *object, uint64_t end, struct carried_wait *ret)
{
	const struct fingerprints *old = &object->old;

	for (uint32_t i = 0; i + 1 < old->nr; i++) {
		const struct fingerprint *print = &old->functions[i];

		for (uint32_t j = 0; j < print->nr_refs; j++) {
			const struct fingerprint_ref *ref = &old->refs[print->first_ref + j];

			if (ref->end != end || (ref->kind != FINGERPRINT_CALL &&
						ref->kind != FINGERPRINT_IMPORT &&
						ref->kind != FINGERPRINT_INDIRECT))
				continue;
			ret->function = i;
			ret->ref = j;
			return true;
		}
	}
	return false;
}

static const struct fingerprint_ref *old_call(const struct carried_wait *wait)
{
	const struct fingerprints *prints = &wait->object->old;

	return &prints->refs[prints->functions[wait->function].first_ref + wait->ref];
}

static const struct fingerprint_ref *new_call(const struct carried_wait *wait)
{
	const struct fingerprints *prints = carry_new(wait->object);
	uint32_t function = carry_function(wait->object, wait->function);

	return &prints->refs[prints->functions[function].first_ref + wait->new_ref];
}

/* All files but this one are what they were. */
static bool are_others_same(const struct carrying_samples *carrying,
			    const struct carry_object *object)
{
	for (uint32_t i = 0; i < carrying->samples->nr_objects; i++)
		if (&carrying->objects[i] != object && !carrying->objects[i].is_same)
			return false;
	return true;
}

static bool carry_distance(const struct carrying_samples *carrying, struct call_chain *chain,
			   const struct samples_boundary *boundary, struct carried_wait *wait)
{
	chain->goal = FUNCTION_MATCH_NONE;
	call_chain_find(chain, boundary->object, wait->function, wait->ref,
			(int64_t)boundary->distance + CALL_BYTES);
	wait->distance = boundary->distance;
	if (chain->nr_found && !chain->is_unsure) {
		wait->distance = (uint32_t)(chain->bytes - CALL_BYTES);
		return true;
	}
	/* What is called is in files that are as they were. */
	return !chain->nr_found && old_call(wait)->kind == FINGERPRINT_IMPORT &&
	       are_others_same(carrying, wait->object);
}

/* The function of the samples that is number @old of the object's. */
static uint32_t sampled(const struct carrying_samples *carrying, uint32_t object, uint32_t old)
{
	for (uint32_t i = 0; i < carrying->samples->nr_functions; i++)
		if (carrying->samples->functions[i].object == object &&
		    carrying->functions[i].old == old)
			return i;
	return SAMPLES_NONE;
}

static int64_t depth_by_calls(const struct carrying_samples *carrying, struct call_chain *chain,
			      const struct carried_wait *wait, uint32_t object, int64_t depth)
{
	chain->goal_object = object;
	chain->goal = wait->function;
	return call_chain_from_loop(chain, carrying, wait->loop, depth);
}

static bool carry_rise(const struct carrying_samples *carrying, struct call_chain *chain,
		       const struct samples_boundary *boundary, const struct carried_wait *wait,
		       uint32_t *ret)
{
	const struct fingerprint_ref *old = old_call(wait), *new = new_call(wait);
	int64_t beyond = (int64_t)boundary->rise - boundary->distance - CALL_BYTES, depth;
	uint32_t function;

	*ret = 0;
	if (!boundary->rise)
		return true;
	*ret = wait->distance + CALL_BYTES;
	if (!beyond) /* the frame is that of the function that waits */
		return true;
	if (old->frame == FINGERPRINT_NO_FRAME || new->frame == FINGERPRINT_NO_FRAME ||
	    beyond < (int64_t)old->frame)
		return false;
	function = sampled(carrying, boundary->object, wait->function);
	depth = beyond - old->frame;
	if (function != SAMPLES_NONE &&
	    carry_depth(carrying, wait->loop, function, (uint32_t)depth) >= 0)
		depth = carry_depth(carrying, wait->loop, function, (uint32_t)depth);
	else
		depth = depth_by_calls(carrying, chain, wait, boundary->object, depth);
	*ret += (uint32_t)(depth + new->frame);
	return depth >= 0;
}

static enum carry_wait_fate carry_call(const struct carrying_samples *carrying,
				       struct call_chain *chain, uint32_t loop,
				       struct samples_boundary *boundary)
{
	struct carried_wait wait = {
		.loop = loop, .object = &carrying->objects[boundary->object],
	};
	uint32_t rise;

	if (!find_call(wait.object, boundary->return_offset, &wait))
		return wait.object->is_same && are_others_same(carrying, wait.object)
			       ? CARRY_WAIT_FOUND : CARRY_WAIT_CALL;
	if (carry_function(wait.object, wait.function) == FUNCTION_MATCH_NONE)
		return CARRY_WAIT_FUNCTION;
	wait.new_ref = call_chain_ref(wait.object, wait.function, wait.ref);
	if (wait.new_ref == UINT32_MAX)
		return CARRY_WAIT_CALL;
	if (!carry_distance(carrying, chain, boundary, &wait))
		return CARRY_WAIT_DISTANCE;
	if (!carry_rise(carrying, chain, boundary, &wait, &rise))
		return CARRY_WAIT_FRAME;
	boundary->return_offset = new_call(&wait)->end;
	boundary->distance = wait.distance;
	boundary->rise = rise;
	return CARRY_WAIT_FOUND;
}

static enum carry_wait_fate carry_boundary(const struct carrying_samples *carrying,
					   struct call_chain *chain, uint32_t loop,
					   struct samples_boundary *boundary)
{
	if (!samples_is_site(boundary))
		return carry_call(carrying, chain, loop, boundary);
	return carrying->functions[boundary->function].site ? CARRY_WAIT_FOUND : CARRY_WAIT_FUNCTION;
}

int carry_waits(struct carrying_samples *carrying)
{
	struct samples *samples = carrying->samples;
	struct call_chain chain;
	int error = call_chain_init(&chain, carrying->objects, samples->nr_objects);

	for (uint32_t i = 0; i < samples->nr_loops && !error; i++) {
		struct samples_loop *loop = &samples->loops[i];
		enum carry_wait_fate fate = CARRY_WAIT_FOUND;

		for (uint32_t j = 0; j < loop->nr_boundaries && !fate; j++)
			fate = carry_boundary(carrying, &chain, i, &loop->boundaries[j]);
		carrying->report->loops[i] = fate;
		carrying->report->nr_loops_left += !fate;
	}
	call_chain_deinit(&chain);
	return error;
}
