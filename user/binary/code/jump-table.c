// SPDX-License-Identifier: GPL-2.0
/*
 * The code that compilers emit for a switch:
 *
 *	cmp    $LAST, INDEX		mov from memory, or a narrower form
 *	ja     DEFAULT
 *	lea    TABLE(%rip), BASE	may be far above, out of a loop
 *	movslq (BASE,INDEX,4), X
 *	add    BASE, X
 *	jmp    *X
 *
 * and in programs that are not position independent:
 *
 *	jmp    *TABLE(,INDEX,8)		or a mov of it, and jmp *X
 *
 * The instructions in between are not followed: a table of the right form whose
 * entries are all instructions of the function is accepted.
 *
 * Capstone reads the operands of the few instructions before such a jump, no others.
 */

#include "binary/code/jump-table.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"

enum {
	REACH = 32, /* instructions before the jump */
	BASE_REACH = 4096,
	MAX_ENTRIES = 65536,
};

struct jump_table {
	uint64_t addr; /* of the table */
	uint64_t base; /* added to an entry */
	uint32_t entry_size; /* 4: signed offsets from base; 8: addresses, base is 0 */
};

struct jump_search {
	const struct functions *functions;
	const struct code_insn *insns;
	uint64_t *steps_left;
	uint32_t first; /* instruction of the window */
	uint32_t jump; /* index in the window, of its last one */
	struct insn window[REACH + 1];
};

uint32_t code_insn_from(const struct code_insn *insns, uint32_t nr, uint64_t addr)
{
	return (uint32_t)array_bisect(i, nr, insns[i].addr >= addr);
}

uint32_t code_insn_find(const struct code_insn *insns, uint32_t nr, uint64_t addr)
{
	uint32_t at = code_insn_from(insns, nr, addr);

	return at < nr && insns[at].addr == addr ? at : nr;
}

bool code_insn_decode(const struct functions *functions, const struct code_insn *at,
		      struct insn *ret)
{
	uint64_t offset;

	memset(ret, 0, sizeof(*ret));
	return file_view_offset(functions->view, at->addr, at->insn.size, &offset) &&
	       insn_decode(&functions->decoder, functions->view->bytes + offset, at->insn.size,
			   at->addr, ret);
}

/* Entry @entry: an address of the file, or 0. */
static uint64_t read_target(const struct functions *functions, const struct jump_table *table,
			    uint32_t entry)
{
	const uint8_t *at = file_view_at(functions->view,
					 table->addr + (uint64_t)entry * table->entry_size,
					 table->entry_size);
	uint64_t address;
	int32_t offset;

	if (!at)
		return 0;
	if (table->entry_size == 8) {
		memcpy(&address, at, sizeof(address));
		return address;
	}
	memcpy(&offset, at, sizeof(offset));
	return table->base + (uint64_t)(int64_t)offset;
}

/* TABLE(,INDEX,8) with a 32-bit address. */
static bool is_absolute(const cs_x86_op *op)
{
	return op->type == X86_OP_MEM && op->mem.base == X86_REG_INVALID &&
	       op->mem.index != X86_REG_INVALID && op->mem.scale == 8;
}

static bool writes_reg(const struct insn *insn, unsigned int id, x86_reg reg)
{
	return insn->id == id && insn->ops[0].type == X86_OP_REG && insn->ops[0].reg == reg;
}

static bool is_lea_of_table(const struct scan *insn)
{
	return insn->encoding.map == SCAN_MAP_ONE && insn->encoding.opcode == 0x8d &&
	       insn->encoding.is_rip_relative;
}

/* The nearest lea TABLE(%rip), @reg above instruction @at. */
static bool find_base(const struct jump_search *search, uint32_t at, x86_reg reg, uint64_t *ret)
{
	uint32_t stop = at > BASE_REACH ? at - BASE_REACH : 0;

	for (; at-- > stop && *search->steps_left; (*search->steps_left)--) {
		const struct code_insn *lea = &search->insns[at];
		struct insn insn;

		if (!is_lea_of_table(&lea->insn) ||
		    !code_insn_decode(search->functions, lea, &insn) ||
		    !writes_reg(&insn, X86_INS_LEA, reg))
			continue;
		*ret = insn.address;
		return true;
	}
	return false;
}

/* movslq (BASE,INDEX,4), X with add BASE, X behind it, just above the jump to @reg. */
static bool find_relative(const struct jump_search *search, x86_reg reg, struct jump_table *ret)
{
	x86_reg added = X86_REG_INVALID;

	for (uint32_t at = search->jump; at-- > 0;) {
		const struct insn *insn = &search->window[at];
		const cs_x86_op *source = &insn->ops[1];

		if (writes_reg(insn, X86_INS_ADD, reg) && source->type == X86_OP_REG)
			added = source->reg;
		if (insn->id != X86_INS_MOVSXD || source->type != X86_OP_MEM ||
		    source->mem.scale != 4 || added == X86_REG_INVALID)
			continue;
		/* add X, BASE and jmp *BASE are the same */
		if (insn->ops[0].reg != reg && insn->ops[0].reg != added)
			continue;
		ret->entry_size = 4;
		if (!find_base(search, search->first + at, source->mem.base, &ret->addr))
			return false;
		ret->addr += (uint64_t)source->mem.disp;
		ret->base = ret->addr;
		return true;
	}
	return false;
}

