/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Bring samples into canonical order, with what is in them several times made
 * one; see join.h for when two things are the same.
 *
 * What grows with the length of the training is bounded: of each loop, those
 * trees and those variants of units stay that have the smallest hashes.  What
 * is among the smallest of a union is among the smallest of each part, with all
 * of its count; so it makes no difference when the rest is dropped.
 *
 * A variant that stays needs its tree.  If the tree is not among those with
 * the smallest hashes, only the variants that stay count in it.
 */
#ifndef _USER_TRAIN_SAMPLES_UNIFY_H
#define _USER_TRAIN_SAMPLES_UNIFY_H

#include "data/samples.h"

/* Returns 0, or -ENOMEM with samples that are good for samples_deinit() only. */
int samples_unify(struct samples *samples);

/* Its steps, each in a file of its own: */

/*
 * Loops in canonical order.  Loops that share a wait are one: a run may see
 * only some of the places where an event loop waits.  Objects and functions
 * must be unified; trees and timings follow.  Returns as samples_unify().
 */
int samples_unify_loops(struct samples *samples);

/*
 * The trie of call paths in canonical order: level by level, in a level by
 * parent, then by function.  Make one of nodes that are the same path; functions
 * must be unified.  @rank, one for each node, says what became of it and must
 * be cleared; leaves are the caller's to move.  Returns 0, or -ENOMEM with the
 * nodes as they were.
 */
int samples_unify_paths(struct samples *samples, uint32_t *rank);

/*
 * Apply the bounds.  Trees and units must be sorted by loop and hash.  Paths
 * that are in no tree are dropped, too.  Returns 0, or -ENOMEM with samples that
 * are sound.
 */
int samples_limit(struct samples *samples);

#endif /* _USER_TRAIN_SAMPLES_UNIFY_H */
