/* SPDX-License-Identifier: GPL-2.0 */
/* Targets come and go, by order of the user. */
#ifndef _KMOD_CONTROL_TARGET_REQUEST_H
#define _KMOD_CONTROL_TARGET_REQUEST_H

#include <linux/types.h>

struct file;
struct netlink_ext_ack;
struct pguard_profile;
struct pguard_target;

/* What is wanted of a new target: @exe or @pid. */
struct pguard_target_spec {
	struct file *exe;
	u32 pid;
	u32 flags;
	u64 threshold_ns;
	u32 portid;
};

int pguard_target_make_room(const struct pguard_target_spec *spec);
int pguard_target_new(const struct pguard_target_spec *spec, struct pguard_target **ret,
		      struct netlink_ext_ack *extack);
struct pguard_target *pguard_target_find(u32 id);
struct pguard_profile *pguard_target_unguard(struct pguard_target *target);
int pguard_target_remove(struct pguard_target *target);
int pguard_target_del(u32 id, struct netlink_ext_ack *extack);
void pguard_target_orphan(u32 portid);

void pguard_target_deinit(void);

#endif /* _KMOD_CONTROL_TARGET_REQUEST_H */
