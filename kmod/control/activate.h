/* SPDX-License-Identifier: GPL-2.0 */
/* Profiles are armed, and dropped with their socket, by order of the user. */
#ifndef _KMOD_CONTROL_ACTIVATE_H
#define _KMOD_CONTROL_ACTIVATE_H

#include "profile/profile.h"

#include <linux/types.h>

struct netlink_ext_ack;
struct pguard_target;

/**
 * struct pguard_activate_spec - which target is to be guarded
 * @target_id: one that @portid made; 0 for that of the profile's executable
 * @portid: netlink socket of the order
 * @budget_ppm: the budget, 0 for none
 * @model: by which it is kept
 */
struct pguard_activate_spec {
	u32 target_id;
	u32 portid;
	u32 budget_ppm;
	struct pguard_cost_model model;
};

void pguard_activate_begin(struct pguard_profile *profile);
int pguard_activate_arm(struct pguard_profile *profile, const struct pguard_activate_spec *spec,
			u32 *ret_target_id, u32 *ret_processes, struct netlink_ext_ack *extack);
void pguard_activate_disarm(struct pguard_target *target);
void pguard_activate_orphan(u32 portid);

void pguard_activate_deinit(void);

#endif /* _KMOD_CONTROL_ACTIVATE_H */
