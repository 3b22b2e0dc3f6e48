/* SPDX-License-Identifier: GPL-2.0 */
/* Guards are shed so that guarding a target keeps to its budget. */
#ifndef _KMOD_BUDGET_BUDGET_H
#define _KMOD_BUDGET_BUDGET_H

#include <linux/types.h>

struct pguard_prices;
struct pguard_profile;
struct pguard_target;

void pguard_spending_init(struct pguard_profile *profile, const struct pguard_prices *prices);
void pguard_spending_begin(struct pguard_target *target, struct pguard_profile *profile);
bool pguard_spending_look(struct pguard_target *target, struct pguard_profile *profile);

#endif /* _KMOD_BUDGET_BUDGET_H */
