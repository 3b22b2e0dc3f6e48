// SPDX-License-Identifier: GPL-2.0

#include "train/carry/call-chain.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "train/carry/carry-state.h"

enum {
	MAX_CALLS = 8, /* in a chain */
	MAX_STEPS = 2000000,
	CALL_BYTES = 8, /* that a return address takes */
};

/* How far the search has come. */
struct chain_place {
	uint32_t object;
	uint32_t function;
	int64_t left; /* bytes of the old builds */
	int64_t bytes; /* of the new ones, so far */
	int calls;
};

static const struct fingerprint_ref *old_ref(const struct carry_object *object, uint32_t function,
					     uint32_t ref)
{
	return &object->old.refs[object->old.functions[function].first_ref + ref];
}

/* What a reference is to, in the terms of the old build, if it is known in both. */
static bool is_same_ref(const struct carry_object *object, const struct fingerprint_ref *old,
			const struct fingerprint_ref *new)
{
	if (old->kind != new->kind)
		return false;
	if (old->kind > FINGERPRINT_CODE)
		return old->value == new->value;
	return carry_function(object, old->value) == new->value;
}

/* References of the old function that are like number @ref; *@ret_at of them come before it. */
static uint32_t count_old(const struct carry_object *object, uint32_t function, uint32_t ref,
			  uint32_t *ret_at)
{
	const struct fingerprint_ref *like = old_ref(object, function, ref);
	uint32_t nr = 0;

	for (uint32_t i = 0; i < object->old.functions[function].nr_refs; i++) {
		const struct fingerprint_ref *other = old_ref(object, function, i);

		if (i == ref)
			*ret_at = nr;
		nr += other->kind == like->kind && other->value == like->value;
	}
	return nr;
}

/* The same of the new one, and which is number @at of them. */
static uint32_t count_new(const struct carry_object *object, const struct fingerprint *print,
			  const struct fingerprint_ref *like, uint32_t at, uint32_t *ret)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < print->nr_refs; i++) {
		if (!is_same_ref(object, like, &carry_new(object)->refs[print->first_ref + i]))
			continue;
		if (nr++ == at)
			*ret = i;
	}
	return nr;
}

uint32_t call_chain_ref(const struct carry_object *object, uint32_t old, uint32_t ref)
{
	uint32_t new = carry_function(object, old), at = 0, ret = UINT32_MAX;
	uint32_t nr = count_old(object, old, ref, &at);

	if (new == FUNCTION_MATCH_NONE ||
	    count_new(object, &carry_new(object)->functions[new], old_ref(object, old, ref), at,
		      &ret) != nr)
		return UINT32_MAX;
	return ret;
}

/* What begins with the frame as it was at the entry is a jump; a call's is not aligned then. */
int64_t call_chain_bytes(const struct fingerprint_ref *ref)
{
	switch (ref->kind) {
	case FINGERPRINT_CALL:
		return (int64_t)ref->frame + CALL_BYTES;
	case FINGERPRINT_JUMP:
		return ref->frame;
	case FINGERPRINT_IMPORT: case FINGERPRINT_INDIRECT:
		return ref->frame ? (int64_t)ref->frame + CALL_BYTES : 0;
	default:
		return -1;
	}
}

static int64_t bytes_at(const struct fingerprint_ref *ref)
{
	if (ref->frame == FINGERPRINT_NO_FRAME)
		return -1;
	return ref->kind == FINGERPRINT_SYSCALL ? ref->frame : call_chain_bytes(ref);
}

/* Of all references of the new function that are like one of the old, if they agree. */
static int64_t bytes_of_like(const struct carry_object *object, const struct fingerprint *print,
			     const struct fingerprint_ref *like)
{
	int64_t bytes = -1;

	for (uint32_t i = 0; i < print->nr_refs; i++) {
		const struct fingerprint_ref *ref = &carry_new(object)->refs[print->first_ref + i];

		if (!is_same_ref(object, like, ref) || !like->frame != !ref->frame)
			continue;
		if (bytes_at(ref) < 0 || (bytes >= 0 && bytes != bytes_at(ref)))
			return -1;
		bytes = bytes_at(ref);
	}
	return bytes;
}

