/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What is watched of a target: its images, and the event loops of an image.
 *
 * An image is an executable at certain addresses.  Processes that came from
 * one exec by fork share it, and with it the loops that are audited, whose wait
 * sites are run-time addresses.
 *
 * Lifetime: an image is held by its processes and threads, and freed after an RCU
 * grace period; loops go with their image.
 */
#ifndef _KMOD_TARGET_IMAGE_H
#define _KMOD_TARGET_IMAGE_H

#include "target/target.h"

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/rcupdate.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>

#include <linux/perfguard.h>

struct mem_cgroup;
struct mm_struct;
struct pguard_tenant;
struct task_struct;

enum {
	PGUARD_MAX_LOOPS = 64,		/* per image, over its whole life */
	PGUARD_MAX_CONTEXTS = 256,	/* per image: wait sites of an audit */
};

/* An event loop of an image that is audited. */
struct pguard_image_loop {
	struct list_head list;	/* pguard_image.loops */
	struct pguard_loop loop;
};

/**
 * struct pguard_image - an executable at certain addresses
 * @list: in target->images
 * @target: holds a reference
 * @tenant: of the target, whose user executed it
 * @id: never used again
 * @key: what distinguishes images of one target: addresses the exec chose
 * @memcg: of the process that made it, referenced, or NULL; what others allocate for its
 *	processes is charged to it
 * @areas: where those of its processes begin, see inline/area.h; 0: nowhere yet
 * @generation: counts changes of @sites and of what the target goes by, so that threads
 *	look again
 * @sites: of @loops, in memory; NULL until the first loop-set
 * @loops: those that are audited; only grows; pguard_control
 * @call_sites: that its threads hold; RCU, and @call_sites_lock for writing
 */
struct pguard_image {
	struct list_head list;
	struct pguard_target *target;
	struct pguard_tenant *tenant;
	u32 id;
	struct pguard_image_key {
		unsigned long code;
		unsigned long stack;
	} key;
	struct mem_cgroup *memcg;
	u32 areas;
	u32 generation;
	struct pguard_wait_sites __rcu *sites;
	struct list_head loops;
	u32 nr_loops;
	spinlock_t call_sites_lock;
	struct list_head call_sites;
	/* private: */
	struct kref kref;
	struct rcu_work work;
};

struct pguard_image *pguard_image_get(struct pguard_target *target, struct task_struct *task);
struct pguard_image *pguard_image_find(u32 id);
void pguard_image_put(struct pguard_image *image);
struct pguard_image_loop *pguard_image_loop_new(struct pguard_image *image, u32 id);
void pguard_image_set_sites(struct pguard_image *image, struct pguard_wait_sites *sites);

#endif /* _KMOD_TARGET_IMAGE_H */
