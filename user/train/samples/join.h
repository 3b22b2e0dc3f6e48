/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The union of what two trainings saw of a program.
 *
 * Things are the same if what they are made of is: objects by build id (path,
 * if there is none), functions by object and offset, loops by a wait in common,
 * call paths and trees by their functions, variants of units by tree and hits,
 * timings by guards, loop and hits.  What is counted is added.
 *
 * The result is in canonical order: the program first, then by build id,
 * offset, or hash.  So it depends only on what was joined, not on the order.
 */
#ifndef _USER_TRAIN_SAMPLES_JOIN_H
#define _USER_TRAIN_SAMPLES_JOIN_H

#include "data/samples.h"

/*
 * Add @from to @into, which can be empty.  Both must be sound (indices in
 * range) and of the same program: the caller compares objects[0].  Indices
 * into @into change; a model made of it is void.  All hashes are set.
 *
 * Returns 0, -EINVAL (of two programs), -E2BIG or -ENOMEM; then @into is as it
 * was.
 */
int samples_join(struct samples *into, const struct samples *from);

#endif /* _USER_TRAIN_SAMPLES_JOIN_H */
