/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The trie of call paths in canonical order: level by level, in a level by
 * parent, then by function.
 */
#ifndef _USER_TRAIN_SAMPLES_UNIFY_PATH_H
#define _USER_TRAIN_SAMPLES_UNIFY_PATH_H

#include "data/samples.h"

/*
 * Make one of nodes that are the same path; functions must be unified.  @rank,
 * one for each node, says what became of it and must be cleared; leaves are
 * the caller's to move.  Returns 0, or -ENOMEM with the nodes as they were.
 */
int samples_unify_paths(struct samples *samples, uint32_t *rank);

#endif /* _USER_TRAIN_SAMPLES_UNIFY_PATH_H */
