/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The hooks on the wait calls, and on those that write messages: where they are, and putting
 * them on and off; what happens in a hooked call of a watched thread (wait-call.c); getting
 * threads out of them (drain.c); threads that sleep there when they are hooked (arrival.c); and
 * how processes and threads come and go (lifecycle.c).
 */
#ifndef _KMOD_HOOK_HOOK_H
#define _KMOD_HOOK_HOOK_H

#include <linux/limits.h>
#include <linux/types.h>
#include <asm/ibt.h>

struct pguard_target;
struct pguard_thread;
struct pt_regs;
struct task_struct;

/**
 * struct pguard_hook_info - what there is to report about one hook
 * @syscall: number of the wait call
 * @name: its name
 * @direct: by direct call; else a kretprobe serves
 * @missed: waits the kretprobe could not follow
 */
struct pguard_hook_info {
	u32 syscall;
	const char *name;
	bool direct;
	u64 missed;
};

/* What there are bits of the table for. */
enum pguard_hook_kind {
	PGUARD_HOOK_WAITS,	/* all calls in which event loops wait */
	PGUARD_HOOK_MESSAGES,	/* all by which connections are accepted, read and written */
};

u64 pguard_hook_calls(u32 syscall);
u64 pguard_hook_all(enum pguard_hook_kind kind);
int pguard_hook_attach(u64 calls);
void pguard_hook_release(u64 needed);
bool pguard_hook_alive(void);
bool pguard_hook_has(u32 syscall);
bool pguard_hook_next(u32 *position, struct pguard_hook_info *ret);
int pguard_hook_init(void);

/* What hooked functions call, in stub.S: of waits, and of those that only write. */
void pguard_hook_stub(void);
void pguard_write_stub(void);

/* By the stub in stub.S, and by direct jumps only; a context that may sleep. */
struct pguard_thread *__noendbr pguard_wait_enter(const struct pt_regs *regs,
						  const struct task_struct *task);
long __noendbr pguard_wait_leave(struct pguard_thread *thread, long ret);

void __noendbr pguard_write_enter(const struct pt_regs *regs, const struct task_struct *task);

/* By the kretprobe that serves where the stub has no room; atomic context. */
bool pguard_wait_enter_atomic(const struct pt_regs *regs);
void pguard_wait_leave_atomic(long ret);

/* For threads whose entry into a hooked call was not seen. */
bool pguard_wait_may_end(const struct pt_regs *regs);
void pguard_wait_return(struct pguard_thread *thread, const struct pt_regs *regs);
void pguard_arrivals_expect(struct pguard_target *target);

void pguard_drain(struct pguard_target *target);
int pguard_drain_wait(struct pguard_target *target);
bool pguard_drain_woke(void);
void pguard_drain_leave(struct pguard_thread *thread);
void pguard_drain_deinit(void);

int pguard_lifecycle_start(void);
void pguard_lifecycle_stop(void);
void pguard_lifecycle_deinit(void);

#endif /* _KMOD_HOOK_HOOK_H */
