// SPDX-License-Identifier: GPL-2.0

#include "target/call-site.h"

#include "lib/charge.h"
#include "target/image.h"

#include <linux/rculist.h>
#include <linux/slab.h>

struct pguard_call_site pguard_nowhere;

/* Returns true if it is the call site of these facts.  Context: any; a reference, or RCU. */
bool pguard_call_site_is(const struct pguard_call_site *call_site,
			 const struct pguard_call_site_info *finding)
{
	const struct pguard_call_site_info *is = &call_site->is;

	return is->ip == finding->ip && is->syscall == finding->syscall &&
	       is->distance == finding->distance && is->rise == finding->rise &&
	       is->return_address == finding->return_address && is->loop == finding->loop &&
	       is->generation == finding->generation && is->fit == finding->fit &&
	       is->role == finding->role && is->follow == finding->follow;
}

/* With a reference.  Caller holds RCU or the lock. */
static struct pguard_call_site *find(struct pguard_image *image,
				     const struct pguard_call_site_info *finding)
{
	struct pguard_call_site *call_site;

	list_for_each_entry_rcu(call_site, &image->call_sites, list,
				lockdep_is_held(&image->call_sites_lock))
		if (pguard_call_site_is(call_site, finding) &&
		    refcount_inc_not_zero(&call_site->refs))
			return call_site;
	return NULL;
}

/* Add it, unless another thread has done so just now; then it is freed. */
static struct pguard_call_site *add(struct pguard_image *image, struct pguard_call_site *call_site)
{
	struct pguard_call_site *other;

	spin_lock(&image->call_sites_lock);
	other = find(image, &call_site->is);
	if (!other)
		list_add_rcu(&call_site->list, &image->call_sites);
	spin_unlock(&image->call_sites_lock);
	if (!other)
		return call_site;
	kfree(call_site);
	return other;
}

/**
 * pguard_call_site_get() - the call site of a finding
 * @image: that the thread is of
 * @finding: is copied
 * @gfp: as the caller's context allows
 *
 * Context: any but interrupts.
 * Return: the call site, to be given to pguard_call_site_put(); NULL for lack of memory.
 */
struct pguard_call_site *pguard_call_site_get(struct pguard_image *image,
					      const struct pguard_call_site_info *finding,
					      gfp_t gfp)
{
	struct pguard_call_site *call_site;

	rcu_read_lock();
	call_site = find(image, finding);
	rcu_read_unlock();
	if (call_site)
		return call_site;
	call_site = kmalloc(sizeof(*call_site), gfp | PGUARD_GFP_CHARGED);
	if (!call_site)
		return NULL;
	call_site->is = *finding;
	refcount_set(&call_site->refs, 1);
	return add(image, call_site);
}

/**
 * pguard_call_site_put() - give a reference back
 * @image: the same as there
 * @call_site: or pguard_nowhere
 *
 * Context: any but interrupts.
 */
void pguard_call_site_put(struct pguard_image *image, struct pguard_call_site *call_site)
{
	if (call_site == &pguard_nowhere ||
	    !refcount_dec_and_lock(&call_site->refs, &image->call_sites_lock))
		return;
	list_del_rcu(&call_site->list);
	spin_unlock(&image->call_sites_lock);
	kfree_rcu(call_site, rcu);
}
