// SPDX-License-Identifier: GPL-2.0

#include "target/target-lock.h"

#include "compat.h"

#include <linux/completion.h>
#include <linux/kref.h>
#include <linux/mutex.h>
#include <linux/workqueue.h>

/* What a worker does for one who waits. */
struct errand {
	struct work_struct work;
	struct completion done;
	void (*call)(void *argument);
	void *argument;
};

/**
 * pguard_turn_take() - wait until it is current's turn at a target
 * @target: listed
 *
 * Context: may sleep, long; pguard_control held, which is let go of meanwhile.
 * Return: 0, and the target is still listed and stays so until
 * pguard_turn_give(); -ENOENT if it has gone; -EINTR if current is killed.
 */
int pguard_turn_take(struct pguard_target *target)
{
	int ret;

	lockdep_assert_held(&pguard_control);
	kref_get(&target->kref);
	mutex_unlock(&pguard_control);
	ret = mutex_lock_killable(&target->turn);
	mutex_lock(&pguard_control);
	if (!ret && !target->dying)
		return 0;
	if (!ret) {
		mutex_unlock(&target->turn);
		ret = -ENOENT;
	}
	pguard_target_put(target);
	return ret;
}

/**
 * pguard_turn_try() - the same, if it is nobody else's turn
 * @target: listed, or about to be
 *
 * Context: any; pguard_control held.
 */
bool pguard_turn_try(struct pguard_target *target)
{
	lockdep_assert_held(&pguard_control);
	if (!mutex_trylock(&target->turn))
		return false;
	kref_get(&target->kref);
	return true;
}

/* It is somebody else's turn.  Context: any; the target may be gone after it. */
void pguard_turn_give(struct pguard_target *target)
{
	mutex_unlock(&target->turn);
	pguard_target_put(target);
}

static void errand_run(struct work_struct *work)
{
	struct errand *errand = container_of(work, struct errand, work);

	errand->call(errand->argument);
	complete(&errand->done);
}

/**
 * pguard_turn_run() - have something done by a worker, where no signal comes
 * @call: does it
 * @argument: for @call
 *
 * Context: may sleep, long; it is current's turn at a target, pguard_control
 * not held.  A worker does it itself.
 */
void pguard_turn_run(void (*call)(void *argument), void *argument)
{
	struct errand errand = { .call = call, .argument = argument };

	lockdep_assert_not_held(&pguard_control);
	if (current->flags & PF_KTHREAD) {
		call(argument);
		return;
	}
	init_completion(&errand.done);
	INIT_WORK_ONSTACK(&errand.work, errand_run);
	queue_work(system_unbound_wq, &errand.work);
	/* It may take minutes; a sleep as long as that is reported by the kernel. */
	while (!wait_for_completion_timeout(&errand.done, HZ))
		;
	/* Out of our text, too. */
	flush_work(&errand.work);
	destroy_work_on_stack(&errand.work);
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
 * pguard_turn_each() - do something to targets, each in a turn of its own
 * @want: to which; pguard_control held
 * @call: does it, as one who has the turn; pguard_control not held
 *
 * Context: may sleep; for works.
 * Return: whether some were left out because it was somebody else's turn.
 */
bool pguard_turn_each(bool (*want)(const struct pguard_target *target),
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
		if (!pguard_turn_try(target)) {
			missed = true;
			continue;
		}
		mutex_unlock(&pguard_control);
		call(target);
		pguard_turn_give(target);
		mutex_lock(&pguard_control);
	}
	mutex_unlock(&pguard_control);
	return missed;
}
