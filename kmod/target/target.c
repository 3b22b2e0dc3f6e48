// SPDX-License-Identifier: GPL-2.0

#include "target/target.h"

#include "target/image.h"
#include "target/tenant.h"

#include <linux/fs.h>
#include <linux/slab.h>

DEFINE_MUTEX(pguard_control);
DEFINE_SPINLOCK(pguard_images_lock);
LIST_HEAD(pguard_targets);

static u32 next_target_id = 1;

/* A target that is not yet in the list, with one reference; or NULL.  Context: may sleep. */
struct pguard_target *pguard_target_alloc(void)
{
	struct pguard_target *target = kzalloc(sizeof(*target), GFP_KERNEL | __GFP_NOWARN);

	if (!target)
		return NULL;
	target->audit = pguard_audit_new(target);
	if (!target->audit) {
		kfree(target);
		return NULL;
	}
	kref_init(&target->kref);
	target->scope.uid = INVALID_UID;
	INIT_LIST_HEAD(&target->list);
	mutex_init(&target->lock);
	INIT_LIST_HEAD(&target->images);
	INIT_LIST_HEAD(&target->tenants);
	INIT_LIST_HEAD(&target->probes);
	atomic64_set(&target->report_left, PGUARD_REPORT_UNLIMITED);
	pguard_rate_limit_init(&target->wait_limit, PGUARD_WAITS_PER_SECOND, 1);
	spin_lock(&pguard_images_lock);
	target->id = next_target_id++;
	spin_unlock(&pguard_images_lock);
	return target;
}

static void target_free(struct kref *kref)
{
	struct pguard_target *target = container_of(kref, struct pguard_target, kref);

	pguard_profile_put(target->audit);
	pguard_tenant_put_all(target);
	pguard_scope_put(&target->scope);
	kfree_rcu(target, rcu);
}

/* Give a reference back; pguard_target_remove() put the path before.  Context: any. */
void pguard_target_put(struct pguard_target *target)
{
	kref_put(&target->kref, target_free);
}

/**
 * pguard_target_match() - the target a process that executes a file belongs to
 * @exe: the file
 * @task: of the process
 *
 * By inode of the lowest layer: all containers over one overlay share it.  Not where its
 * arguments decide, see newcomer.c.
 *
 * Context: atomic; pguard_images_lock held.
 */
struct pguard_target *pguard_target_match(const struct file *exe, struct task_struct *task)
{
	struct inode *inode = d_real_inode(exe->f_path.dentry);
	struct pguard_target *target;

	lockdep_assert_held(&pguard_images_lock);
	list_for_each_entry(target, &pguard_targets, list)
		if (target->inode && target->inode == inode && !target->dying &&
		    !target->scope.text && pguard_scope_has(&target->scope, task))
			return target;
	return NULL;
}

/* Before it no unit of a target is late, ns, or U64_MAX.  Context: any; RCU. */
u64 pguard_target_least(const struct pguard_target *target)
{
	const struct pguard_profile *profile = rcu_dereference(target->profile);
	u64 ret = pguard_target_threshold(target) - 1;

	if (profile)
		ret = min(ret, profile->least_limit - 1);
	return ret == U64_MAX ? ret : ret + 1;
}

/* The same of all targets.  Context: any; takes pguard_images_lock. */
u64 pguard_targets_least(void)
{
	const struct pguard_target *target;
	u64 ret = U64_MAX;

	spin_lock(&pguard_images_lock);
	rcu_read_lock();
	list_for_each_entry(target, &pguard_targets, list)
		ret = min(ret, pguard_target_least(target));
	rcu_read_unlock();
	spin_unlock(&pguard_images_lock);
	return ret;
}

/**
 * pguard_targets_unsettle() - let threads look again at what their places are
 * @flags: of whose targets; all of them must be set
 *
 * In its next hooked call each of them comes by the long way once, and sees
 * what is wanted of it.
 *
 * Context: may sleep; pguard_control held.
 */
void pguard_targets_unsettle(u32 flags)
{
	struct pguard_target *target;

	lockdep_assert_held(&pguard_control);
	list_for_each_entry(target, &pguard_targets, list)
		if ((READ_ONCE(target->flags) & flags) == flags)
			pguard_target_unsettle(target);
}

/* pguard_targets_unsettle() of one target. */
void pguard_target_unsettle(struct pguard_target *target)
{
	struct pguard_image *image;

	spin_lock(&pguard_images_lock);
	list_for_each_entry(image, &target->images, list) {
		/* Who sees it sees the flags, the stream and the profile as they are. */
		smp_store_release(&image->generation, image->generation + 1);
	}
	spin_unlock(&pguard_images_lock);
}
