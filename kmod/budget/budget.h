/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Guards are shed so that guarding a target keeps to its budget, or else to its
 * plan: the account (cost.c), the rule (budget.c), how a guard goes and comes back
 * (shed.c), and the worker that applies the rule (governor.c).
 */
#ifndef _KMOD_BUDGET_BUDGET_H
#define _KMOD_BUDGET_BUDGET_H

#include <linux/types.h>

struct pguard_cost;
struct pguard_cost_model;
struct pguard_guard;
struct pguard_guard_sums;
struct pguard_profile;
struct pguard_target;

void pguard_budget_init(struct pguard_profile *profile, u32 ppm,
			const struct pguard_cost_model *model);
void pguard_budget_begin(struct pguard_target *target, struct pguard_profile *profile);
bool pguard_budget_apply(struct pguard_target *target, struct pguard_profile *profile);

u64 pguard_cost_hits(const struct pguard_profile *profile, const struct pguard_guard *guard,
		     const struct pguard_guard_sums *sums);
void pguard_cost_sum(const struct pguard_target *target, const struct pguard_profile *profile,
		     struct pguard_cost *ret);
void pguard_cost_between(const struct pguard_cost *from, const struct pguard_cost *to,
			 struct pguard_cost *ret);

void pguard_shed_guard(struct pguard_profile *profile, u32 i);
bool pguard_shed_is_over(const struct pguard_guard *guard);
bool pguard_shed_restore(struct pguard_profile *profile, u32 i);

void pguard_governor_start(void);
void pguard_governor_deinit(void);

#endif /* _KMOD_BUDGET_BUDGET_H */
