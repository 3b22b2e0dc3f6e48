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

/* Fails where the cgroup has no room, and kills nothing. */
#define PGUARD_GFP_CHARGED (__GFP_ACCOUNT | __GFP_NORETRY | __GFP_NOWARN)

#endif /* _KMOD_LIB_CHARGE_H */