static bool find_form(const struct jump_search *search, struct jump_table *ret)
{
	const cs_x86_op *jump = &search->window[search->jump].ops[0];

	*ret = (struct jump_table){ .entry_size = 8 };
	if (is_absolute(jump)) {
		ret->addr = (uint64_t)jump->mem.disp;
		return true;
	}
	if (jump->type != X86_OP_REG)
		return false;
	for (uint32_t at = search->jump; at-- > 0;) {
		const struct insn *insn = &search->window[at];

		if (!writes_reg(insn, X86_INS_MOV, jump->reg))
			continue;
		if (!is_absolute(&insn->ops[1]))
			break;
		ret->addr = (uint64_t)insn->ops[1].mem.disp;
		return true;
	}
	return find_relative(search, jump->reg, ret);
}

/* ja or jbe, just behind @at. */
static bool has_check(const struct jump_search *search, uint32_t at)
{
	enum { NEAR = 3 };

	for (uint32_t i = at + 1; i < search->jump && i <= at + NEAR; i++)
		if (search->window[i].flow == INSN_BRANCH)
			return search->window[i].id == X86_INS_JA ||
			       search->window[i].id == X86_INS_JBE;
	return false;
}

/* The number of entries by the nearest such check; MAX_ENTRIES without one. */
static uint32_t find_bound(const struct jump_search *search)
{
	for (uint32_t at = search->jump; at-- > 0;) {
		const struct insn *insn = &search->window[at];
		const cs_x86_op *last = &insn->ops[1];

		if (insn->id == X86_INS_CMP && last->type == X86_OP_IMM && last->imm >= 0 &&
		    last->imm < MAX_ENTRIES && has_check(search, at))
			return (uint32_t)last->imm + 1;
	}
	return MAX_ENTRIES;
}

/* Of the jump at @at, and the number of its entries at most. */
static bool find_table(struct jump_search *search, uint32_t at, struct jump_table *ret,
		       uint32_t *ret_bound)
{
	struct insn jump;

	/* most others go through a pointer */
	if (!code_insn_decode(search->functions, &search->insns[at], &jump) ||
	    (jump.ops[0].type != X86_OP_REG && !is_absolute(&jump.ops[0])))
		return false;
	search->jump = at < REACH ? at : REACH;
	if (*search->steps_left < search->jump)
		return false;
	*search->steps_left -= search->jump;
	search->first = at - search->jump;
	search->window[search->jump] = jump;
	for (uint32_t i = 0; i < search->jump; i++)
		code_insn_decode(search->functions, &search->insns[search->first + i],
				 &search->window[i]);
	if (!find_form(search, ret))
		return false;
	*ret_bound = find_bound(search);
	return true;
}

/* Returns false behind the last entry. */
static int read_entry(struct jump_targets *targets, const struct functions *functions,
		      const struct code_insn *insns, uint32_t nr, uint64_t target, bool is_bounded)
{
	uint32_t at = code_insn_find(insns, nr, target);

	if (at == nr) /* an unreachable case may lie in a part that was not joined */
		return is_bounded && functions_find(functions, target);
	if (array_grow(targets->entries, targets->nr, targets->max))
		return -ENOMEM;
	targets->entries[targets->nr++] = at;
	return true;
}

int jump_targets_read(struct jump_targets *targets, const struct functions *functions,
		      const struct code_insn *insns, uint32_t nr, uint32_t at)
{
	struct jump_search search = {
		.functions = functions, .insns = insns, .steps_left = targets->steps_left,
	};
	uint32_t bound, entry = 0, known = targets->nr;
	struct jump_table table;
	int ret = 1;

	if (!find_table(&search, at, &table, &bound))
		return 0;
	while (ret > 0 && entry < bound) {
		if (!*targets->steps_left || !targets->nr_left) {
			targets->nr_left = 0; /* skip the next ones, too */
			targets->nr = known;
			return 0;
		}
		(*targets->steps_left)--;
		targets->nr_left--;
		ret = read_entry(targets, functions, insns, nr,
				 read_target(functions, &table, entry), bound < MAX_ENTRIES);
		entry += ret > 0;
	}
	if (ret >= 0 && entry < 2)
		targets->nr = known;
	return ret < 0 ? ret : entry > 1;
}

uint64_t jump_targets_steps(uint64_t nr_insns)
{
	enum { PER_INSN = 8, AT_LEAST = 1 << 18 }; /* a whole server takes 0.5 for each */

	return PER_INSN * nr_insns + AT_LEAST;
}
