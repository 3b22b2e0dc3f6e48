/* SPDX-License-Identifier: GPL-2.0 */
/* Targets that are gone except for threads that sleep where nothing wakes them. */
#ifndef _KMOD_CONTROL_REAPER_H
#define _KMOD_CONTROL_REAPER_H

struct pguard_target;

int pguard_reaper_wait(struct pguard_target *target);
void pguard_reaper_deinit(void);

#endif /* _KMOD_CONTROL_REAPER_H */
