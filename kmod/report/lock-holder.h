/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What lock a thread waits for, and who holds it.
 *
 * The kernel only knows the address of a futex.  That it is a lock, and whose,
 * is said by the words there, as the C libraries lay them out.
 */
#ifndef _KMOD_REPORT_LOCK_HOLDER_H
#define _KMOD_REPORT_LOCK_HOLDER_H

#include <linux/types.h>

struct pt_regs;
struct task_struct;

u64 pguard_lock_holder_address(const struct pt_regs *regs);
u32 pguard_lock_holder(struct task_struct *task, const struct pt_regs *regs);

#endif /* _KMOD_REPORT_LOCK_HOLDER_H */
