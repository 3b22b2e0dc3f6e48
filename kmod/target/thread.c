// SPDX-License-Identifier: GPL-2.0

#include "target/thread.h"

#include "compat.h"
#include "lib/clock.h"
#include "profile/inference.h"
#include "target/image.h"
#include "target/process.h"

#include <linux/sched/task.h>
#include <linux/slab.h>

DEFINE_SPINLOCK(pguard_tasks_lock);
struct hlist_head pguard_tasks[1 << PGUARD_TASKS_BITS];
LIST_HEAD(pguard_all_tasks);
atomic_t pguard_nr_tasks = ATOMIC_INIT(0);

static struct kmem_cache *cache;

enum {
	/* Waits a new thread records for discovery, to show their order. */
	FIRST_RECORDS = 64,
};

/**
 * pguard_task_new() - make the state of current and hash it
 * @image: its image; the reference is taken over, also on failure
 *
 * Context: the task itself, with no state yet; does not sleep.
 * Return: the state, held by the hash; NULL for want of memory or room
 * (counted as untracked) or because the target goes away.
 */
struct pguard_task *pguard_task_new(struct pguard_image *image)
{
	struct pguard_target *target = image->target;
	struct pguard_task *state = NULL;
	u32 i;

	if (atomic_read(&pguard_nr_tasks) < PGUARD_MAX_TASKS)
		state = kmem_cache_zalloc(cache, GFP_NOWAIT | __GFP_NOWARN);
	if (!state)
		goto err_untracked;
	state->task = get_task_struct(current);
	state->image = image;
	state->profile = target->audit;
	kref_get(&state->profile->kref);
	for (i = 0; i < PGUARD_NR_PLACES; i++)
		state->places[i].spot = &pguard_nowhere;
	state->place = state->places;
	state->records_left = FIRST_RECORDS;
	state->tid = current->pid;
	spin_lock_init(&state->lock);
	refcount_set(&state->refs, 1);

	spin_lock(&pguard_tasks_lock);
	if (READ_ONCE(target->dying))
		goto err_unlock;
	hlist_add_head_rcu(&state->node,
			   &pguard_tasks[hash_ptr(current, PGUARD_TASKS_BITS)]);
	list_add_tail_rcu(&state->all, &pguard_all_tasks);
	atomic_inc(&pguard_nr_tasks);
	atomic_inc(&target->nr_threads);
	spin_unlock(&pguard_tasks_lock);
	return state;

err_unlock:
	spin_unlock(&pguard_tasks_lock);
	put_task_struct(state->task);
	pguard_profile_put(state->profile);
	kmem_cache_free(cache, state);
	pguard_image_put(image);
	return NULL;
err_untracked:
	atomic64_inc(&target->untracked);
	pguard_image_put(image);
	return NULL;
}

/**
 * pguard_task_first() - make the state of current if its process is watched
 * @target: the target that wants it, or NULL for whatever target it has
 *
 * Without sleeping, for the thread is not inflight yet and nobody would wait
 * for it; if there is no memory now, the next call tries again.
 *
 * Context: the task itself, with no state yet; does not sleep.
 * Return: as pguard_task_new(); NULL also if the process is not watched.
 */
noinline struct pguard_task *pguard_task_first(const struct pguard_target *target)
{
	struct pguard_image *image = pguard_process_image_get(current->tgid);

	if (!image)
		return NULL;
	if (target && image->target != target) {
		pguard_image_put(image);
		return NULL;
	}
	return pguard_task_new(image);
}

static void task_free(struct rcu_head *rcu)
{
	struct pguard_task *state = container_of(rcu, struct pguard_task, rcu);

	kfree(state->lateness);
	kmem_cache_free(cache, state);
}

/**
 * pguard_task_put() - give a reference back
 *
 * Context: any but with pguard_images_lock held.
 */
void pguard_task_put(struct pguard_task *state)
{
	u32 i;

	if (!refcount_dec_and_test(&state->refs))
		return;
	put_task_struct(state->task);
	for (i = 0; i < PGUARD_NR_PLACES; i++)
		pguard_spot_put(state->image, state->places[i].spot);
	pguard_image_put(state->image);
	pguard_inference_free(rcu_dereference_protected(state->inference, true));
	pguard_profile_put(state->profile);
	if (state->sites)
		pguard_wait_sites_put(state->sites);
	call_rcu(&state->rcu, task_free);
}

