/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Audits: what a target goes by that has no profile.
 *
 * An audit is a profile with one type and no guards.  The type's threshold, which may
 * change at any time, is the target's.  Its event loops are those of each image of the
 * target (image.h): copies of the one that it has, with sums of their own.
 */
#ifndef _KMOD_PROFILE_AUDIT_PROFILE_H
#define _KMOD_PROFILE_AUDIT_PROFILE_H

#include <linux/types.h>

struct pguard_audit_sums;
struct pguard_loop;
struct pguard_profile;
struct pguard_target;

struct pguard_profile *pguard_audit_new(struct pguard_target *target);
u64 pguard_audit_threshold(const struct pguard_profile *audit);
void pguard_audit_set_threshold(struct pguard_profile *audit, u64 threshold_ns);

int pguard_audit_loop_init(const struct pguard_profile *audit, struct pguard_loop *loop, u32 id);
void pguard_audit_loop_deinit(struct pguard_loop *loop);
void pguard_audit_sum(const struct pguard_loop *loop, struct pguard_audit_sums *ret);

#endif /* _KMOD_PROFILE_AUDIT_PROFILE_H */
