/* SPDX-License-Identifier: GPL-2.0 */
/* Guards of an armed profile are taken off for a time, and put on again. */
#ifndef _KMOD_BUDGET_SHED_H
#define _KMOD_BUDGET_SHED_H

#include <linux/types.h>

struct pguard_guard;
struct pguard_profile;
struct pguard_target;

void pguard_shed_guard(struct pguard_target *target, struct pguard_profile *profile, u32 i);
bool pguard_shed_is_over(const struct pguard_guard *guard);
bool pguard_shed_restore(struct pguard_target *target, struct pguard_profile *profile, u32 i);

#endif /* _KMOD_BUDGET_SHED_H */
