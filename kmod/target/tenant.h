/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tenants: the users whose processes a target watches, and their shares.
 *
 * All who execute a file belong to its target.  So that none of them can use up what
 * the others need, each has limits of its own for the rate of alerts, a share of the ring
 * that keeps them (report/alert-record.c), and may take images and threads as long as it
 * has fewer of them than are free.  A process belongs to the user that executed its file;
 * those that it forks stay with it, whatever user they become.
 *
 * Lifetime: a tenant is held by its target, which keeps it until it goes, so that nobody
 * gets new tokens by executing again; and by the alert records about its units.
 */
#ifndef _KMOD_TARGET_TENANT_H
#define _KMOD_TARGET_TENANT_H

#include "lib/rate-limit.h"

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/uidgid.h>

struct pguard_target;

enum {
	/* Of a target, with limits of their own; the users after them share one tenant. */
	PGUARD_MAX_TENANTS = 32,
	PGUARD_ALERTS_PER_SECOND = 64,
	/* So many each four seconds are in any budget. */
	PGUARD_LEAST_ALERTS = 16,
	PGUARD_NOVEL_PER_SECOND = 2,
	PGUARD_REQUESTS_PER_SECOND = 16,
};

/**
 * struct pguard_tenant - a user of a target
 * @list: in target->tenants; pguard_images_lock
 * @uid: the user; INVALID_UID for all who found no room
 * @nr_images: pguard_images_lock
 * @nr_threads: that have a state
 * @alert_limit: of alerts
 * @least_limit: of those that the budget's share does not allow
 * @novel_limit: of those about units that fit no type
 * @request_limit: of those about requests
 * @has_gone: with its target; READ_ONCE
 * @sharing: in the ring's list of tenants while that keeps a record; the ring's lock
 * @records: those, oldest first; the same
 * @bytes: memory they take; the same
 */
struct pguard_tenant {
	struct list_head list;
	kuid_t uid;
	u32 nr_images;
	atomic_t nr_threads;
	struct pguard_rate_limit alert_limit;
	struct pguard_rate_limit least_limit;
	struct pguard_rate_limit novel_limit;
	struct pguard_rate_limit request_limit;
	bool has_gone;
	struct list_head sharing;
	struct list_head records;
	size_t bytes;
	/* private: */
	struct kref kref;
};

/*
 * May a tenant that has @nr of something take one more, where @nr_all of at most @max are
 * taken?  Then one alone gets half, and leaves as much for who comes.
 */
static inline bool pguard_tenant_may_take(u32 nr, u32 nr_all, u32 max)
{
	return nr_all < max && nr < max - nr_all;
}

/* A reference to a tenant that stays meanwhile.  Context: any. */
static inline struct pguard_tenant *pguard_tenant_get(struct pguard_tenant *tenant)
{
	kref_get(&tenant->kref);
	return tenant;
}

struct pguard_tenant *pguard_tenant_of(struct pguard_target *target, kuid_t uid);
void pguard_tenant_put(struct pguard_tenant *tenant);
void pguard_tenant_put_all(struct pguard_target *target);

#endif /* _KMOD_TARGET_TENANT_H */
