// SPDX-License-Identifier: GPL-2.0
/*
 * A function is hit at a depth: so far is the stack pointer at its entry below the loop's
 * frame.  That is the sum of the frames of those on the way there, and changes where one of
 * these has another frame in its new build.
 *
 * Call trees show the ways, and fingerprints how far each call on them may move the stack
 * pointer.  Where that adds up to the depth that was seen, it is the right way, and the new
 * builds' frames give the new depth.  Where it does not (something without a site is on the
 * way, or the function is in no call tree) the calls from the loop's function on are searched.
 * Where that does not explain it either, the depth is as before if all on the ways have the
 * same code as before; else it is not known.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "train/carry/call-chain.h"
#include "train/carry/carry-state.h"

enum {
	CALL_BYTES = 8, /* that a return address takes */
	MAX_OPTIONS = 32,
	CONFLICT = -3, /* two ways to a depth lead to different ones in the new builds */
};

/* A depth, in the old builds and in the new ones, where it may be CARRY_DEPTH_UNKNOWN. */
struct way_option {
	int64_t old;
	int64_t new;
};

/* The way to a node of the call trees: how deep it may be. */
struct way {
	struct way_option options[MAX_OPTIONS];
	uint32_t nr;
	bool is_same_code; /* of all on it */
};

static void add_option(struct way *way, int64_t old, int64_t new)
{
	for (uint32_t i = 0; i < way->nr; i++)
		if (way->options[i].old == old && way->options[i].new == new)
			return;
	if (way->nr < MAX_OPTIONS)
		way->options[way->nr++] = (struct way_option){ old, new };
}

/* It ends with a jump to a function: that returns to the one that called it. */
static bool has_tail_call(const struct fingerprints *prints, uint32_t function)
{
	const struct fingerprint *print = &prints->functions[function];

	for (uint32_t i = 0; i < print->nr_refs; i++)
		if (!call_chain_bytes(&prints->refs[print->first_ref + i]))
			return true;
	return false;
}

static bool may_lead_to(const struct fingerprints *prints, const struct fingerprint_ref *ref,
			uint32_t callee)
{
	if (ref->frame == FINGERPRINT_NO_FRAME)
		return false;
	if (ref->kind == FINGERPRINT_CALL || ref->kind == FINGERPRINT_JUMP)
		return ref->value == callee || has_tail_call(prints, ref->value);
	return ref->kind == FINGERPRINT_INDIRECT ||
	       (ref->kind == FINGERPRINT_IMPORT && callee == FUNCTION_MATCH_NONE);
}

static void add_options(const struct way *from, int64_t old, int64_t new, struct way *ret)
{
	for (uint32_t i = 0; i < from->nr; i++)
		add_option(ret, from->options[i].old + old,
			   from->options[i].new < 0 || new < 0 ? CARRY_DEPTH_UNKNOWN
							       : from->options[i].new + new);
}

static void go_on(const struct carrying_samples *carrying, const struct way *way, uint32_t from,
		  uint32_t to, struct way *ret)
{
	const struct samples_function *functions = carrying->samples->functions;
	const struct carried_function *caller = &carrying->functions[from];
	const struct carry_object *object = &carrying->objects[functions[from].object];
	uint32_t callee = functions[from].object == functions[to].object
				  ? carrying->functions[to].old : FUNCTION_MATCH_NONE;
	const struct fingerprint *print;

	ret->is_same_code = way->is_same_code && object->is_same;
	if (caller->old == FUNCTION_MATCH_NONE || caller->new == FUNCTION_MATCH_NONE)
		return;
	print = &object->old.functions[caller->old];
	ret->is_same_code = way->is_same_code &&
			    print->code == carry_new(object)->functions[caller->new].code;
	for (uint32_t i = 0; i < print->nr_refs; i++) {
		const struct fingerprint_ref *ref = &object->old.refs[print->first_ref + i];

		if (may_lead_to(&object->old, ref, callee))
			add_options(way, call_chain_bytes(ref),
				    call_chain_new_bytes(object, caller->old, i), ret);
	}
}

