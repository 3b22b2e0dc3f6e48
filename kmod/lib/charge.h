/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Memory that is allocated for a watched process is charged to a memory cgroup of its.
 *
 * A thread that allocates for itself only needs the flags.  Code that may run in another
 * thread, or in a worker, sets the image's cgroup meanwhile, by set_active_memcg().
 */
#ifndef _KMOD_LIB_CHARGE_H
#define _KMOD_LIB_CHARGE_H

#include <linux/gfp.h>
#include <linux/memcontrol.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

/* Fails where the cgroup has no room, and kills nothing. */
#define PGUARD_GFP_CHARGED (__GFP_ACCOUNT | __GFP_NORETRY | __GFP_NOWARN)

/* Zeroed memory that is charged to a cgroup, whoever calls; NULL for lack of it.  Context: any. */
static inline void *pguard_zalloc_charged(struct mem_cgroup *memcg, size_t size)
{
	struct mem_cgroup *old = set_active_memcg(memcg);
	void *ret = kzalloc(size, GFP_NOWAIT | PGUARD_GFP_CHARGED);

	set_active_memcg(old);
	return ret;
}

#endif /* _KMOD_LIB_CHARGE_H */
