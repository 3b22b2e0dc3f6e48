/* SPDX-License-Identifier: GPL-2.0 */
/* Targets that are gone but for threads that sleep where nothing wakes them. */
#ifndef _PGUARD_LEAVING_H
#define _PGUARD_LEAVING_H

struct pguard_target;

int pguard_leaving_wait(struct pguard_target *target);
void pguard_leaving_deinit(void);

#endif /* _PGUARD_LEAVING_H */
