/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The lock of a target.
 *
 * To put thousands of probes on, or to take them off, takes seconds.  The request
 * that does it must have the target for itself meanwhile, but must not hold up
 * those that are about others, or that only ask.  So each target has a mutex of
 * its own, which is taken before pguard_control: pguard_target_lock() lets go of
 * that while it waits.  Its holder
 *
 *   - puts probes on and takes them off, with pguard_control not held;
 *   - takes pguard_control for a moment to change what others see: the target's
 *     list of probes, its profile, whether it is there;
 *   - keeps the target in its place: nobody else can remove it.
 *
 * Requests wait for it.  Works do not: they come again later.
 *
 * A task that is killed cannot reach other memory any more, so a breakpoint that
 * it takes off would stay there.  So only workers do it.
 */
#ifndef _KMOD_TARGET_TARGET_LOCK_H
#define _KMOD_TARGET_TARGET_LOCK_H

#include "target/image.h"

#include <linux/bug.h>
#include <linux/lockdep.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/types.h>

int pguard_target_lock(struct pguard_target *target);
bool pguard_target_trylock(struct pguard_target *target);
void pguard_target_unlock(struct pguard_target *target);
bool pguard_target_lock_each(bool (*want)(const struct pguard_target *target),
			     void (*call)(struct pguard_target *target));

/* Current holds the lock, and who is not about this target does not wait. */
static inline void pguard_target_assert_locked(const struct pguard_target *target)
{
	lockdep_assert_held(&target->lock);
	lockdep_assert_not_held(&pguard_control);
}

/* A probe is put on or off: as above, and by a worker. */
static inline void pguard_target_assert_probe(const struct pguard_target *target)
{
	pguard_target_assert_locked(target);
	WARN_ON_ONCE(!(current->flags & PF_KTHREAD));
}

#endif /* _KMOD_TARGET_TARGET_LOCK_H */
