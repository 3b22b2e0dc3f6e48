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
 */

#include "binary/code/jump-table.h"

#include <string.h>

#include "base/search.h"

enum {
	REACH = 32, /* instructions before the jump */
	BASE_REACH = 4096,
	MAX_ENTRIES = 65536,
};

uint32_t code_insn_from(const struct code_insn *insns, uint32_t nr, uint64_t addr)
{
	return addr ? search_addr(insns, nr, sizeof(*insns), addr - 1) : 0;
}

uint32_t code_insn_find(const struct code_insn *insns, uint32_t nr, uint64_t addr)
{
	uint32_t at = code_insn_from(insns, nr, addr);

	return at < nr && insns[at].addr == addr ? at : nr;
}

uint64_t jump_table_target(const struct functions *functions, const struct jump_table *table,
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

/* The nearest lea TABLE(%rip), @reg above. */
static bool find_base(const struct code_insn *insns, uint32_t at, x86_reg reg, uint64_t *ret)
{
	uint32_t stop = at > BASE_REACH ? at - BASE_REACH : 0;

	while (at-- > stop) {
		const struct insn *insn = &insns[at].insn;

		if (!writes_reg(insn, X86_INS_LEA, reg) || !insn->is_rip_relative)
			continue;
		*ret = insn->address;
		return true;
	}
	return false;
}

/* movslq (BASE,INDEX,4), X with add BASE, X behind it, just above @at. */
static bool find_relative(const struct code_insn *insns, uint32_t at, x86_reg reg,
			  struct jump_table *ret)
{
	uint32_t stop = at > REACH ? at - REACH : 0;
	x86_reg added = X86_REG_INVALID;

	while (at-- > stop) {
		const struct insn *insn = &insns[at].insn;
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
		if (!find_base(insns, at, source->mem.base, &ret->addr))
			return false;
		ret->addr += (uint64_t)source->mem.disp;
		ret->base = ret->addr;
		return true;
	}
	return false;
}

static bool find_form(const struct code_insn *insns, uint32_t at, struct jump_table *ret)
{
	const cs_x86_op *jump = &insns[at].insn.ops[0];
	uint32_t stop = at > REACH ? at - REACH : 0;

	*ret = (struct jump_table){ .entry_size = 8 };
	if (is_absolute(jump)) {
		ret->addr = (uint64_t)jump->mem.disp;
		return true;
	}
	if (jump->type != X86_OP_REG)
		return false;
	for (uint32_t i = at; i-- > stop;) {
		const struct insn *insn = &insns[i].insn;

		if (!writes_reg(insn, X86_INS_MOV, jump->reg))
			continue;
		if (!is_absolute(&insn->ops[1]))
			break;
		ret->addr = (uint64_t)insn->ops[1].mem.disp;
		return true;
	}
	return find_relative(insns, at, jump->reg, ret);
}

/* ja or jbe, just behind @at. */
static bool has_check(const struct code_insn *insns, uint32_t at, uint32_t end)
{
	enum { NEAR = 3 };

	for (uint32_t i = at + 1; i < end && i <= at + NEAR; i++)
		if (insns[i].insn.flow == INSN_BRANCH)
			return insns[i].insn.id == X86_INS_JA || insns[i].insn.id == X86_INS_JBE;
	return false;
}

/* The number of entries by the nearest such check; MAX_ENTRIES without one. */
static uint32_t find_bound(const struct code_insn *insns, uint32_t at)
{
	uint32_t stop = at > REACH ? at - REACH : 0, jump = at;

	while (at-- > stop) {
		const struct insn *insn = &insns[at].insn;
		const cs_x86_op *last = &insn->ops[1];

		if (insn->id == X86_INS_CMP && last->type == X86_OP_IMM && last->imm >= 0 &&
		    last->imm < MAX_ENTRIES && has_check(insns, at, jump))
			return (uint32_t)last->imm + 1;
	}
	return MAX_ENTRIES;
}

/* The number of entries, up to @bound, that are instructions of the function. */
static uint32_t count_entries(const struct functions *functions, const struct code_insn *insns,
			      uint32_t nr, const struct jump_table *table, uint32_t bound)
{
	uint32_t entry;

	for (entry = 0; entry < bound; entry++) {
		uint64_t target = jump_table_target(functions, table, entry);

		if (code_insn_find(insns, nr, target) < nr)
			continue;
		/* an unreachable case may lie in a part that was not joined */
		if (bound == MAX_ENTRIES || !functions_find(functions, target))
			break;
	}
	return entry;
}

bool jump_table_find(const struct functions *functions, const struct code_insn *insns,
		     uint32_t nr, uint32_t at, struct jump_table *ret)
{
	if (!find_form(insns, at, ret))
		return false;
	ret->nr = count_entries(functions, insns, nr, ret, find_bound(insns, at));
	return ret->nr > 1;
}
