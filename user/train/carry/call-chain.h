/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The calls that lead from one place to another, known by how far the stack pointer moves
 * between the two: so many bytes lead by few ways, mostly by one.
 */
#ifndef _USER_TRAIN_CARRY_CALL_CHAIN_H
#define _USER_TRAIN_CARRY_CALL_CHAIN_H

#include "base/hash-index.h"
#include "train/carry/carry.h"

struct carrying_samples;

/* A function that other files can call. */
struct chain_export {
	uint32_t name;
	uint32_t object;
	uint32_t function;
};

struct call_chain {
	const struct carry_object *objects;
	uint32_t nr_objects;
	/* Where it ends, the caller's to set: at the entry of a function, or in a system call (FUNCTION_MATCH_NONE). */
	uint32_t goal_object;
	uint32_t goal;
	/* Results */
	int nr_found; /* chains; at 0 nothing is known */
	bool is_unsure; /* there are several, and the new builds differ in them */
	int64_t bytes; /* of the new builds */
	/* Private */
	struct chain_export *exports; /* by name */
	uint32_t nr_exports;
	uint32_t steps_left;
	struct hash_index failed; /* places from which nothing leads to the goal */
};

/* Returns 0 or -ENOMEM; call_chain_deinit() in any case. */
int call_chain_init(struct call_chain *chain, const struct carry_object *objects,
		    uint32_t nr_objects);
void call_chain_deinit(struct call_chain *chain);

/*
 * Find the chains of calls from reference @ref of the old @function of @object that lead to
 * the goal, by which the stack pointer moves by @bytes from before the return address of the
 * first call is pushed.
 */
void call_chain_find(struct call_chain *chain, uint32_t object, uint32_t function, uint32_t ref,
		     int64_t bytes);

/*
 * How deep the goal, a function, is below the frame of the loop in the new builds, if it is
 * @depth deep in the old ones, by the calls of the function that owns the loop; less than 0 if
 * that is not certain.
 */
int64_t call_chain_from_loop(struct call_chain *chain, const struct carrying_samples *carrying,
			     uint32_t loop, int64_t depth);

/* By how much what is called there has the stack pointer lower; -1 if nothing is called. */
int64_t call_chain_bytes(const struct fingerprint_ref *ref);

/*
 * The same of the new function where the old one has reference @ref; of a system call, how far
 * the stack pointer is lower there.  -1 if that is not certain.
 */
int64_t call_chain_new_bytes(const struct carry_object *object, uint32_t old, uint32_t ref);

/*
 * The reference of the new function that is number @ref of the old one's, both counted from
 * their first; UINT32_MAX if that is not certain.
 */
uint32_t call_chain_ref(const struct carry_object *object, uint32_t old, uint32_t ref);

#endif /* _USER_TRAIN_CARRY_CALL_CHAIN_H */