/* The only frame in which the new function calls anything, if there is one. */
static int64_t bytes_of_all(const struct carry_object *object, const struct fingerprint *print)
{
	int64_t bytes = -1;

	for (uint32_t i = 0; i < print->nr_refs; i++) {
		const struct fingerprint_ref *ref = &carry_new(object)->refs[print->first_ref + i];

		if (call_chain_bytes(ref) < 0 || !ref->frame)
			continue;
		if (bytes_at(ref) < 0 || (bytes >= 0 && bytes != bytes_at(ref)))
			return -1;
		bytes = bytes_at(ref);
	}
	return bytes;
}

int64_t call_chain_new_bytes(const struct carry_object *object, uint32_t old, uint32_t ref)
{
	const struct fingerprint_ref *like = old_ref(object, old, ref);
	uint32_t new = carry_function(object, old), to;
	const struct fingerprint *print;
	int64_t bytes;

	if (new == FUNCTION_MATCH_NONE)
		return -1;
	print = &carry_new(object)->functions[new];
	bytes = bytes_of_like(object, print, like);
	if (bytes >= 0)
		return bytes;
	to = call_chain_ref(object, old, ref);
	if (to != UINT32_MAX)
		return bytes_at(&carry_new(object)->refs[print->first_ref + to]);
	return like->frame && call_chain_bytes(like) >= 0 ? bytes_of_all(object, print) : -1;
}

static void take(struct call_chain *chain, int64_t bytes)
{
	chain->is_unsure |= chain->nr_found && chain->bytes != bytes;
	chain->nr_found++;
	chain->bytes = bytes;
}

static void enter(struct call_chain *chain, struct chain_place place);

/* Any function whose address is taken may be called there. */
static void enter_any(struct call_chain *chain, struct chain_place place)
{
	for (uint32_t i = 0; i < chain->nr_objects; i++) {
		const struct fingerprints *old = &chain->objects[i].old;

		for (uint32_t j = 0; j < old->nr_refs && chain->steps_left; j++) {
			if (old->refs[j].kind != FINGERPRINT_CODE)
				continue;
			place.object = i;
			place.function = old->refs[j].value;
			enter(chain, place);
		}
	}
}

static void enter_import(struct call_chain *chain, struct chain_place place, uint32_t name)
{
	uint32_t at = (uint32_t)array_bisect(i, chain->nr_exports, chain->exports[i].name >= name);

	for (; at < chain->nr_exports && chain->exports[at].name == name; at++) {
		place.object = chain->exports[at].object;
		place.function = chain->exports[at].function;
		enter(chain, place);
	}
}

/* Go on by a call; the place's bytes are those before it. */
static void follow(struct call_chain *chain, struct chain_place place,
		   const struct fingerprint_ref *ref)
{
	place.calls++;
	switch (ref->kind) {
	case FINGERPRINT_CALL: case FINGERPRINT_JUMP:
		place.function = ref->value;
		enter(chain, place);
		break;
	case FINGERPRINT_IMPORT:
		enter_import(chain, place, ref->value);
		break;
	case FINGERPRINT_INDIRECT:
		/* Not behind one another: nothing would be certain. */
		if (place.calls < MAX_CALLS) {
			place.calls = MAX_CALLS - 1;
			enter_any(chain, place);
		}
		break;
	default:
		break;
	}
}

static void try_ref(struct call_chain *chain, struct chain_place place, uint32_t number)
{
	const struct carry_object *object = &chain->objects[place.object];
	const struct fingerprint_ref *ref = old_ref(object, place.function, number);
	int64_t more = bytes_at(ref), new;
	bool ends = ref->kind == FINGERPRINT_SYSCALL && chain->goal == FUNCTION_MATCH_NONE;

	if (ref->frame == FINGERPRINT_NO_FRAME || more < 0 || more > place.left ||
	    (ends && more != place.left) || (ref->kind == FINGERPRINT_SYSCALL && !ends))
		return;
	place.left -= more;
	new = call_chain_new_bytes(object, place.function, number);
	/* If it leads there, it is not known. */
	place.bytes = place.bytes < 0 || new < 0 ? INT64_MIN : place.bytes + new;
	if (ends)
		take(chain, place.bytes);
	else
		follow(chain, place, ref);
}

