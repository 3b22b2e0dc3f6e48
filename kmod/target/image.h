/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What is watched of a target: its images, and the event loops of an image.
 *
 * An image is an executable at certain addresses.  Processes that came from
 * one exec by fork share it, and with it the loops, whose wait contexts are
 * run-time addresses.
 *
 * Life: an image is held by its processes and threads, and freed after an RCU
 * grace period; loops go with their image.
 */
#ifndef _KMOD_TARGET_IMAGE_H
#define _KMOD_TARGET_IMAGE_H

#include "target/target.h"

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/percpu.h>
#include <linux/rcupdate.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>

#include <linux/perfguard.h>

enum {
	PGUARD_MAX_LOOPS = 64,		/* per image, over its whole life */
	PGUARD_MAX_CONTEXTS = 256,	/* per image */
};

/**
 * struct pguard_loop_sums - sums over the units of a loop, one per CPU
 *
 * Written with this_cpu operations, read by anyone without a lock: each word
 * is right by itself.
 */
struct pguard_loop_sums {
	u64 elapsed;	/* ns, as all times here */
	u64 cpu;
	u64 runqueue;
	u64 block_io;
	u64 min_faults;
	u64 maj_faults;
	u64 late;
	u64 max;
	u64 hist[PERFGUARD_HIST_BUCKETS];
};

struct pguard_loop {
	struct list_head list;	/* pguard_image.loops */
	u32 id;
	atomic_t nr_threads;
	bool has_block_io;	/* some unit had it accounted */
	u64 within;		/* what takes no more ticks is in time, and some seconds at most */
	struct pguard_loop_sums __percpu *sums;
};

/* A wait context: the loop's own wait, see the spec's attribute set. */
struct pguard_context {
	struct pguard_loop *loop;
	u32 syscall;
	u32 distance;
	u64 return_address;
};

/* The contexts of an image at one time; replaced as a whole. */
struct pguard_contexts {
	struct rcu_head rcu;
	u32 nr;
	struct pguard_context context[];
};

/**
 * struct pguard_image - an executable at certain addresses
 * @list: in target->images
 * @target: holds a reference
 * @id: never used again
 * @key: what tells images of one target apart: addresses the exec chose
 * @generation: counts changes of @contexts, so that threads look again
 * @contexts: NULL until the first loop-set
 * @loops: only grows; pguard_images_lock for writing
 * @spots: that its threads hold; RCU, and @spots_lock for writing
 */
struct pguard_image {
	struct list_head list;
	struct pguard_target *target;
	u32 id;
	struct pguard_image_key {
		unsigned long code;
		unsigned long stack;
	} key;
	u32 generation;
	struct pguard_contexts __rcu *contexts;
	struct list_head loops;
	u32 nr_loops;
	spinlock_t spots_lock;
	struct list_head spots;
	/* private: */
	struct kref kref;
	struct rcu_work work;
};

struct pguard_image *pguard_image_get(struct pguard_target *target,
				      const struct pguard_image_key *key);
struct pguard_image *pguard_image_find(u32 id);
void pguard_image_put(struct pguard_image *image);
static inline void pguard_image_hold(struct pguard_image *image)
{
	kref_get(&image->kref);
}

struct pguard_loop *pguard_loop_new(struct pguard_image *image, u32 id, gfp_t gfp);
void pguard_image_set_contexts(struct pguard_image *image,
			       struct pguard_contexts *contexts);

int pguard_image_init(void);
void pguard_image_deinit(void);

#endif /* _KMOD_TARGET_IMAGE_H */
