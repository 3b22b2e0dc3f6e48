/* SPDX-License-Identifier: GPL-2.0 */
/* Takes guards off for a time that take too much. */
#ifndef _KMOD_BUDGET_GOVERNOR_H
#define _KMOD_BUDGET_GOVERNOR_H

void pguard_governor_start(void);
void pguard_governor_deinit(void);

#endif /* _KMOD_BUDGET_GOVERNOR_H */
