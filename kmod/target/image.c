// SPDX-License-Identifier: GPL-2.0

#include "target/image.h"

#include "compat.h"

#include <linux/slab.h>

static struct workqueue_struct *image_wq;
static u32 next_image_id = 1;

/**
 * pguard_image_get() - the image with this key, made if it is new
 *
 * Context: atomic; pguard_images_lock held.
 * Return: the image with a reference for the caller, or NULL for want of
 * memory or room.
 */
struct pguard_image *pguard_image_get(struct pguard_target *target,
				      const struct pguard_image_key *key)
{
	struct pguard_image *image;

	lockdep_assert_held(&pguard_images_lock);
	list_for_each_entry(image, &target->images, list)
		if (image->key.code == key->code && image->key.stack == key->stack &&
		    kref_get_unless_zero(&image->kref))
			return image;

	if (target->nr_images >= PGUARD_MAX_IMAGES)
		return NULL;
	image = kzalloc(sizeof(*image), GFP_NOWAIT | __GFP_NOWARN);
	if (!image)
		return NULL;
	kref_init(&image->kref);
	INIT_LIST_HEAD(&image->loops);
	spin_lock_init(&image->spots_lock);
	INIT_LIST_HEAD(&image->spots);
	image->key = *key;
	image->id = next_image_id++;
	image->target = target;
	kref_get(&target->kref);
	list_add_tail(&image->list, &target->images);
	target->nr_images++;
	return image;
}

/**
 * pguard_image_find() - the image with this id
 *
 * Context: any; takes pguard_images_lock.
 * Return: the image with a reference for the caller, or NULL.
 */
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

static void loop_free(struct pguard_loop *loop)
{
	if (loop)
		free_percpu(loop->sums);
	kfree(loop);
}

static void image_free(struct work_struct *work)
{
	struct pguard_image *image =
		container_of(to_rcu_work(work), struct pguard_image, work);
	struct pguard_loop *loop, *next;

	list_for_each_entry_safe(loop, next, &image->loops, list)
		loop_free(loop);
	kfree(rcu_access_pointer(image->contexts));
	pguard_target_put(image->target);
	kfree(image);
}

static void image_release(struct kref *kref)
{
	struct pguard_image *image = container_of(kref, struct pguard_image, kref);

	spin_lock(&pguard_images_lock);
	list_del(&image->list);
	image->target->nr_images--;
	spin_unlock(&pguard_images_lock);
	INIT_RCU_WORK(&image->work, image_free);
	queue_rcu_work(image_wq, &image->work);
}

/**
 * pguard_image_put() - give a reference back
 *
 * Context: any but with pguard_images_lock held; freed later, from a work.
 */
void pguard_image_put(struct pguard_image *image)
{
	kref_put(&image->kref, image_release);
}

static struct pguard_loop *loop_find(struct pguard_image *image, u32 id)
{
	struct pguard_loop *loop, *ret = NULL;

	/* They go with the image, which the caller holds. */
	rcu_read_lock();
	list_for_each_entry_rcu(loop, &image->loops, list)
		if (loop->id == id)
			ret = loop;
	rcu_read_unlock();
	return ret;
}

static struct pguard_loop *loop_alloc(u32 id, gfp_t gfp)
{
	struct pguard_loop *loop = kzalloc(sizeof(*loop), gfp | __GFP_NOWARN);

	if (!loop)
		return NULL;
	loop->id = id;
	loop->sums = alloc_percpu_gfp(struct pguard_loop_sums, gfp | __GFP_NOWARN);
	if (loop->sums)
		return loop;
	kfree(loop);
	return NULL;
}

/**
 * pguard_loop_new() - the loop with this id, made if it is new
 * @image: its image, held by the caller
 * @id: its number in the image
 * @gfp: as the caller's context allows
 *
 * Orders make loops, and threads that come into an event loop of a profile.
 *
 * Context: any that @gfp allows; takes pguard_images_lock.
 * Return: the loop, owned by the image, or NULL for want of memory or room.
 */
struct pguard_loop *pguard_loop_new(struct pguard_image *image, u32 id, gfp_t gfp)
{
	struct pguard_loop *loop = loop_find(image, id), *other;

	if (loop)
		return loop;
	loop = loop_alloc(id, gfp);
	if (!loop)
		return NULL;
	spin_lock(&pguard_images_lock);
	other = loop_find(image, id);
	if (!other && image->nr_loops < PGUARD_MAX_LOOPS) {
		loop->within = pguard_target_limit_ticks(image->target->limit_ns);
		list_add_tail_rcu(&loop->list, &image->loops);
		image->nr_loops++;
		other = loop;
		loop = NULL;
	}
	spin_unlock(&pguard_images_lock);
	loop_free(loop);
	return other;
}

/**
 * pguard_image_set_contexts() - replace the wait contexts
 * @image: the image
 * @contexts: what comes; taken over
 *
 * Threads notice by the generation, which is raised after the table is in
 * place: whoever sees the new generation sees the new table.
 *
 * Context: may sleep; serialized by the caller (pguard_control).
 */
void pguard_image_set_contexts(struct pguard_image *image,
			       struct pguard_contexts *contexts)
{
	struct pguard_contexts *old;

	old = rcu_replace_pointer(image->contexts, contexts, true);
	/* Pairs with the load in place_classify(). */
	smp_store_release(&image->generation, image->generation + 1);
	if (old)
		kfree_rcu(old, rcu);
}

int __init pguard_image_init(void)
{
	image_wq = alloc_workqueue("perfguard_image", 0, 0);
	return image_wq ? 0 : -ENOMEM;
}

/* Every target is gone; what is left are works on their way. */
void pguard_image_deinit(void)
{
	rcu_barrier();
	destroy_workqueue(image_wq);
	rcu_barrier();
}
