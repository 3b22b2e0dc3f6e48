/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Waits for a lock that threads take wherever they are.
 *
 * An interpreter lets one of its threads run at a time: each takes one lock
 * when it begins, after every call that may sleep, and now and then between.
 * So there are waits for it next to the loop's own wait, more often, for as
 * long, and with time-outs: nothing of what distinguishes a loop's wait from
 * others holds.  But it is one address, waited at by threads that came to it by
 * many different calls.  A loop's own wait for other threads, as a queue's, is
 * called in a place or two; and where a thread has an address of its own that
 * it always waits at, others do not.
 */
#ifndef _USER_TRAIN_LOOPS_SHARED_LOCK_H
#define _USER_TRAIN_LOOPS_SHARED_LOCK_H

#include <stdbool.h>
#include <stdint.h>

struct boundary_place;

/* Mark in @ret, false for all, the places at such a lock.  Returns 0 or -ENOMEM. */
int shared_lock_find(const struct boundary_place *places, uint32_t nr_places, bool *ret);

#endif /* _USER_TRAIN_LOOPS_SHARED_LOCK_H */
