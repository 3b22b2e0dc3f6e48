// SPDX-License-Identifier: GPL-2.0
/*
 * What compilers make of a switch:
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
 * The instructions in between are not followed: what looks right and has only
 * entries that are instructions of the function is taken for the table.
 */

#include "table.h"

#include <string.h>

enum {
	REACH = 32, /* instructions before the jump */
	BASE_REACH = 4096,
	MAX_ENTRIES = 65536,
	RIP_BASE = 5,
};

uint32_t code_insn_find(const struct code_insn *insns, uint32_t nr, uint64_t addr)
{
	uint32_t low = 0, high = nr;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (insns[mid].addr < addr)
			low = mid + 1;
		else
			high = mid;
	}
	return low < nr && insns[low].addr == addr ? low : nr;
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

static unsigned int sib_index(const struct insn *insn)
{
	return (insn->sib >> 3 & 7) | (insn->rex & INSN_REX_X ? 8 : 0);
}

static unsigned int sib_base(const struct insn *insn)
{
	return (insn->sib & 7) | (insn->rex & INSN_REX_B ? 8 : 0);
}

static bool is_one_byte(const struct insn *insn, uint8_t opcode)
{
	return insn->map == INSN_MAP_ONE && insn->opcode == opcode;
}

/* TABLE(,INDEX,8) with a 32-bit address. */
static bool is_absolute(const struct insn *insn)
{
	return insn->has_sib && insn_mod(insn) == 0 && (insn->sib & 7) == RIP_BASE &&
	       insn->sib >> 6 == 3 && sib_index(insn) != 4;
}

/* The nearest lea TABLE(%rip), @reg above. */
static bool find_base(const struct code_insn *insns, uint32_t at, unsigned int reg, uint64_t *ret)
{
	uint32_t stop = at > BASE_REACH ? at - BASE_REACH : 0;

	while (at-- > stop) {
		const struct insn *insn = &insns[at].insn;

		if (!is_one_byte(insn, 0x8d) || !insn_is_rip_relative(insn) ||
		    insn_reg(insn) != reg)
			continue;
		*ret = insns[at].addr + insn->size + (uint64_t)(int64_t)insn->disp;
		return true;
	}
	return false;
}

/* movslq (BASE,INDEX,4), X with add BASE, X behind it, just above @at. */
static bool find_relative(const struct code_insn *insns, uint32_t at, unsigned int reg,
			  struct jump_table *ret)
{
	uint32_t stop = at > REACH ? at - REACH : 0;
	unsigned int added = 16;

	while (at-- > stop) {
		const struct insn *insn = &insns[at].insn;

		if (is_one_byte(insn, 0x01) && insn_mod(insn) == 3 && insn_rm(insn) == reg)
			added = insn_reg(insn);
		else if (is_one_byte(insn, 0x03) && insn_mod(insn) == 3 && insn_reg(insn) == reg)
			added = insn_rm(insn);
		if (!is_one_byte(insn, 0x63) || !insn->has_sib || insn->sib >> 6 != 2)
			continue;
		/* add X, BASE and jmp *BASE are the same */
		if (added == 16 || (insn_reg(insn) != reg && insn_reg(insn) != added))
			continue;
		ret->entry_size = 4;
		if (!find_base(insns, at, sib_base(insn), &ret->addr))
			return false;
		ret->addr += insn_mod(insn) ? (uint64_t)(int64_t)insn->disp : 0;
		ret->base = ret->addr;
		return true;
	}
	return false;
}

static bool find_form(const struct code_insn *insns, uint32_t at, struct jump_table *ret)
{
	const struct insn *jump = &insns[at].insn;
	uint32_t stop = at > REACH ? at - REACH : 0;

	*ret = (struct jump_table){ .entry_size = 8 };
	if (is_absolute(jump)) {
		ret->addr = (uint64_t)(int64_t)jump->disp;
		return true;
	}
	if (insn_mod(jump) != 3)
		return false;
	for (uint32_t i = at; i-- > stop;) {
		const struct insn *insn = &insns[i].insn;

		if (!is_one_byte(insn, 0x8b) || insn_reg(insn) != insn_rm(jump))
			continue;
		if (!is_absolute(insn))
			break;
		ret->addr = (uint64_t)(int64_t)insn->disp;
		return true;
	}
	return find_relative(insns, at, insn_rm(jump), ret);
}

static bool is_compare(const struct insn *insn)
{
	return (insn->map == INSN_MAP_ONE && insn->opcode >= 0x80 && insn->opcode <= 0x83 &&
		(insn->modrm >> 3 & 7) == 7) ||
	       is_one_byte(insn, 0x3c) || is_one_byte(insn, 0x3d);
}

/* ja or jbe, just behind @at. */
static bool has_check(const struct code_insn *insns, uint32_t at, uint32_t end)
{
	enum { NEAR = 3 };

	for (uint32_t i = at + 1; i < end && i <= at + NEAR; i++)
		if (insns[i].insn.flow == INSN_BRANCH)
			return (insns[i].insn.opcode & 0xe) == 6;
	return false;
}

/* The number of entries, by the nearest such check; or no bound. */
static uint32_t find_bound(const struct code_insn *insns, uint32_t at)
{
	uint32_t stop = at > REACH ? at - REACH : 0, jump = at;

	while (at-- > stop) {
		const struct insn *insn = &insns[at].insn;

		if (is_compare(insn) && has_check(insns, at, jump) && insn->imm >= 0 &&
		    insn->imm < MAX_ENTRIES)
			return (uint32_t)insn->imm + 1;
	}
	return MAX_ENTRIES;
}

/* How many entries, up to @bound, are places in the function. */
static uint32_t count_entries(const struct functions *functions, const struct code_insn *insns,
			      uint32_t nr, const struct jump_table *table, uint32_t bound)
{
	uint32_t entry;

	for (entry = 0; entry < bound; entry++) {
		uint64_t target = jump_table_target(functions, table, entry);

		if (code_insn_find(insns, nr, target) < nr)
			continue;
		/* a case that is not to be: it can be in a part that is not joined */
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
