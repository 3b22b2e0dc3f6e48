/* SPDX-License-Identifier: GPL-2.0 */
/* Getting the threads of a target out of the hooked calls. */
#ifndef _KMOD_HOOK_DRAIN_H
#define _KMOD_HOOK_DRAIN_H

#include <linux/types.h>

struct pguard_target;

void pguard_drain(struct pguard_target *target);
void pguard_drain_kick(struct pguard_target *target);
bool pguard_drain_is_done(struct pguard_target *target);

bool pguard_drain_woke(void);

void pguard_drain_deinit(void);

#endif /* _KMOD_HOOK_DRAIN_H */
