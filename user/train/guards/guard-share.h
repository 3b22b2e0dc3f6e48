/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How many hits guards may make in a unit of a loop: the share of its time that
 * guarding may take, less what it takes of each unit whatever the guards are.
 */
#ifndef _USER_TRAIN_GUARDS_GUARD_SHARE_H
#define _USER_TRAIN_GUARDS_GUARD_SHARE_H

#include "train/guards/signature.h"

/* Where there is no time to derive them from. */
#define GUARD_SHARE_HITS 2.0
/* More hits than that add nothing new, however much time there is. */
#define GUARD_SHARE_MAX_HITS 8.0
/*
 * What it takes to end a unit and begin the next one, in hits: some 240
 * instructions compared with some 1,000 of a hit, and 440 in loops where events have
 * boundaries of their own (see overhead.md).
 */
#define GUARD_SHARE_WAIT_HITS 0.25
#define GUARD_SHARE_EVENT_HITS 0.45
/* So much of the share is for guards in any case: units may be longer where they run. */
#define GUARD_SHARE_LEAST 0.25

/*
 * Mean hits a unit of @loop, for @budget, a share of the units' time, and
 * @hit_ns that a hit takes.
 */
double guard_share_hits(const struct signatures *signatures, uint32_t loop, double budget,
			double hit_ns);

#endif /* _USER_TRAIN_GUARDS_GUARD_SHARE_H */