static void enter(struct call_chain *chain, struct chain_place place)
{
	uint64_t hash = hash_mix(hash_mix(place.object + 1ULL, place.function),
				 (uint64_t)place.left << 8 | (uint64_t)place.calls);
	const struct fingerprint *print;
	uint32_t cursor = 0;
	int nr = chain->nr_found;

	if (!chain->steps_left || place.calls > MAX_CALLS ||
	    hash_index_next(&chain->failed, hash, &cursor) != HASH_INDEX_NONE)
		return;
	chain->steps_left--;
	if (chain->goal != FUNCTION_MATCH_NONE && place.object == chain->goal_object &&
	    place.function == chain->goal && !place.left) {
		take(chain, place.bytes);
		return;
	}
	print = &chain->objects[place.object].old.functions[place.function];
	for (uint32_t i = 0; i < print->nr_refs; i++)
		try_ref(chain, place, i);
	if (chain->nr_found == nr && hash_index_add(&chain->failed, hash))
		chain->steps_left = 0;
}

static int by_export(const void *left, const void *right)
{
	const struct chain_export *a = left, *b = right;

	return order_of(a->name, b->name);
}

int call_chain_init(struct call_chain *chain, const struct carry_object *objects,
		    uint32_t nr_objects)
{
	size_t max = 0;

	*chain = (struct call_chain){ .objects = objects, .nr_objects = nr_objects };
	for (uint32_t i = 0; i < nr_objects; i++)
		for (uint32_t j = 0; j + 1 < objects[i].old.nr; j++) {
			uint32_t name = objects[i].old.functions[j].name;

			if (!name)
				continue;
			if (array_grow(chain->exports, chain->nr_exports, max))
				return -ENOMEM;
			chain->exports[chain->nr_exports++] = (struct chain_export){ name, i, j };
		}
	if (chain->nr_exports)
		qsort(chain->exports, chain->nr_exports, sizeof(*chain->exports), by_export);
	return 0;
}

void call_chain_deinit(struct call_chain *chain)
{
	free(chain->exports);
	hash_index_deinit(&chain->failed);
}

void call_chain_find(struct call_chain *chain, uint32_t object, uint32_t function, uint32_t ref,
		     int64_t bytes)
{
	struct chain_place place = {
		.object = object, .function = function,
		.left = bytes - CALL_BYTES, .bytes = CALL_BYTES,
	};

	chain->steps_left = MAX_STEPS;
	chain->nr_found = 0;
	chain->is_unsure = false;
	chain->bytes = 0;
	hash_index_deinit(&chain->failed);
	follow(chain, place, old_ref(&chain->objects[object], function, ref));
	/* What was not searched may be another one. */
	chain->is_unsure |= !chain->steps_left || chain->bytes < 0;
}

int64_t call_chain_from_loop(struct call_chain *chain, const struct carrying_samples *carrying,
			     uint32_t loop, int64_t depth)
{
	uint32_t owner = carrying->samples->loops[loop].function, object;
	const struct fingerprint *print;
	int64_t found = CARRY_DEPTH_UNKNOWN;

	if (owner == SAMPLES_NONE || carrying->functions[owner].old == FUNCTION_MATCH_NONE)
		return CARRY_DEPTH_UNKNOWN;
	object = carrying->samples->functions[owner].object;
	print = &chain->objects[object].old.functions[carrying->functions[owner].old];
	for (uint32_t i = 0; i < print->nr_refs; i++) {
		const struct fingerprint_ref *ref = &chain->objects[object].old.refs[print->first_ref + i];

		if (call_chain_bytes(ref) <= 0)
			continue;
		call_chain_find(chain, object, carrying->functions[owner].old, i, depth);
		if (chain->is_unsure || (chain->nr_found && found >= 0 && found != chain->bytes))
			return CARRY_DEPTH_UNKNOWN;
		if (chain->nr_found)
			found = chain->bytes;
	}
	return found;
}
