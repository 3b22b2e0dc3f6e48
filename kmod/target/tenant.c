// SPDX-License-Identifier: GPL-2.0

#include "target/tenant.h"

#include "target/target.h"

#include <linux/slab.h>

static struct pguard_tenant *tenant_find(const struct pguard_target *target, kuid_t uid)
{
	struct pguard_tenant *tenant;

	list_for_each_entry(tenant, &target->tenants, list)
		if (uid_eq(tenant->uid, uid))
			return tenant;
	return NULL;
}

/* Not charged to anybody: they are few, and stay when the user has gone. */
static struct pguard_tenant *tenant_new(struct pguard_target *target, kuid_t uid)
{
	struct pguard_tenant *tenant = kzalloc(sizeof(*tenant), GFP_NOWAIT | __GFP_NOWARN);

	if (!tenant)
		return NULL;
	kref_init(&tenant->kref);
	tenant->uid = uid;
	pguard_rate_limit_init(&tenant->alert_limit, PGUARD_ALERTS_PER_SECOND, 1);
	pguard_rate_limit_init(&tenant->least_limit, PGUARD_LEAST_ALERTS, 4);
	pguard_rate_limit_init(&tenant->novel_limit, PGUARD_NOVEL_PER_SECOND, 1);
	pguard_rate_limit_init(&tenant->request_limit, PGUARD_REQUESTS_PER_SECOND, 1);
	INIT_LIST_HEAD(&tenant->sharing);
	INIT_LIST_HEAD(&tenant->records);
	list_add_tail(&tenant->list, &target->tenants);
	target->nr_tenants++;
	return tenant;
}

/**
 * pguard_tenant_of() - the tenant of a target that a user is, made if it is new
 *
 * Context: atomic; pguard_images_lock held.
 * Return: the tenant, which stays as long as the target; NULL for lack of memory.
 */
struct pguard_tenant *pguard_tenant_of(struct pguard_target *target, kuid_t uid)
{
	struct pguard_tenant *tenant;

	lockdep_assert_held(&pguard_images_lock);
	tenant = tenant_find(target, uid);
	if (!tenant && target->nr_tenants >= PGUARD_MAX_TENANTS) {
		uid = INVALID_UID;
		tenant = tenant_find(target, uid);
	}
	return tenant ?: tenant_new(target, uid);
}

static void tenant_free(struct kref *kref)
{
	kfree(container_of(kref, struct pguard_tenant, kref));
}

/* Give a reference back; or NULL.  Context: any. */
void pguard_tenant_put(struct pguard_tenant *tenant)
{
	if (tenant)
		kref_put(&tenant->kref, tenant_free);
}

/* The target goes: it has no images any more.  Context: any. */
void pguard_tenant_put_all(struct pguard_target *target)
{
	struct pguard_tenant *tenant, *next;

	list_for_each_entry_safe(tenant, next, &target->tenants, list) {
		WRITE_ONCE(tenant->has_gone, true);
		pguard_tenant_put(tenant);
	}
}
