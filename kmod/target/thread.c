// SPDX-License-Identifier: GPL-2.0

#include "target/thread.h"

#include "lib/charge.h"
#include "lib/clock.h"
#include "profile/inference.h"
#include "target/hit-ring.h"
#include "target/image.h"
#include "target/process.h"
#include "target/tenant.h"

#include <linux/sched/task.h>
#include <linux/slab.h>

DEFINE_SPINLOCK(pguard_threads_lock);
struct hlist_head pguard_threads[1 << PGUARD_THREADS_BITS];
LIST_HEAD(pguard_all_threads);
atomic_t pguard_nr_threads = ATOMIC_INIT(0);

static struct kmem_cache *cache;

enum {
	/* Waits a new thread records for discovery, to show their order. */
	FIRST_RECORDS = 64,
};

/* A state that nobody knows yet; takes ownership of the reference to the image, also on failure. */
static struct pguard_thread *thread_alloc(struct task_struct *task, struct pguard_image *image)
{
	struct mem_cgroup *old = set_active_memcg(image->memcg);
	struct pguard_target *target = image->target;
	struct pguard_thread *thread = NULL;
	u32 i;

	if (pguard_tenant_may_take(atomic_read(&image->tenant->nr_threads),
				   atomic_read(&pguard_nr_threads), PGUARD_MAX_THREADS))
		thread = kmem_cache_zalloc(cache, GFP_NOWAIT | PGUARD_GFP_CHARGED);
	set_active_memcg(old);
	if (!thread) {
		atomic64_inc(&target->untracked);
		pguard_image_put(image);
		return NULL;
	}
	thread->task = get_task_struct(task);
	thread->image = image;
	thread->profile = target->audit;
	kref_get(&thread->profile->kref);
	for (i = 0; i < PGUARD_NR_PLACES; i++)
		thread->places[i].call_site = &pguard_nowhere;
	thread->place = thread->places;
	thread->records_left = FIRST_RECORDS;
	thread->tid = task->pid;
	spin_lock_init(&thread->lock);
	refcount_set(&thread->refs, 1);
	return thread;
}

static void thread_hash(struct pguard_thread *thread)
{
	lockdep_assert_held(&pguard_threads_lock);
	hlist_add_head_rcu(&thread->node,
			   &pguard_threads[hash_ptr(thread->task, PGUARD_THREADS_BITS)]);
	list_add_tail_rcu(&thread->all, &pguard_all_threads);
	atomic_inc(&pguard_nr_threads);
	atomic_inc(&thread->image->target->nr_threads);
	atomic_inc(&thread->image->tenant->nr_threads);
}

/*
 * Make the state of a task and hash it, unless it has one by now or its target goes, or a thread
 * of its process, @sibling, if there is one, is out of the hash; the same.
 *
 * Return: the state that it has, with a reference of the caller's if it is not current's.
 */
static struct pguard_thread *thread_new(struct task_struct *task, struct pguard_image *image,
					const struct pguard_thread *sibling)
{
	struct pguard_thread *thread = thread_alloc(task, image), *ret;

	if (!thread)
		return NULL;
	spin_lock(&pguard_threads_lock);
	ret = pguard_thread_find(task);
	if (!ret && !READ_ONCE(image->target->dying) && !(sibling && sibling->dead)) {
		thread_hash(thread);
		ret = thread;
	}
	if (ret && task != current)
		refcount_inc(&ret->refs);
	spin_unlock(&pguard_threads_lock);
	if (ret != thread)
		pguard_thread_put(thread);
	return ret;
}

/**
 * pguard_thread_first() - make the state of current if its process is watched
 * @target: the target that wants it, or NULL for whatever target it has
 *
 * Without sleeping, for the thread is not inflight yet and nobody would wait
 * for it; if there is no memory now, the next call tries again.
 *
 * Context: the task itself, with no state yet; does not sleep.
 * Return: the state, held by the hash; NULL if the process is not watched, for lack of
 * memory or room (counted as untracked), or because the target goes away.
 */
noinline struct pguard_thread *pguard_thread_first(const struct pguard_target *target)
{
	struct pguard_image *image = pguard_process_image_get(current->tgid);

	if (image && (!target || image->target == target))
		return thread_new(current, image, NULL);
	pguard_image_put(image);
	return NULL;
}

/* The state of a task other than current, made if it has none; @sibling as in thread_new(). */
static struct pguard_thread *thread_other(struct pguard_image *image, struct task_struct *task,
					  const struct pguard_thread *sibling)
{
	struct pguard_thread *ret, *gone = NULL;

	rcu_read_lock();
	ret = pguard_thread_find(task);
	if (ret && !pguard_thread_get(ret))
		ret = NULL;
	rcu_read_unlock();
	if (ret)
		return ret;
	/* An exec may have been the last of it just now. */
	if (!kref_get_unless_zero(&image->kref))
		return NULL;
	ret = thread_new(task, image, sibling);
	if (!ret)
		return NULL;
	/* Pairs with the locks that an exit takes between the flag and its tracepoint. */
	smp_mb();
	if (READ_ONCE(task->flags) & PF_EXITING)
		gone = pguard_thread_remove(task);
	if (gone)
		pguard_thread_put(gone);
	return ret;
}

