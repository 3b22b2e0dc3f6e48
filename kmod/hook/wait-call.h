/* SPDX-License-Identifier: GPL-2.0 */
/* What happens in a hooked wait call of a watched thread. */
#ifndef _KMOD_HOOK_WAIT_CALL_H
#define _KMOD_HOOK_WAIT_CALL_H

#include <linux/types.h>
#include <asm/ibt.h>

struct pguard_thread;
struct pt_regs;
struct task_struct;

/* By the stub in stub.S, and by direct jumps only; a context that may sleep. */
struct pguard_thread *__noendbr pguard_wait_enter(const struct pt_regs *regs,
						  const struct task_struct *task);
long __noendbr pguard_wait_leave(struct pguard_thread *thread, long ret);

/* By the kretprobe that serves where the stub has no room; atomic context. */
bool pguard_wait_enter_atomic(const struct pt_regs *regs);
void pguard_wait_leave_atomic(long ret);

#endif /* _KMOD_HOOK_WAIT_CALL_H */
