/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What is loaded of a profile before it is armed: the arrays as they come,
 * unchecked except for their sizes.
 */
#ifndef _KMOD_PROFILE_STAGING_H
#define _KMOD_PROFILE_STAGING_H

#include <linux/types.h>

struct netlink_ext_ack;
struct pguard_profile;

enum {
	PGUARD_MAX_PROFILE_LOOPS = 32, /* of a profile */
	PGUARD_MAX_BOUNDARIES = 1024,
};

enum pguard_staging_kind {
	PGUARD_STAGING_LOOPS,
	PGUARD_STAGING_BOUNDARIES,
	PGUARD_STAGING_GUARDS,
	PGUARD_STAGING_TYPES,
	PGUARD_STAGING_CONTEXTS,
	PGUARD_STAGING_WEIGHTS,
	PGUARD_STAGING_KINDS,
};

/* An array that grows; @nr of @room items are there. */
struct pguard_staging_array {
	void *items;
	u32 nr;
	u32 room;
};

/* One of each kind; pguard_control. */
struct pguard_staging {
	struct pguard_staging_array arrays[PGUARD_STAGING_KINDS];
};

void pguard_staging_free(struct pguard_staging *staging);
int pguard_staging_append(struct pguard_staging *staging, enum pguard_staging_kind kind,
			  const void *items, size_t size, struct netlink_ext_ack *extack);
size_t pguard_staging_bytes(const struct pguard_staging *staging);

int pguard_tables_make(struct pguard_profile *profile, struct netlink_ext_ack *extack);

#endif /* _KMOD_PROFILE_STAGING_H */
