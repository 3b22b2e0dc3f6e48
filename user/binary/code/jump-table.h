/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The targets of indirect jumps: jump tables of switch statements.
 */
#ifndef _USER_BINARY_CODE_JUMP_TABLE_H
#define _USER_BINARY_CODE_JUMP_TABLE_H

#include "binary/code/functions.h"
#include "binary/code/insn.h"

/* An instruction of a function, in an array that is sorted by address. */
struct code_insn {
	uint64_t addr;
	struct insn insn;
};

struct jump_table {
	uint64_t addr; /* of the table */
	uint64_t base; /* added to an entry */
	uint32_t nr; /* entries */
	uint32_t entry_size; /* 4: signed offsets from base; 8: addresses, base is 0 */
};

/*
 * The table of the indirect jump insns[@at].  Returns false if the code is not
 * one of the forms that compilers make, or the table is not valid.
 */
bool jump_table_find(const struct functions *functions, const struct code_insn *insns,
		     uint32_t nr, uint32_t at, struct jump_table *ret);

/* Entry @entry, less than nr: an address of the file. */
uint64_t jump_table_target(const struct functions *functions, const struct jump_table *table,
			   uint32_t entry);

/* The index of the first instruction at or behind @addr, or @nr. */
uint32_t code_insn_from(const struct code_insn *insns, uint32_t nr, uint64_t addr);

/* The index of the instruction at @addr, or @nr. */
uint32_t code_insn_find(const struct code_insn *insns, uint32_t nr, uint64_t addr);

#endif /* _USER_BINARY_CODE_JUMP_TABLE_H */