/**
 * pguard_task_unhash() - take a state out of the hash
 *
 * From here on nobody reads the thread's registers: its exit hook, which
 * finds no state any more, need not wait for them.
 *
 * Context: any; pguard_tasks_lock held.
 */
void pguard_task_unhash(struct pguard_task *state)
{
	struct pguard_target *target = state->image->target;

	lockdep_assert_held(&pguard_tasks_lock);
	spin_lock(&state->lock);
	state->gone = true;
	spin_unlock(&state->lock);
	hlist_del_rcu(&state->node);
	list_del_rcu(&state->all);
	WRITE_ONCE(state->dead, true);
	atomic_dec(&pguard_nr_tasks);
	atomic_dec(&target->nr_threads);
	atomic64_add(READ_ONCE(state->nr_waits), &target->waits);
	atomic64_add(READ_ONCE(state->unit) >> PGUARD_PHASE_SHIFT, &target->units);
}

/**
 * pguard_task_remove() - take a thread's state out of the hash
 *
 * Context: any.
 * Return: the state with the hash's reference, or NULL if there is none.
 */
struct pguard_task *pguard_task_remove(struct task_struct *task)
{
	struct pguard_task *state;

	/* Every exit comes by here; mostly there is nothing to lock for. */
	rcu_read_lock();
	state = pguard_task_find(task);
	rcu_read_unlock();
	if (likely(!state))
		return NULL;
	spin_lock(&pguard_tasks_lock);
	state = pguard_task_find(task);
	if (state)
		pguard_task_unhash(state);
	spin_unlock(&pguard_tasks_lock);
	return state;
}

/**
 * pguard_unit_elapsed() - the time of the unit that runs, but for guards' checks
 * @state: of any thread, referenced or in an RCU section
 *
 * Context: any.
 * Return: ns; means nothing if the unit ended meanwhile.
 */
u64 pguard_unit_elapsed(const struct pguard_task *state)
{
	const struct pguard_inference *inference;
	u64 checks = 0;

	rcu_read_lock();
	inference = rcu_dereference(state->inference);
	if (inference)
		checks = READ_ONCE(inference->checks);
	rcu_read_unlock();
	return pguard_clock_ns(pguard_clock() - READ_ONCE(state->start) - checks);
}

/**
 * pguard_unit_threshold() - from when on the unit that runs is late
 * @state: of any thread, as above
 *
 * What the guards of its profile have found so far counts.
 *
 * Context: any.
 * Return: ns; 0 if it is never late.
 */
u64 pguard_unit_threshold(const struct pguard_task *state)
{
	const struct pguard_inference *inference;
	u64 ret;

	rcu_read_lock();
	inference = rcu_dereference(state->inference);
	if (inference)
		ret = pguard_inference_limit(inference, pguard_unit_elapsed(state));
	else
		ret = pguard_target_threshold(state->image->target);
	rcu_read_unlock();
	return ret;
}

/**
 * pguard_unit_verdict() - what the unit that ended has to be judged by
 * @state: of current
 * @inference: its
 * @threshold: set to the time from which on it was late, ns; 0 if it never is
 *
 * Context: current, preemptible or not.
 * Return: whether it fits no type.
 */
bool pguard_unit_verdict(const struct pguard_task *state,
			 const struct pguard_inference *inference, u64 *threshold)
{
	/* The probes of one that is replaced go, one by one: the unit may not have met all. */
	if (unlikely(!pguard_profile_is_armed(inference->profile))) {
		*threshold = pguard_inference_largest(inference);
		return false;
	}
	*threshold = pguard_inference_threshold(inference);
	return !pguard_inference_fits(inference, state->start);
}

int __init pguard_task_init(void)
{
	cache = kmem_cache_create("perfguard_task", sizeof(struct pguard_task), 0, 0, NULL);
	return cache ? 0 : -ENOMEM;
}

/* All states were given back, some of them perhaps by an RCU callback that is yet to run. */
void pguard_task_deinit(void)
{
	rcu_barrier();
	kmem_cache_destroy(cache);
}
