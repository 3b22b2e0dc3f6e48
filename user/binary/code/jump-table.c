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

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "base/search.h"

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

uint32_t code_insn_from(const struct code_insn *insns, uint32_t nr, uint64_t addr)
{
	return addr ? search_addr(insns, nr, sizeof(*insns), addr - 1) : 0;
}

uint32_t code_insn_find(const struct code_insn *insns, uint32_t nr, uint64_t addr)
{
	uint32_t at = code_insn_from(insns, nr, addr);

	return at < nr && insns[at].addr == addr ? at : nr;
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

/* The nearest lea TABLE(%rip), @reg above. */
static bool find_base(const struct code_insn *insns, uint32_t at, x86_reg reg,
		      uint64_t *steps_left, uint64_t *ret)
{
	uint32_t stop = at > BASE_REACH ? at - BASE_REACH : 0;

	for (; at-- > stop && *steps_left; (*steps_left)--) {
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
			  uint64_t *steps_left, struct jump_table *ret)
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
		if (!find_base(insns, at, source->mem.base, steps_left, &ret->addr))
			return false;
		ret->addr += (uint64_t)source->mem.disp;
		ret->base = ret->addr;
		return true;
	}
	return false;
}

static bool find_form(const struct code_insn *insns, uint32_t at, uint64_t *steps_left,
		      struct jump_table *ret)
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
	return find_relative(insns, at, jump->reg, steps_left, ret);
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
	uint32_t bound, entry = 0, known = targets->nr;
	struct jump_table table;
	int ret = 1;

	if (!find_form(insns, at, targets->steps_left, &table))
		return 0;
	bound = find_bound(insns, at);
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
