/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The control flow of one function with its cold parts: basic blocks, and the
 * natural loops among them.
 */
#ifndef _USER_BINARY_CODE_CFG_H
#define _USER_BINARY_CODE_CFG_H

#include <stdbool.h>
#include <stdint.h>

#include "binary/code/dominators.h"
#include "binary/code/functions.h"
#include "binary/code/jump-table.h"

struct cfg_block {
	uint64_t addr; /* of the file */
	uint32_t size; /* bytes */
	uint32_t first_insn;
	uint32_t nr_insns;
};

struct cfg {
	struct code_insn *insns; /* by rising address */
	struct cfg_block *blocks; /* by rising address */
	uint32_t *first; /* struct graph's, of the blocks */
	uint32_t *successors;
	struct dominators dominators; /* of blocks */
	uint32_t nr_insns;
	uint32_t nr_blocks;
	uint32_t entry; /* block; GRAPH_NONE if the function does not begin with code */
	uint32_t nr_tables; /* indirect jumps that are a switch */
	/* Other jumps through registers: tail calls, or hidden loops. */
	uint32_t nr_unresolved;
};

/* Returns 0 or -ENOMEM. */
int cfg_init(struct cfg *cfg, const struct functions *functions, const struct function *function);
void cfg_deinit(struct cfg *cfg);

/*
 * Mark in @functions the targets of jump tables near their starts.
 * Returns 0 or -ENOMEM.
 */
int cfg_note_tables(struct functions *functions);

/* The block that @addr lies in, or GRAPH_NONE. */
uint32_t cfg_find(const struct cfg *cfg, uint64_t addr);

#endif /* _USER_BINARY_CODE_CFG_H */
