// SPDX-License-Identifier: GPL-2.0

#include "control/reaper.h"

#include "compat.h"
#include "hook/drain.h"
#include "target/image.h"

#include <linux/delay.h>
#include <linux/list.h>
#include <linux/lockdep.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/path.h>
#include <linux/sched/signal.h>
#include <linux/workqueue.h>

enum {
	PATIENCE = HZ,		/* how long an order waits for threads */
	PERIOD = HZ / 10,
};

static LIST_HEAD(leaving);
static DEFINE_MUTEX(reaper_lock); /* guards that list; inside of target locks */
static void reaper_work(struct work_struct *work);
static DECLARE_DELAYED_WORK(dwork, reaper_work);

/* Let go of a target none of whose threads is in a hooked call. */
static void target_free(struct pguard_target *target)
{
	if (target->inode)
		path_put(&target->path);
	pguard_target_put(target);
	module_put(THIS_MODULE);
}

static void reaper_work(struct work_struct *work)
{
	struct pguard_target *target, *next;

	mutex_lock(&reaper_lock);
	list_for_each_entry_safe(target, next, &leaving, list) {
		if (!pguard_drain_is_done(target))
			continue;
		list_del(&target->list);
		target_free(target);
	}
	if (!list_empty(&leaving))
		queue_delayed_work(system_unbound_wq, &dwork, PERIOD);
	mutex_unlock(&reaper_lock);
}

/**
 * pguard_reaper_wait() - let a target go when its threads are out
 * @target: drained; the list's reference to it is given back
 *
 * Waits for the threads, but not for ever: a work takes over.
 *
 * Context: may sleep, up to a second; pguard_control not held.
 * Return: 0, or -EINPROGRESS if the work does it.
 */
int pguard_reaper_wait(struct pguard_target *target)
{
	unsigned long end = jiffies + PATIENCE;

	lockdep_assert_not_held(&pguard_control);
	while (!pguard_drain_is_done(target)) {
		if (time_before(jiffies, end) && !fatal_signal_pending(current)) {
			usleep_range(1000, 2000);
			continue;
		}
		mutex_lock(&reaper_lock);
		list_add_tail(&target->list, &leaving);
		queue_delayed_work(system_unbound_wq, &dwork, PERIOD);
		mutex_unlock(&reaper_lock);
		return -EINPROGRESS;
	}
	target_free(target);
	return 0;
}

/* The module goes: no target is left.  The work may be in its last lines. */
void pguard_reaper_deinit(void)
{
	flush_delayed_work(&dwork);
}
