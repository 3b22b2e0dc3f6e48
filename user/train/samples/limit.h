/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Bounds for what grows with the length of the training: of each loop, those
 * trees and those variants of units stay that have the smallest hashes.  What
 * is among the smallest of a union is among the smallest of each part, with all
 * of its count; so it makes no difference when the rest is dropped.
 *
 * A variant that stays needs its tree.  If the tree is not among those with
 * the smallest hashes, only the variants that stay count in it.
 */
#ifndef _USER_TRAIN_SAMPLES_LIMIT_H
#define _USER_TRAIN_SAMPLES_LIMIT_H

#include "data/samples.h"

/*
 * Trees and units must be sorted by loop and hash.  Paths that are in no tree
 * are dropped, too.  Returns 0, or -ENOMEM with samples that are sound.
 */
int samples_limit(struct samples *samples);

#endif /* _USER_TRAIN_SAMPLES_LIMIT_H */
