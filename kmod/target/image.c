// SPDX-License-Identifier: GPL-2.0

#include "target/image.h"

#include "lib/charge.h"
#include "target/tenant.h"

#include <linux/cred.h>
#include <linux/slab.h>

static u32 next_image_id = 1;

/* Charged, like all that follows for its processes, to the memory cgroup of @mm. */
static struct pguard_image *image_alloc(struct mm_struct *mm)
{
	struct mem_cgroup *memcg = get_mem_cgroup_from_mm(mm);
	struct pguard_image *image = pguard_zalloc_charged(memcg, sizeof(*image));

	if (image)
		image->memcg = memcg;
	else
		mem_cgroup_put(memcg);
	return image;
}

/**
 * pguard_image_get() - the image of a process, made if it is new
 * @target: its target
 * @task: of the process; its memory stays
 *
 * Context: atomic; pguard_images_lock held.
 * Return: the image with a reference for the caller, or NULL for lack of
 * memory or room.
 */
struct pguard_image *pguard_image_get(struct pguard_target *target, struct task_struct *task)
{
	const struct pguard_image_key key = { .code = task->mm->start_code,
					      .stack = task->mm->start_stack };
	struct pguard_tenant *tenant;
	struct pguard_image *image;

	lockdep_assert_held(&pguard_images_lock);
	list_for_each_entry(image, &target->images, list)
		if (image->key.code == key.code && image->key.stack == key.stack &&
		    kref_get_unless_zero(&image->kref))
			return image;

	tenant = pguard_tenant_of(target, task_uid(task));
	if (!tenant ||
	    !pguard_tenant_may_take(tenant->nr_images, target->nr_images, PGUARD_MAX_IMAGES))
		return NULL;
	image = image_alloc(task->mm);
	if (!image)
		return NULL;
	kref_init(&image->kref);
	INIT_LIST_HEAD(&image->loops);
	spin_lock_init(&image->call_sites_lock);
	INIT_LIST_HEAD(&image->call_sites);
	image->key = key;
	image->id = next_image_id++;
	image->target = target;
	image->tenant = tenant;
	kref_get(&target->kref);
	list_add_tail(&image->list, &target->images);
	target->nr_images++;
	tenant->nr_images++;
	return image;
}

/* The image with this id, with a reference, or NULL.  Context: any; takes pguard_images_lock. */
struct pguard_image *pguard_image_find(u32 id)
{
	struct pguard_image *image, *ret = NULL;
	struct pguard_target *target;

	spin_lock(&pguard_images_lock);
	list_for_each_entry(target, &pguard_targets, list)
		list_for_each_entry(image, &target->images, list)
			if (image->id == id && kref_get_unless_zero(&image->kref))
				ret = image;
	spin_unlock(&pguard_images_lock);
	return ret;
}

static void image_free(struct work_struct *work)
{
	struct pguard_image *image =
		container_of(to_rcu_work(work), struct pguard_image, work);
	struct pguard_image_loop *loop, *next;

	list_for_each_entry_safe(loop, next, &image->loops, list) {
		free_percpu(loop->loop.audit);
		kfree(loop);
	}
	pguard_wait_sites_put(rcu_access_pointer(image->sites));
	pguard_target_put(image->target);
	mem_cgroup_put(image->memcg);
	kfree(image);
}

static void image_release(struct kref *kref)
{
	struct pguard_image *image = container_of(kref, struct pguard_image, kref);

	spin_lock(&pguard_images_lock);
	list_del(&image->list);
	image->target->nr_images--;
	image->tenant->nr_images--;
	spin_unlock(&pguard_images_lock);
	INIT_RCU_WORK(&image->work, image_free);
	queue_rcu_work(pguard_free_wq, &image->work);
}

/* Give a reference back; or NULL.  Context: any but with pguard_images_lock held. */
void pguard_image_put(struct pguard_image *image)
{
	if (image)
		kref_put(&image->kref, image_release);
}

static struct pguard_image_loop *image_loop_alloc(const struct pguard_image *image, u32 id)
{
	struct mem_cgroup *old = set_active_memcg(image->memcg);
	struct pguard_image_loop *loop = kzalloc(sizeof(*loop), GFP_KERNEL | PGUARD_GFP_CHARGED);

	if (loop && pguard_audit_loop_init(image->target->audit, &loop->loop, id)) {
		kfree(loop);
		loop = NULL;
	}
	set_active_memcg(old);
	return loop;
}

/**
 * pguard_image_loop_new() - the loop with this id, made if it is new
 * @image: its image, held by the caller
 * @id: its number in the image
 *
 * Context: may sleep; pguard_control held.
 * Return: the loop, owned by the image, or NULL for lack of memory or room.
 */
struct pguard_image_loop *pguard_image_loop_new(struct pguard_image *image, u32 id)
{
	struct pguard_image_loop *loop;

	list_for_each_entry(loop, &image->loops, list)
		if (loop->loop.id == id)
			return loop;
	if (image->nr_loops == PGUARD_MAX_LOOPS)
		return NULL;
	loop = image_loop_alloc(image, id);
	if (!loop)
		return NULL;
	list_add_tail(&loop->list, &image->loops);
	image->nr_loops++;
	return loop;
}

/**
 * pguard_image_set_sites() - replace the wait sites of the loops that are audited
 * @image: the image
 * @sites: what comes; takes ownership of the caller's reference
 *
 * Threads notice by the generation, which is raised after the table is in
 * place: whoever sees the new generation sees the new table.
 *
 * Context: may sleep; serialized by the caller (pguard_control).
 */
void pguard_image_set_sites(struct pguard_image *image, struct pguard_wait_sites *sites)
{
	sites = rcu_replace_pointer(image->sites, sites, true);
	/* Pairs with the load in place_settle(). */
	smp_store_release(&image->generation, image->generation + 1);
	pguard_wait_sites_put(sites);
}