static int find_ways(const struct carrying_samples *carrying, struct way **ret)
{
	const struct samples *samples = carrying->samples;
	struct way *ways;

	if (array_new(ways, samples->nr_nodes))
		return -ENOMEM;
	for (uint32_t i = 1; i < samples->nr_nodes; i++) {
		const struct samples_node *node = &samples->nodes[i];

		if (!node->parent) {
			ways[i].is_same_code = true;
			add_option(&ways[i], CALL_BYTES, CALL_BYTES);
		} else {
			go_on(carrying, &ways[node->parent],
			      samples->nodes[node->parent].function, node->function, &ways[i]);
		}
	}
	*ret = ways;
	return 0;
}

static uint64_t hash_of(uint32_t loop, uint32_t function, uint32_t depth)
{
	return hash_mix(hash_mix(hash_mix(1, loop), function), depth);
}

static struct carried_depth *find(const struct carrying_samples *carrying, uint32_t loop,
				  uint32_t function, uint32_t depth)
{
	uint64_t hash = hash_of(loop, function, depth);
	uint32_t cursor = 0, at;

	while ((at = hash_index_next(&carrying->by_depth, hash, &cursor)) != HASH_INDEX_NONE) {
		struct carried_depth *known = &carrying->depths[at];

		if (known->loop == loop && known->function == function && known->old == depth)
			return known;
	}
	return NULL;
}

int64_t carry_depth(const struct carrying_samples *carrying, uint32_t loop, uint32_t function,
		    uint32_t depth)
{
	const struct carried_depth *known = find(carrying, loop, function, depth);

	return known ? known->new : CARRY_DEPTH_UNSEEN;
}

static int note(struct carrying_samples *carrying, uint32_t loop, uint32_t function,
		uint32_t depth, int64_t new)
{
	struct carried_depth *known = find(carrying, loop, function, depth);
	uint32_t nr = carrying->by_depth.nr;

	if (known) {
		if (known->new == CARRY_DEPTH_UNKNOWN)
			known->new = new;
		else if (new != CARRY_DEPTH_UNKNOWN && new != known->new)
			known->new = CONFLICT;
		return 0;
	}
	if (array_grow(carrying->depths, nr, carrying->max_depths) ||
	    hash_index_add(&carrying->by_depth, hash_of(loop, function, depth)))
		return -ENOMEM;
	carrying->depths[nr] = (struct carried_depth){ loop, function, depth, new };
	return 0;
}

/* What the ways of a tree to a function say of a depth. */
struct finding {
	bool is_seen; /* a way adds up to the depth */
	bool is_there; /* a way leads to the function */
	bool has_other_code; /* on some way */
	int64_t depth; /* less than 0: not known, or a conflict */
};

static void weigh(struct finding *finding, const struct way *way, uint32_t depth)
{
	finding->is_there = true;
	finding->has_other_code |= !way->is_same_code;
	for (uint32_t i = 0; i < way->nr; i++) {
		if (way->options[i].old != (int64_t)depth)
			continue;
		if (!finding->is_seen)
			finding->depth = way->options[i].new;
		else if (finding->depth != way->options[i].new)
			finding->depth = CONFLICT;
		finding->is_seen = true;
	}
}

static int64_t new_depth(const struct samples *samples, const struct way *ways,
			 const struct samples_tree *tree, const struct samples_hit *hit)
{
	struct finding finding = { 0 };

	for (uint32_t i = 0; i < tree->nr_leaves; i++)
		for (uint32_t node = tree->leaves[i]; node; node = samples->nodes[node].parent)
			if (samples->nodes[node].function == hit->function)
				weigh(&finding, &ways[node], hit->depth);
	if (finding.is_seen)
		return finding.depth;
	return finding.is_there && !finding.has_other_code ? (int64_t)hit->depth : CARRY_DEPTH_UNKNOWN;
}

