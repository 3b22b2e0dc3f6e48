/* SPDX-License-Identifier: GPL-2.0 */
/* What a guarded thread tells of its unit while it runs, and of one that fits no type. */
#ifndef _KMOD_UNIT_LATE_UNIT_H
#define _KMOD_UNIT_LATE_UNIT_H

#include <linux/types.h>

struct pguard_account;
struct pguard_task;
struct pt_regs;

bool pguard_alert_novel(struct pguard_task *state, u64 word,
			const struct pguard_account *account);
void pguard_alert_late(struct pguard_task *state, const struct pt_regs *regs, u64 elapsed);

#endif /* _KMOD_UNIT_LATE_UNIT_H */
