/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What is loaded of a profile before it is armed: the arrays as they come,
 * unchecked but for their sizes.
 */
#ifndef _KMOD_PROFILE_STAGING_H
#define _KMOD_PROFILE_STAGING_H

#include <linux/types.h>

struct netlink_ext_ack;

enum {
	PGUARD_MAX_COURSES = 32,	/* of a profile */
	PGUARD_MAX_BOUNDARIES = 1024,
};

enum pguard_draft_kind {
	PGUARD_DRAFT_COURSES,
	PGUARD_DRAFT_BOUNDARIES,
	PGUARD_DRAFT_GUARDS,
	PGUARD_DRAFT_TYPES,
	PGUARD_DRAFT_CONTEXTS,
	PGUARD_DRAFT_WEIGHTS,
	PGUARD_DRAFT_KINDS,
};

/* An array that grows; @nr of @room items are there. */
struct pguard_draft_array {
	void *items;
	u32 nr;
	u32 room;
};

/* One of each kind; pguard_control. */
struct pguard_draft {
	struct pguard_draft_array arrays[PGUARD_DRAFT_KINDS];
};

struct pguard_draft *pguard_draft_new(void);
void pguard_draft_free(struct pguard_draft *draft);
int pguard_draft_append(struct pguard_draft *draft, enum pguard_draft_kind kind,
			const void *items, size_t size, struct netlink_ext_ack *extack);
void pguard_draft_cut(struct pguard_draft *draft, const u32 nr[PGUARD_DRAFT_KINDS]);
size_t pguard_draft_bytes(const struct pguard_draft *draft);

#endif /* _KMOD_PROFILE_STAGING_H */
