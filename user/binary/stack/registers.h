/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The registers of one frame, some of them unknown, and the stack copy they
 * were saved on.
 */
#ifndef _USER_BINARY_STACK_REGISTERS_H
#define _USER_BINARY_STACK_REGISTERS_H

#include <stdbool.h>
#include <stdint.h>

#include "data/stack-copy.h"

/* Indexed by DWARF register number, like slice.regs. */
struct registers {
	uint64_t values[SLICE_NR_REGS];
	uint32_t known; /* bit mask of those whose value is known */
};

static inline bool registers_get(const struct registers *registers, uint64_t reg, uint64_t *ret)
{
	if (reg >= SLICE_NR_REGS || !(registers->known & 1u << reg))
		return false;
	*ret = registers->values[reg];
	return true;
}

static inline void registers_set(struct registers *registers, unsigned int reg, uint64_t value)
{
	registers->values[reg] = value;
	registers->known |= 1u << reg;
}

/* The word at @addr of the stack; false if the copy lacks it. */
bool stack_word(const struct slice *slice, uint64_t addr, uint64_t *ret);

#endif /* _USER_BINARY_STACK_REGISTERS_H */
