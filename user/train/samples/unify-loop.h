/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Loops in canonical order.  Loops that share a wait are one: a run may see
 * only some of the places where an event loop waits.
 */
#ifndef _USER_TRAIN_SAMPLES_UNIFY_LOOP_H
#define _USER_TRAIN_SAMPLES_UNIFY_LOOP_H

#include "data/samples.h"

/*
 * Objects and functions must be unified.  Trees and timings follow.  Returns 0,
 * or -ENOMEM with samples that are good for samples_deinit() only.
 */
int samples_unify_loops(struct samples *samples);

#endif /* _USER_TRAIN_SAMPLES_UNIFY_LOOP_H */
