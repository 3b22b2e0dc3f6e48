/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A thread's stack as it was copied at one moment: registers, the bytes from
 * the stack pointer upwards, and the executable mappings its words point into.
 * Plain data: whoever fills it in owns it, slice_clear() frees what it holds.
 */
#ifndef _USER_DATA_STACK_COPY_H
#define _USER_DATA_STACK_COPY_H

#include <stddef.h>
#include <stdint.h>

/* Index into slice.regs, by DWARF register number (x86-64 psABI). */
enum slice_reg {
	SLICE_REG_RSP = 7,
	SLICE_REG_RIP = 16,
	SLICE_NR_REGS = 17,
};

#define SLICE_NO_SYSCALL UINT32_MAX
/* Each word of a page that was not in memory. */
#define SLICE_MISSING UINT64_MAX

/* One executable mapping of the process; path is NULL without a file. */
struct mapping {
	uint64_t start;
	uint64_t end;
	uint64_t offset; /* in the file, bytes */
	uint64_t inode;
	uint32_t dev;
	char *path;
};

struct slice {
	uint64_t at_ns; /* CLOCK_MONOTONIC */
	uint32_t state; /* enum perfguard_stack_state */
	uint32_t tid; /* whose stack it is; 0: the thread's it was taken for */
	uint32_t syscall; /* the thread was in; SLICE_NO_SYSCALL for none */
	uint64_t lock; /* address of the futex it waited for; 0: none */
	uint32_t holder; /* thread that holds this lock; 0: not known */
	uint32_t full_size; /* bytes up to the stack's end; > size if cut */
	uint64_t regs[SLICE_NR_REGS];
	uint32_t unknown_regs; /* bit mask over regs; the module knows them all */
	uint8_t *bytes; /* from regs[SLICE_REG_RSP] upwards */
	uint32_t size;
	uint32_t nr_mappings;
	struct mapping *mappings;
};

void slice_clear(struct slice *slice);

/* The mapping that covers @address, the slice's own; NULL if none does. */
const struct mapping *slice_mapping(const struct slice *slice, uint64_t address);

#endif /* _USER_DATA_STACK_COPY_H */
