/* SPDX-License-Identifier: GPL-2.0 */
/* What happens when a thread comes by a guard of its target's profile. */
#ifndef _PGUARD_GUARD_H
#define _PGUARD_GUARD_H

#include <linux/types.h>

struct pguard_site;
struct pt_regs;

bool pguard_guard_hit(struct pguard_site *site, const struct pt_regs *regs);

#endif /* _PGUARD_GUARD_H */
