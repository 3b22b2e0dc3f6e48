/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What interrupts and batches add to short units.
 *
 * Most kernels count an interrupt as time of the task that it interrupts.  In a unit of
 * 20 us that may be a half of it, and one such unit in a hundred has one.  And where a wait
 * returns several events, the loop may leave work of each, as sending its answer, to the end:
 * then the last unit of the batch does it for all.  A limit that one unit in a thousand may
 * exceed would be by that much too long for all others.  Therefore what either adds is taken off
 * such units before limits are learnt, and the module adds it to the limits of such units, and of
 * no others.  A unit of which it may be more than the half is left out, unless what is left of it
 * is longer than units to which nothing was added: the module would report one, so it counts.
 *
 * It is found from units with the same contexts of which at most one in nine is such a unit:
 * by how much those are longer than the median of the others, the time that one in
 * a hundred exceeds: in what they compute for interrupts, and in their own time for batches, as the
 * loop's end may wait for what it does for all events.  Units that differ much by themselves say nothing of that.  Longer units
 * have interrupts all the time, and limits that allow for them: what is taken off their times is
 * added to their limits.  Where hardly a unit had an interrupt while units were timed, much is assumed:
 * later ones will have some.  Where more than one unit in nine is batched, limits allow for it in all.
 *
 * Pure: no I/O, no library.
 */
#ifndef _USER_TRAIN_SAMPLES_FIND_ADDED_H
#define _USER_TRAIN_SAMPLES_FIND_ADDED_H

#include <stddef.h>

#include "train/samples/timed-unit.h"

/*
 * Take it off those of @units, or have them left out.  The timings of @samples have it
 * from then on (samples_parts.added_ns).  Returns 0 or -ENOMEM.
 */
int find_added(struct samples *samples, struct timed_unit *units, size_t nr);

#endif /* _USER_TRAIN_SAMPLES_FIND_ADDED_H */
