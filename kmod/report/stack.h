/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copies of user stacks: registers, the bytes from the stack pointer to the
 * stack's end, and the executable mappings that some word of them points
 * into.  Unwound by userland.  How the stack of another thread is copied: capture.c;
 * how stacks wait for a record: stack-history.c.
 *
 * Those of one unit are a list, oldest first.  They differ little from each
 * other, so a later one has only its own part of the bytes, and the outer
 * frames are those of an earlier one in the list.
 *
 * No user memory is read in interrupt context.  A thread in user mode copies
 * its own stack, in task work; the stack of a thread in the kernel stands
 * still and is read from outside.
 */
#ifndef _KMOD_REPORT_STACK_H
#define _KMOD_REPORT_STACK_H

#include "lib/mapping.h"

#include <linux/futex.h>
#include <linux/llist.h>
#include <linux/ptrace.h>
#include <linux/types.h>
#include <asm/unistd.h>

#include <linux/perfguard.h>

struct pguard_alert_record;
struct pguard_thread;
struct pt_regs;
struct task_struct;

enum {
	PGUARD_STACK_MAX = 40 * 1024,	/* bytes copied of one stack */
	PGUARD_STACK_REGS = 17,		/* by DWARF number, rip last */
	PGUARD_STACK_REG_RSP = 7,
	PGUARD_STACK_REG_RIP = 16,
	PGUARD_MAX_STACKS = 16,		/* of a record */
};

/* Of a thread that is in no system call. */
#define PGUARD_NO_SYSCALL U32_MAX

/**
 * struct pguard_stack - a copy of a stack
 * @next: taken later, of the same unit, or NULL
 * @grave_node: on its way to be freed, with those behind it
 * @at_ns: CLOCK_MONOTONIC
 * @state: enum perfguard_stack_state
 * @tid: whose it is, if not the unit's own thread's; then it belongs to the
 *	stack before it, whose @holder that is
 * @syscall: the thread was in, or PGUARD_NO_SYSCALL
 * @holder: of the lock, or 0 if it is not known
 * @lock: address of the futex it waited for, or 0
 * @size: bytes copied
 * @full_size: bytes there were
 * @nr_own: bytes in @bytes; the others are the last ones of @outer
 * @room: bytes that @bytes has room for
 * @mappings: referenced; NULL for lack of memory, or if the map was locked
 * @outer: of the same thread, before it in the list, and all its bytes its own;
 *	NULL if all bytes are own
 */
struct pguard_stack {
	struct pguard_stack *next;
	struct llist_node grave_node;
	u64 at_ns;
	u64 regs[PGUARD_STACK_REGS];
	u32 state;
	u32 tid;
	u32 syscall;
	u32 holder;
	u64 lock;
	u32 full_size;
	u32 size;
	u32 nr_own;
	u32 room;
	struct pguard_mappings *mappings;
	const struct pguard_stack *outer;
	u8 bytes[];
};

struct pguard_stack *pguard_stack_self(struct pguard_thread *thread, const struct pt_regs *regs);
struct pguard_stack *pguard_stack_read(struct pguard_thread *thread);
struct pguard_stack *pguard_stack_pack(const struct pguard_stack *list,
				       struct pguard_stack **stacks, gfp_t gfp);
void pguard_stack_append(struct pguard_stack **list, struct pguard_stack *stack);
void pguard_stack_free(struct pguard_stack *list);
void pguard_stack_free_later(struct pguard_stack *list);
void pguard_stack_free_wait(void);
size_t pguard_stack_footprint(const struct pguard_stack *list);

/* Stacks given up because the thread moved on. */
extern atomic64_t pguard_capture_torn;

struct pguard_stack *pguard_capture_stack(struct pguard_thread *thread);

/* Returns true if a call of futex with these user registers is a wait. */
static __always_inline bool pguard_futex_waits(const struct pt_regs *regs)
{
	switch (regs->si & FUTEX_CMD_MASK) {
	case FUTEX_WAIT:
	case FUTEX_WAIT_BITSET:
	case FUTEX_WAIT_REQUEUE_PI:
	case FUTEX_LOCK_PI:
	case FUTEX_LOCK_PI2:
		return true;
	}
	return false;
}

/*
 * Returns true if such a wait is for a lock: what it expects there is a lock that is taken
 * and waited for.  That is 2 in the GNU C library and in Rust's, and has FUTEX_WAITERS
 * in musl and for locks with priority inheritance.
 */
static inline bool pguard_futex_locks(const struct pt_regs *regs)
{
	return (u32)regs->dx == 2 || regs->dx & FUTEX_WAITERS;
}

/* Returns true if it wakes who waits, and does nothing else. */
static inline bool pguard_futex_wakes(const struct pt_regs *regs)
{
	u32 operation = regs->si & FUTEX_CMD_MASK;

	return operation == FUTEX_WAKE || operation == FUTEX_WAKE_BITSET;
}

/* The futex that a thread with these user registers waits at, or 0. */
static inline u64 pguard_lock_holder_address(const struct pt_regs *regs)
{
	return regs->orig_ax == __NR_futex && pguard_futex_waits(regs) ? regs->di : 0;
}

u32 pguard_lock_holder(struct task_struct *task, const struct pt_regs *regs);

/* Stacks of late units that found no room. */
extern atomic64_t pguard_stack_history_refused;

struct pguard_lateness *pguard_stack_history_lateness(struct pguard_thread *thread);
void pguard_stack_history_add(struct pguard_thread *thread, u64 word, struct pguard_stack *stack);
void pguard_stack_history_take(struct pguard_thread *thread, u64 unit,
			       struct pguard_alert_record *record);
void pguard_stack_history_drop(struct pguard_thread *thread);

#endif /* _KMOD_REPORT_STACK_H */
