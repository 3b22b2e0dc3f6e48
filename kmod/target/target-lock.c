// SPDX-License-Identifier: GPL-2.0

#include "target/target-lock.h"

#include <linux/kref.h>
#include <linux/mutex.h>

/**
 * pguard_target_lock() - take the lock of a target
 * @target: listed
 *
 * A worker cannot be killed.  It sleeps as if it could be, as it may take minutes: the
 * kernel reports other sleeps as long as that.
 *
 * Context: a worker; may sleep, long; pguard_control held, which is let go of meanwhile.
 * Return: 0, and the target is still listed and stays so until
 * pguard_target_unlock(); -ENOENT if it has gone.
 */
int pguard_target_lock(struct pguard_target *target)
{
	int ret;

	lockdep_assert_held(&pguard_control);
	kref_get(&target->kref);
	mutex_unlock(&pguard_control);
	ret = mutex_lock_killable(&target->lock);
	mutex_lock(&pguard_control);
	if (!ret && !target->dying)
		return 0;
	if (!ret) {
		mutex_unlock(&target->lock);
		ret = -ENOENT;
	}
	pguard_target_put(target);
	return ret;
}

/**
 * pguard_target_trylock() - the same, if nobody else holds it
 * @target: listed, or about to be
 *
 * Context: any; pguard_control held.
 */
bool pguard_target_trylock(struct pguard_target *target)
{
	lockdep_assert_held(&pguard_control);
	if (!mutex_trylock(&target->lock))
		return false;
	kref_get(&target->kref);
	return true;
}

/* Somebody else holds the lock.  Context: any; the target may be gone after it. */
void pguard_target_unlock(struct pguard_target *target)
{
	mutex_unlock(&target->lock);
	pguard_target_put(target);
}

/* The first target with a greater id; the list is in their order. */
static struct pguard_target *target_after(u32 id)
{
	struct pguard_target *target;

	lockdep_assert_held(&pguard_control);
	list_for_each_entry(target, &pguard_targets, list)
		if (target->id > id)
			return target;
	return NULL;
}

/**
 * pguard_target_lock_each() - do something to targets, each under its own lock
 * @want: to which; pguard_control held
 * @call: does it, as the holder of the lock; pguard_control not held
 *
 * Context: may sleep; for works.
 * Return: true if some were left out because somebody else held the lock.
 */
bool pguard_target_lock_each(bool (*want)(const struct pguard_target *target),
			     void (*call)(struct pguard_target *target))
{
	struct pguard_target *target;
	bool missed = false;
	u32 id = 0;

	mutex_lock(&pguard_control);
	while ((target = target_after(id))) {
		id = target->id;
		if (!want(target))
			continue;
		if (!pguard_target_trylock(target)) {
			missed = true;
			continue;
		}
		mutex_unlock(&pguard_control);
		call(target);
		pguard_target_unlock(target);
		mutex_lock(&pguard_control);
	}
	mutex_unlock(&pguard_control);
	return missed;
}