static int by_trees(struct carrying_samples *carrying, const struct way *ways)
{
	const struct samples *samples = carrying->samples;
	int error = 0;

	for (uint32_t i = 0; i < samples->nr_units && !error; i++) {
		const struct samples_unit *unit = &samples->units[i];
		const struct samples_tree *tree = &samples->trees[unit->tree];

		for (uint32_t j = 0; j < unit->nr_hits && !error; j++)
			error = note(carrying, tree->loop, unit->hits[j].function,
				     unit->hits[j].depth,
				     new_depth(samples, ways, tree, &unit->hits[j]));
	}
	return error;
}

/* What a function that is hit at a known depth calls directly is so much deeper. */
static void by_caller(struct carrying_samples *carrying, const struct carried_depth *from,
		      struct carried_depth *to)
{
	const struct samples_function *functions = carrying->samples->functions;
	const struct carried_function *caller = &carrying->functions[from->function];
	const struct carry_object *object = &carrying->objects[functions[from->function].object];
	const struct fingerprint *print = &object->old.functions[caller->old];

	for (uint32_t i = 0; i < print->nr_refs; i++) {
		const struct fingerprint_ref *ref = &object->old.refs[print->first_ref + i];
		int64_t new;

		if ((ref->kind != FINGERPRINT_CALL && ref->kind != FINGERPRINT_JUMP) ||
		    ref->value != carrying->functions[to->function].old ||
		    ref->frame == FINGERPRINT_NO_FRAME ||
		    (int64_t)from->old + call_chain_bytes(ref) != (int64_t)to->old)
			continue;
		new = call_chain_new_bytes(object, caller->old, i);
		new = new < 0 ? CONFLICT : from->new + new;
		to->new = to->new == CARRY_DEPTH_UNKNOWN || to->new == new ? new : CONFLICT;
	}
}

static bool is_known(const struct carrying_samples *carrying, const struct carried_depth *depth)
{
	return depth->new >= 0 && carrying->functions[depth->function].old != FUNCTION_MATCH_NONE &&
	       carrying->functions[depth->function].new != FUNCTION_MATCH_NONE;
}

/* What is in no tree, as it is called in each pass of the loop: by those that call it. */
static void by_callers(struct carrying_samples *carrying)
{
	const struct samples_function *functions = carrying->samples->functions;
	uint32_t nr = carrying->by_depth.nr, before, found = 0;

	do {
		before = found;
		for (uint32_t i = 0; i < nr; i++) {
			struct carried_depth *to = &carrying->depths[i];

			if (to->new != CARRY_DEPTH_UNKNOWN)
				continue;
			if (to->old == CALL_BYTES) /* the loop's own function calls it */
				to->new = CALL_BYTES;
			for (uint32_t j = 0; j < nr && to->old != CALL_BYTES; j++)
				if (carrying->depths[j].loop == to->loop &&
				    carrying->depths[j].old <= to->old && j != i &&
				    functions[carrying->depths[j].function].object ==
					    functions[to->function].object &&
				    is_known(carrying, &carrying->depths[j]))
					by_caller(carrying, &carrying->depths[j], to);
			found += to->new >= 0;
		}
	} while (found > before);
}

/* What no tree explains. */
static int by_calls(struct carrying_samples *carrying)
{
	const struct samples *samples = carrying->samples;
	struct call_chain chain;
	int error = call_chain_init(&chain, carrying->objects, samples->nr_objects);

	for (uint32_t i = 0; i < carrying->by_depth.nr && !error; i++) {
		struct carried_depth *depth = &carrying->depths[i];
		const struct carried_function *function = &carrying->functions[depth->function];

		if (depth->new != CARRY_DEPTH_UNKNOWN || function->new == FUNCTION_MATCH_NONE)
			continue;
		chain.goal_object = samples->functions[depth->function].object;
		chain.goal = function->old;
		depth->new = call_chain_from_loop(&chain, carrying, depth->loop, depth->old);
	}
	call_chain_deinit(&chain);
	return error;
}

int carry_depths(struct carrying_samples *carrying)
{
	struct way *ways = NULL;
	int error = find_ways(carrying, &ways) ?: by_trees(carrying, ways);

	if (!error) {
		by_callers(carrying);
		error = by_calls(carrying);
	}

	free(ways);
	return error;
}
