/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Hashes of what samples hold: 64 bits, made of build ids, file offsets and
 * counts alone, so that the same thing has the same hash in each run, on each
 * machine, at whatever index and load address.  They order things and find
 * them; whether two are the same is decided by what they are made of.
 */
#ifndef _USER_DATA_SAMPLES_HASH_H
#define _USER_DATA_SAMPLES_HASH_H

#include <stdint.h>

#include "data/samples.h"

/* Of the build id; of the path, where there is none. */
uint64_t samples_hash_object(const struct samples_object *object);

/*
 * Set the hash of every loop, tree, unit, guard set and timing of @samples,
 * whose indices must be in range.  A loop's is the smallest of its waits'; a
 * tree's and a guard set's do not depend on the order of their members, a
 * timing's not on counts and quarters.  Returns 0 or -ENOMEM.
 */
int samples_hash_all(struct samples *samples);

#endif /* _USER_DATA_SAMPLES_HASH_H */