/**
 * pguard_thread_sibling() - the state of a thread that may not have come by a hook yet
 * @thread: of another thread of its process, referenced
 * @task: the thread, referenced
 *
 * Its exit takes the state out of the hash, or sees that it is in it; and an exec, of
 * whichever thread, is the end of @thread first.
 *
 * Context: a worker; does not sleep.
 * Return: the state, referenced; NULL for lack of memory, or if the thread or the process
 * goes away.
 */
struct pguard_thread *pguard_thread_sibling(const struct pguard_thread *thread,
					    struct task_struct *task)
{
	return thread_other(thread->image, task, thread);
}

/**
 * pguard_thread_other() - the same of any thread that sleeps
 * @image: of its process, in an RCU section
 * @task: the thread, not current
 *
 * Should it wake meanwhile, and execute another program at once, it may have a state of the
 * former image, by which it is in no loop; until its exit.
 *
 * Context: an RCU section; does not sleep.
 * Return: as there.
 */
struct pguard_thread *pguard_thread_other(struct pguard_image *image, struct task_struct *task)
{
	return thread_other(image, task, NULL);
}

static void task_free(struct rcu_head *rcu)
{
	struct pguard_thread *thread = container_of(rcu, struct pguard_thread, rcu);

	kfree(thread->lateness);
	kfree(thread->stopped);
	kmem_cache_free(cache, thread);
}

/* Give a reference back.  Context: any but with pguard_images_lock held. */
void pguard_thread_put(struct pguard_thread *thread)
{
	u32 i;

	if (!refcount_dec_and_test(&thread->refs))
		return;
	put_task_struct(thread->task);
	for (i = 0; i < PGUARD_NR_PLACES; i++)
		pguard_call_site_put(thread->image, thread->places[i].call_site);
	pguard_image_put(thread->image);
	pguard_inference_free(rcu_dereference_protected(thread->inference, true));
	pguard_profile_put(thread->profile);
	pguard_wait_sites_put(thread->sites);
	call_rcu(&thread->rcu, task_free);
}

/**
 * pguard_thread_unhash() - take a state out of the hash
 *
 * From here on nobody reads the thread's registers: its exit hook, which
 * finds no state any more, need not wait for them.
 *
 * Context: any; pguard_threads_lock held.
 */
void pguard_thread_unhash(struct pguard_thread *thread)
{
	struct pguard_target *target = thread->image->target;

	lockdep_assert_held(&pguard_threads_lock);
	spin_lock(&thread->lock);
	thread->gone = true;
	spin_unlock(&thread->lock);
	hlist_del_rcu(&thread->node);
	list_del_rcu(&thread->all);
	WRITE_ONCE(thread->dead, true);
	atomic_dec(&pguard_nr_threads);
	atomic_dec(&target->nr_threads);
	atomic_dec(&thread->image->tenant->nr_threads);
	atomic64_add(READ_ONCE(thread->nr_waits), &target->waits);
	atomic64_add(READ_ONCE(thread->unit) >> PGUARD_PHASE_SHIFT, &target->units);
}

/* Take a thread's state out of the hash, with the hash's reference; or NULL.  Context: any. */
struct pguard_thread *pguard_thread_remove(struct task_struct *task)
{
	struct pguard_thread *thread;

	/* Every exit comes by here; mostly there is nothing to lock for. */
	rcu_read_lock();
	thread = pguard_thread_find(task);
	rcu_read_unlock();
	if (likely(!thread))
		return NULL;
	spin_lock(&pguard_threads_lock);
	thread = pguard_thread_find(task);
	if (thread)
		pguard_thread_unhash(thread);
	spin_unlock(&pguard_threads_lock);
	return thread;
}

/**
 * pguard_unit_elapsed() - the time of the unit that runs, except for guards' checks
 * @thread: of any thread, referenced or in an RCU section
 *
 * Context: any.
 * Return: ns; means nothing if the unit ended meanwhile.
 */
u64 pguard_unit_elapsed(const struct pguard_thread *thread)
{
	const struct pguard_inference *inference;
	u64 checks = 0;

	rcu_read_lock();
	inference = rcu_dereference(thread->inference);
	if (inference)
		checks = READ_ONCE(inference->checks);
	rcu_read_unlock();
	return pguard_clock_ns(pguard_clock() - READ_ONCE(thread->start) - checks);
}

/* Hits that others look at, at most: mostly the first ones of a unit say what it is. */
enum { MAX_LOOK = 1024 };

