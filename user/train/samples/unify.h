/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Bring samples into canonical order, with what is in them several times made
 * one; see join.h for when two things are the same.
 */
#ifndef _USER_TRAIN_SAMPLES_UNIFY_H
#define _USER_TRAIN_SAMPLES_UNIFY_H

#include "data/samples.h"

/* Returns 0, or -ENOMEM with samples that are good for samples_deinit() only. */
int samples_unify(struct samples *samples);

#endif /* _USER_TRAIN_SAMPLES_UNIFY_H */
