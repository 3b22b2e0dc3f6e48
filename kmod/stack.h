/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copies of user stacks: registers, the bytes from the stack pointer to the
 * stack's end, and the executable mappings that some word of them points
 * into.  Unwound by userland.
 *
 * No user memory is read in interrupt context.  A thread in user mode copies
 * its own stack, in task work; the stack of a thread in the kernel stands
 * still and is read from outside.
 */
#ifndef _PGUARD_STACK_H
#define _PGUARD_STACK_H

#include <linux/types.h>

#include <linux/perfguard.h>

struct pguard_task;
struct pt_regs;

enum {
	PGUARD_STACK_MAX = 40 * 1024,	/* bytes copied of one stack */
	PGUARD_STACK_REGS = 17,		/* by DWARF number, rip last */
	PGUARD_STACK_REG_RSP = 7,
	PGUARD_STACK_REG_RIP = 16,
	PGUARD_STACK_MAPPINGS = 512,	/* looked at in one process */
};

struct pguard_mapping {
	u64 start;
	u64 end;
	u64 offset;
	u64 inode;
	u32 dev;
	char *path;	/* NULL without a file */
};

struct pguard_stack {
	u64 at_ns;	/* CLOCK_MONOTONIC */
	u64 regs[PGUARD_STACK_REGS];
	u32 state;	/* enum perfguard_stack_state */
	u32 full_size;
	u32 size;
	u32 nr_mappings;
	struct pguard_mapping *mappings;
	u8 bytes[];
};

struct pguard_stack *pguard_stack_self(const struct pt_regs *regs);
struct pguard_stack *pguard_stack_read(struct pguard_task *state);
void pguard_stack_free(struct pguard_stack *stack);
size_t pguard_stack_footprint(const struct pguard_stack *stack);

#endif /* _PGUARD_STACK_H */
