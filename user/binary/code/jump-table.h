/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The targets of indirect jumps: jump tables of switch statements.
 */
#ifndef _USER_BINARY_CODE_JUMP_TABLE_H
#define _USER_BINARY_CODE_JUMP_TABLE_H

#include "binary/code/functions.h"
#include "binary/code/insn.h"
#include "binary/code/scan.h"

/* An instruction of a function, in an array that is sorted by address. */
struct code_insn {
	uint64_t addr;
	struct scan insn;
};

/*
 * The targets of the tables of a function, indices of its instructions.  Files can
 * change while they are read, so each entry is read once.
 */
struct jump_targets {
	uint32_t *entries;
	size_t max;
	uint32_t nr;
	uint32_t nr_left; /* entries that may still be read for this function */
	uint64_t *steps_left; /* of the search in the whole file */
};

/*
 * Add the targets of the table of the indirect jump insns[@at].  Returns 1; 0 if
 * the code is not one of the forms that compilers make, the table is not valid, or
 * too many were read before; or -ENOMEM.
 */
int jump_targets_read(struct jump_targets *targets, const struct functions *functions,
		      const struct code_insn *insns, uint32_t nr, uint32_t at);

/* What the search may take in a file with @nr_insns instructions. */
uint64_t jump_targets_steps(uint64_t nr_insns);

/* The index of the first instruction at or behind @addr, or @nr. */
uint32_t code_insn_from(const struct code_insn *insns, uint32_t nr, uint64_t addr);

/* The index of the instruction at @addr, or @nr. */
uint32_t code_insn_find(const struct code_insn *insns, uint32_t nr, uint64_t addr);

/* Its operands; returns false without any if Capstone does not know it. */
bool code_insn_decode(const struct functions *functions, const struct code_insn *at,
		      struct insn *ret);

#endif /* _USER_BINARY_CODE_JUMP_TABLE_H */
