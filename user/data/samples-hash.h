/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Hashes of what samples hold: 64 bits, made of build ids, file offsets and
 * counts alone, so that the same thing has the same hash in each run, on each
 * machine, at whatever index and load address.  They order things and find
 * them; whether two are the same is decided by what they are made of.
 *
 * The parameters "object", "function", "path" are such hashes themselves.
 */
#ifndef _USER_DATA_SAMPLES_HASH_H
#define _USER_DATA_SAMPLES_HASH_H

#include <stdint.h>

#include "data/samples.h"

/* Of the loop itself: the path without a function. */
#define SAMPLES_HASH_ROOT UINT64_C(0x70657266677561)

/* Of the build id; of the path, where there is none. */
uint64_t samples_hash_object(const struct samples_object *object);

uint64_t samples_hash_function(uint64_t object, uint64_t offset);

/* Of the call path that leads from @parent into @function. */
uint64_t samples_hash_path(uint64_t parent, uint64_t function);

/*
 * Of a set, one member after the other in any order; 0 is the empty set.  A
 * tree is the set of its leaves' paths, a guard set that of its functions.
 */
uint64_t samples_hash_add(uint64_t set, uint64_t member);

/* @place is the hash of the object (or, of a site, the function) it is in. */
uint64_t samples_hash_boundary(const struct samples_boundary *boundary, uint64_t place);

/*
 * Of hits in their order with counts and quarters, in the tree @tree;
 * @functions are the hashes of the samples' functions by index.
 */
uint64_t samples_hash_unit(uint64_t tree, const struct samples_hit *hits, uint32_t nr_hits,
			   const uint64_t *functions);

/* The same of a timing run: without counts and quarters. */
uint64_t samples_hash_timing(uint64_t guards, uint64_t loop, const struct samples_hit *hits,
			     uint32_t nr_hits, const uint64_t *functions);

/* Hashes by index; all but those of the functions and nodes are in @samples. */
struct samples_hashes {
	uint64_t *objects;
	uint64_t *functions;
	uint64_t *nodes;
};

/*
 * Set the hash of every loop, tree, unit, guard set and timing of @samples,
 * whose indices must be in range.  A loop's is the smallest of its waits'.
 * The others are in @ret, which is samples_hashes_deinit()'s to free; NULL if
 * not wanted.  Returns 0 or -ENOMEM.
 */
int samples_hash_all(struct samples *samples, struct samples_hashes *ret);

void samples_hashes_deinit(struct samples_hashes *hashes);

#endif /* _USER_DATA_SAMPLES_HASH_H */
