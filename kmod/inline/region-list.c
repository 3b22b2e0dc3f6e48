// SPDX-License-Identifier: GPL-2.0

#include "inline/region-list.h"

#include "inline/own-mapping.h"
#include "inline/region.h"
#include "inline/thread-place.h"

#include <linux/rculist.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>
#include <linux/spinlock.h>

/* Readers by RCU; nothing is taken in it. */
static DEFINE_SPINLOCK(list_lock);
static LIST_HEAD(regions);

/* It is to be mapped.  Context: any. */
void pguard_region_list_add(struct pguard_region *region)
{
	spin_lock(&list_lock);
	list_add_tail_rcu(&region->all, &regions);
	spin_unlock(&list_lock);
}

/* It is mapped nowhere; stays for a grace period.  Context: any. */
void pguard_region_list_del(struct pguard_region *region)
{
	spin_lock(&list_lock);
	list_del_rcu(&region->all);
	spin_unlock(&list_lock);
}

/* Context: any. */
bool pguard_region_list_is_empty(void)
{
	return list_empty(&regions);
}

/* The use of a region by some memory, for an RCU section; or NULL. */
static struct pguard_region_use *use_find(struct pguard_region *region, const struct mm_struct *mm)
{
	struct pguard_region_use *use;

	list_for_each_entry_rcu(use, &region->uses, list)
		if (use->mm == mm)
			return use;
	return NULL;
}

/* Is one mapped in some memory?  Context: any; what is asked for stays while we are here. */
bool pguard_region_list_has(const struct mm_struct *mm)
{
	struct pguard_region *region;
	bool ret = false;

	rcu_read_lock();
	list_for_each_entry_rcu(region, &regions, all)
		ret = ret || use_find(region, mm);
	rcu_read_unlock();
	return ret;
}

/**
 * pguard_region_list_signal() - current is to handle a signal, from where it was in user mode
 * @ip: where
 *
 * What it came upon stays mapped, as it may return there at any time.
 *
 * Context: current; takes no lock, as its process's of signals is held.
 */
void pguard_region_list_signal(unsigned long ip)
{
	struct pguard_region_use *use;
	struct pguard_region *region;

	rcu_read_lock();
	list_for_each_entry_rcu(region, &regions, all) {
		if (likely(ip - region->start >= region->size))
			continue;
		use = use_find(region, current->mm);
		if (use)
			WRITE_ONCE(use->is_pinned, true);
	}
	rcu_read_unlock();
}

/* May somebody still come by?  Nothing jumps there. */
static bool use_is_needed(const struct pguard_region_use *use)
{
	bool ret = pguard_threads_are_in(use->mm, use->region->start, use->region->size);

	/* A signal pins first, and takes the thread away from there then. */
	smp_rmb();
	return ret || READ_ONCE(use->is_pinned);
}

/* The next one that was not looked at in this round, referenced, and so is its memory; or NULL. */
static struct pguard_region_use *use_next(struct pguard_region *region, u32 round)
{
	struct pguard_region_use *use, *ret = NULL;

	spin_lock(&region->lock);
	list_for_each_entry(use, &region->uses, list) {
		/* Memory without users is on its way out. */
		if (use->round == round || !mmget_not_zero(use->mm))
			continue;
		use->round = round;
		kref_get(&use->refs);
		ret = use;
		break;
	}
	spin_unlock(&region->lock);
	return ret;
}

/* Returns true if it is to be tried again. */
static bool region_unmap(struct pguard_region *region, u32 round)
{
	struct pguard_region_use *use;
	bool ret = false;

	while ((use = use_next(region, round))) {
		if (use_is_needed(use))
			ret = ret || !READ_ONCE(use->is_pinned);
		else if (pguard_own_mapping_unmap(use->mm, region->start, region->size))
			ret = true;
		mmput_async(use->mm);
		pguard_region_use_put(use);
	}
	return ret;
}

/* The next one that nothing jumps to and that was not looked at in this round, referenced; or NULL. */
static struct pguard_region *region_next(u32 round)
{
	struct pguard_region *region, *ret = NULL;

	spin_lock(&list_lock);
	list_for_each_entry(region, &regions, all) {
		if (region->jumps || region->round == round || !kref_get_unless_zero(&region->refs))
			continue;
		region->round = round;
		ret = region;
		break;
	}
	spin_unlock(&list_lock);
	return ret;
}

/**
 * pguard_region_list_unmap() - unmap the regions that nothing jumps to, where nobody is in
 *
 * Context: a worker; may sleep, also for the map locks of processes; serialized with all that maps
 * regions and changes jumps.
 * Return: true if somebody was there, so that it is to be called again.
 */
bool pguard_region_list_unmap(void)
{
	static u32 round;
	struct pguard_region *region;
	bool ret = false;

	round++;
	while ((region = region_next(round))) {
		ret = region_unmap(region, round) || ret;
		pguard_region_put(region);
	}
	return ret;
}
