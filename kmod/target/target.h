/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Targets: the executables and processes that are watched.
 *
 * Lifetime: a target is held by its list entry and its images, and freed after an
 * RCU grace period.
 */
#ifndef _KMOD_TARGET_TARGET_H
#define _KMOD_TARGET_TARGET_H

#include "lib/rate-limit.h"
#include "profile/profile.h"
#include "target/scope.h"

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/path.h>
#include <linux/rcupdate.h>
#include <linux/spinlock.h>

#include <linux/perfguard.h>

struct file;
struct pguard_connection_table;
struct task_struct;

enum {
	PGUARD_MAX_TARGETS = 64,
	PGUARD_MAX_IMAGES = 4096,	/* per target */
	PGUARD_WAITS_PER_SECOND = 512,	/* records, per target */
};

/* pguard_target.report_left without a budget: some hundred years. */
#define PGUARD_REPORT_UNLIMITED (S64_MAX / 2)

/**
 * struct pguard_target - an executable or a process, and how it is watched
 * @list: in pguard_targets
 * @images: its images; pguard_images_lock
 * @nr_images: length of @images
 * @tenants: the users whose processes they are or were; pguard_images_lock
 * @nr_tenants: length of @tenants
 * @lock: held by who puts its probes on or off, guards it or removes it
 *	(target-lock.h); outside of pguard_control
 * @profile: what it is guarded by, or NULL; @lock and pguard_control for writing
 * @audit: what it goes by without that; referenced, its threshold changes under
 *	pguard_control
 * @probes: batches of its sites (probes.c); @lock and pguard_control for
 *	writing, one of them for reading
 * @nr_sites: how many they are; pguard_control
 * @connections: of its threads, with the requests that came by them; NULL until those are
 *	wanted; then it stays until no thread comes by any more
 * @cpu: CPU time that its processes used which have gone, ns; pguard_images_lock
 * @id: never used again
 * @calls: wait calls that are to be hooked for it (hook/hook.h); pguard_control
 * @flags: enum perfguard_target_flags; changes at any time, READ_ONCE
 * @pid: the process, where the target is one
 * @inode: real inode of the executable, pinned by @path; NULL for a process
 * @path: the executable as it was named; put by pguard_target_remove()
 * @scope: whose processes of @inode; does not change
 * @inline_refusal: why the sites of a process were not inlined, enum perfguard_inline_refusal, and
 * @inline_refused_pid: of the last one; READ_ONCE
 * @owner: number of the netlink socket that made it; 0 for none
 * @orphan: that socket is closed and the target goes with it; READ_ONCE
 * @going: its removal has begun; pguard_control
 * @dying: gets no new processes and threads, and is not in the list any more;
 *	set under pguard_control and pguard_images_lock
 * @leaving: states of threads on their way out of the hooked calls; then
 *	@list is in the list of targets that leave (target.c)
 */
struct pguard_target {
	struct list_head list;
	struct list_head images;
	struct list_head tenants;
	u32 nr_images;
	u32 nr_tenants;
	u32 id;
	struct mutex lock;
	struct pguard_profile __rcu *profile;
	struct pguard_profile *audit;
	struct list_head probes;
	u32 nr_sites;
	struct pguard_connection_table *connections;
	u64 cpu;
	u64 calls;
	u32 flags;
	u32 pid;
	struct inode *inode;
	struct path path;
	struct pguard_scope scope;
	u32 inline_refusal;
	u32 inline_refused_pid;
	u64 owner;
	bool orphan;
	bool going;
	bool dying;
	struct hlist_head leaving;
	/* private: */
	struct pguard_rate_limit wait_limit;
	atomic_t nr_processes;
	atomic_t nr_threads;
	atomic64_t units;
	atomic64_t waits;
	atomic64_t late;
	atomic64_t suppressed;
	atomic64_t report_ns;	/* that reports of late units took */
	atomic64_t report_left;	/* ns that they may still take, see PGUARD_REPORT_UNLIMITED */
	atomic64_t untracked;
	atomic64_t ended_threads;
	struct kref kref;
	struct rcu_head rcu;
};

/*
 * Serializes all that the user orders and asks: targets, loops, sites, hooks.
 * What takes long is done without it, under the target lock (target-lock.h); so it
 * is held for a grace period or two at most.
 */
extern struct mutex pguard_control;

/* Guards the targets' list and the images' lists; atomic contexts take it. */
extern spinlock_t pguard_images_lock;
extern struct list_head pguard_targets;

struct pguard_target *pguard_target_alloc(void);
void pguard_target_put(struct pguard_target *target);
struct pguard_target *pguard_target_match(const struct file *exe, struct task_struct *task);
u64 pguard_target_least(const struct pguard_target *target);
u64 pguard_targets_least(void);
void pguard_target_unsettle(struct pguard_target *target);
void pguard_targets_unsettle(u32 flags);

/* 0 if it has none. */
static inline u64 pguard_target_threshold(const struct pguard_target *target)
{
	return pguard_audit_threshold(target->audit);
}

/* Context: pguard_control or the target lock held, for as long as the profile is used. */
static inline struct pguard_profile *pguard_target_profile(const struct pguard_target *target)
{
	return rcu_dereference_protected(target->profile, lockdep_is_held(&pguard_control) ||
								  lockdep_is_held(&target->lock));
}

#endif /* _KMOD_TARGET_TARGET_H */
