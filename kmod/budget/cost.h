/* SPDX-License-Identifier: GPL-2.0 */
/* What guarding a target takes of its time. */
#ifndef _KMOD_BUDGET_COST_H
#define _KMOD_BUDGET_COST_H

#include <linux/types.h>

struct pguard_cost;
struct pguard_guard;
struct pguard_guard_sums;
struct pguard_profile;
struct pguard_target;

u64 pguard_cost_hits(const struct pguard_profile *profile, const struct pguard_guard *guard,
		     const struct pguard_guard_sums *sums);
void pguard_cost_sum(const struct pguard_target *target, const struct pguard_profile *profile,
		     struct pguard_cost *ret);
void pguard_cost_between(const struct pguard_cost *from, const struct pguard_cost *to,
			 struct pguard_cost *ret);

#endif /* _KMOD_BUDGET_COST_H */
