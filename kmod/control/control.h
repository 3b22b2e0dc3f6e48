/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Targets come and go, and profiles are armed, by order of the user (target-request.c,
 * activate.c), or with the socket of the order (orphan.c); what is hooked for them (hold.c),
 * and what their units are timed with (clock-watch.c).
 */
#ifndef _KMOD_CONTROL_CONTROL_H
#define _KMOD_CONTROL_CONTROL_H

#include "profile/profile.h"
#include "target/scope.h"

#include <linux/types.h>

struct file;
struct netlink_ext_ack;
struct pguard_target;

/* What is wanted of a new target: @exe, in a scope, or @pid; @calls as in hold.c. */
struct pguard_target_spec {
	struct file *exe;
	struct pguard_scope scope;	/* the caller's reference */
	u64 calls;
	u32 pid;
	u32 flags;
	u64 threshold_ns;
	u64 owner;
};

int pguard_target_make_room(const struct pguard_target_spec *spec);
int pguard_target_new(const struct pguard_target_spec *spec, struct pguard_target **ret,
		      struct netlink_ext_ack *extack);
struct pguard_target *pguard_target_find(u32 id);
struct pguard_target *pguard_target_find_exe(const struct file *exe,
					     const struct pguard_scope *scope);
struct pguard_profile *pguard_target_unguard(struct pguard_target *target);
int pguard_target_remove(struct pguard_target *target);
int pguard_target_del(u32 id, struct netlink_ext_ack *extack);
void pguard_target_deinit(void);

/**
 * struct pguard_activate_spec - which target is to be guarded
 * @target_id: one that @owner made; 0 for that of the profile's executable
 * @scope: of that executable's processes; the caller's reference
 * @owner: number of the netlink socket of the request
 * @is_cancelled: set when nobody waits for the result any more; READ_ONCE
 * @budget_ppm: the budget, 0 for none
 * @model: by which it is kept
 */
struct pguard_activate_spec {
	u64 owner;
	const bool *is_cancelled;
	u32 target_id;
	struct pguard_scope scope;
	u32 budget_ppm;
	struct pguard_cost_model model;
};

int pguard_activate_arm(struct pguard_profile *profile, const struct pguard_activate_spec *spec,
			u32 *ret_target_id, u32 *ret_processes, struct netlink_ext_ack *extack);

u64 pguard_hold_calls(const struct pguard_profile *profile);
int pguard_hold_update(void);
int pguard_hold_connections(struct pguard_target *target, u32 flags);
int pguard_hold_set(struct pguard_target *target, u64 calls);
int pguard_hold_set_flags(struct pguard_target *target, u32 flags);

void pguard_orphan_add(u64 owner);
void pguard_orphan_deinit(void);

void pguard_clock_watch_start(void);
void pguard_clock_watch_deinit(void);

#endif /* _KMOD_CONTROL_CONTROL_H */