/* What a verdict becomes by noted hits; false if the cache does not know the rest. */
static bool follow_noted(const struct pguard_inference *inference,
			 const struct pguard_verdict_cache *cache,
			 const struct pguard_hit_run *run, const struct pguard_verdict **verdict)
{
	const struct pguard_transition *transition;
	u32 i = run->nr;
	u64 key;

	while (i--)
		if (pguard_inference_noted_key(inference, &run->hits[i], &key)) {
			if (!pguard_verdict_cache_find(cache, *verdict, key, &transition))
				return false;
			*verdict = pguard_verdict_cache_at(cache, transition);
		}
	return true;
}

/**
 * pguard_unit_verdict() - what is known of the unit that runs
 * @thread: of any thread, referenced
 * @inference: of the thread
 *
 * The hits that its landings have noted count, which only the thread itself takes for good.
 *
 * Context: any; an RCU section.
 * Return: the verdict; if it is not @inference->verdict, the number of hits is not known.
 */
const struct pguard_verdict *pguard_unit_verdict(const struct pguard_thread *thread,
						 const struct pguard_inference *inference)
{
	/* Pairs with whoever changes it, and makes what it points to before. */
	const struct pguard_verdict *verdict = smp_load_acquire(&inference->verdict);
	const struct pguard_verdict_cache *cache = READ_ONCE(inference->cache);
	/* Pairs with area_set(): its head is there. */
	const struct pguard_hit_ring *ring = smp_load_acquire(&thread->ring);
	struct pguard_hit_run run;
	u32 free, end;

	if (likely(!ring || !inference->profile->noted))
		return verdict;
	free = max_t(u32, pguard_hit_ring_free(ring), PGUARD_RING_ENTRIES - MAX_LOOK);
	for (end = PGUARD_RING_ENTRIES; end > free;) {
		end = pguard_hit_ring_run(ring, end, free, &run);
		if (!run.hits || !follow_noted(inference, cache, &run, &verdict))
			break;
	}
	return verdict;
}

/**
 * pguard_unit_soon() - until when the unit that runs is not late, wherever its time goes
 * @thread: of any thread, as above
 *
 * What the guards of its profile have found so far counts.
 *
 * Context: any.
 * Return: ns of its time; 0 if it never is late.
 */
u64 pguard_unit_soon(const struct pguard_thread *thread)
{
	const struct pguard_inference *inference;
	u64 ret;

	rcu_read_lock();
	inference = rcu_dereference(thread->inference);
	if (inference)
		ret = pguard_inference_soon(inference, pguard_unit_verdict(thread, inference));
	else
		ret = pguard_target_threshold(thread->image->target);
	rcu_read_unlock();
	return ret;
}

/**
 * pguard_unit_judge() - is the unit that runs late
 * @thread: of any thread, as above
 * @account: so far
 * @ret: filled in
 *
 * Context: any.
 */
void pguard_unit_judge(const struct pguard_thread *thread, const struct pguard_account *account,
		       struct pguard_finding *ret)
{
	const struct pguard_inference *inference;
	struct pguard_limits limits = { };

	rcu_read_lock();
	inference = rcu_dereference(thread->inference);
	if (inference) {
		pguard_inference_judge(inference, pguard_unit_verdict(thread, inference), account,
				       ret);
	} else {
		limits.ns[PERFGUARD_PART_ALL - 1] = pguard_target_threshold(thread->image->target);
		pguard_limits_judge(&limits, 0, account, ret);
	}
	rcu_read_unlock();
}

/**
 * pguard_unit_take_stopped() - put down to stops what they are of a unit's time
 * @thread: of current, or any, referenced or in an RCU section
 * @word: pguard_thread.unit, of the unit
 * @account: of the unit, so far or of all of it
 *
 * Context: any.
 */
void pguard_unit_take_stopped(const struct pguard_thread *thread, u64 word,
			      struct pguard_account *account)
{
	/* Pairs with the watchdog, which makes it. */
	const struct pguard_stopped *stopped = smp_load_acquire(&thread->stopped);
	u64 ns = 0, queued = 0;

	if (!stopped || READ_ONCE(stopped->unit) != pguard_unit_number(word))
		return;
	/* Of another's that goes on just now it may count twice, for this once. */
	if (smp_load_acquire(&stopped->is_pending))
		ns = pguard_account_since_stop(&stopped->mark, thread->task, &queued);
	pguard_account_take_stopped(account, ns + READ_ONCE(stopped->ns),
				    queued + READ_ONCE(stopped->queued));
}

int __init pguard_thread_init(void)
{
	cache = kmem_cache_create("perfguard_task", sizeof(struct pguard_thread), 0, SLAB_ACCOUNT,
				  NULL);
	return cache ? 0 : -ENOMEM;
}

/* All states were given back, some of them perhaps by an RCU callback that is yet to run. */
void pguard_thread_deinit(void)
{
	rcu_barrier();
	kmem_cache_destroy(cache);
}
