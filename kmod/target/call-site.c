// SPDX-License-Identifier: GPL-2.0

#include "target/call-site.h"

#include "compat.h"
#include "target/image.h"

#include <linux/rculist.h>
#include <linux/slab.h>

struct pguard_spot pguard_nowhere;

/* Is it the spot of a finding?  Context: any; a reference, or RCU. */
bool pguard_spot_is(const struct pguard_spot *spot, const struct pguard_finding *finding)
{
	const struct pguard_finding *is = &spot->is;

	return is->ip == finding->ip && is->syscall == finding->syscall &&
	       is->distance == finding->distance &&
	       is->rise == finding->rise && is->return_address == finding->return_address &&
	       is->course == finding->course && is->generation == finding->generation &&
	       is->fit == finding->fit && is->role == finding->role;
}

/* With a reference.  Caller holds RCU or the lock. */
static struct pguard_spot *find(struct pguard_image *image, const struct pguard_finding *finding)
{
	struct pguard_spot *spot;

	list_for_each_entry_rcu(spot, &image->spots, list, lockdep_is_held(&image->spots_lock))
		if (pguard_spot_is(spot, finding) && refcount_inc_not_zero(&spot->refs))
			return spot;
	return NULL;
}

/* Add it, unless another thread has done so just now; then it is freed. */
static struct pguard_spot *add(struct pguard_image *image, struct pguard_spot *spot)
{
	struct pguard_spot *other;

	spin_lock(&image->spots_lock);
	other = find(image, &spot->is);
	if (!other)
		list_add_rcu(&spot->list, &image->spots);
	spin_unlock(&image->spots_lock);
	if (!other)
		return spot;
	kfree(spot);
	return other;
}

/**
 * pguard_spot_get() - the spot of a finding
 * @image: that the thread is of
 * @finding: is copied
 * @gfp: as the caller's context allows
 *
 * Context: any but interrupts.
 * Return: the spot, to be given to pguard_spot_put(); NULL for want of memory.
 */
struct pguard_spot *pguard_spot_get(struct pguard_image *image,
				    const struct pguard_finding *finding, gfp_t gfp)
{
	struct pguard_spot *spot;

	rcu_read_lock();
	spot = find(image, finding);
	rcu_read_unlock();
	if (spot)
		return spot;
	spot = kmalloc(sizeof(*spot), gfp | __GFP_NOWARN);
	if (!spot)
		return NULL;
	spot->is = *finding;
	refcount_set(&spot->refs, 1);
	return add(image, spot);
}

/**
 * pguard_spot_put() - give a reference back
 * @image: the same as there
 * @spot: or pguard_nowhere
 *
 * Context: any but interrupts.
 */
void pguard_spot_put(struct pguard_image *image, struct pguard_spot *spot)
{
	if (spot == &pguard_nowhere || !refcount_dec_and_lock(&spot->refs, &image->spots_lock))
		return;
	list_del_rcu(&spot->list);
	spin_unlock(&image->spots_lock);
	kfree_rcu(spot, rcu);
}
