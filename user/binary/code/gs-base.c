// SPDX-License-Identifier: GPL-2.0

#include "binary/code/gs-base.h"

#include "binary/code/functions.h"
#include "binary/code/scan.h"
#include "binary/file/elf.h"

/* wrgsbase: ModRM has a register. */
static bool sets_base(const struct scan_encoding *encoding)
{
	return encoding->map == SCAN_MAP_0F && encoding->opcode == 0xae &&
	       encoding->prefixes & SCAN_REP && (encoding->modrm & 0xf8) == 0xd8;
}

/* The prefix alone may be there to fill space. */
static bool accesses_memory(const struct functions *functions, const uint8_t *bytes, size_t size)
{
	struct insn insn;

	if (!insn_decode(&functions->decoder, bytes, size, 0, &insn))
		return true;
	for (int i = 0; i < 2; i++)
		if (insn.ops[i].type == X86_OP_MEM && insn.ops[i].mem.segment == X86_REG_GS)
			return true;
	return false;
}

static bool is_used_in(const struct functions *functions, const struct range *range)
{
	const uint8_t *bytes = functions->view->bytes + range->offset;
	struct scan scan;

	for (uint32_t at = 0; at < range->size; at += scan.size) {
		if (!scan_insn(bytes + at, range->size - at, 0, &scan))
			return false;
		if (sets_base(&scan.encoding) ||
		    (scan.encoding.prefixes & SCAN_GS &&
		     accesses_memory(functions, bytes + at, range->size - at)))
			return true;
	}
	return false;
}

bool gs_base_is_used(const struct functions *functions)
{
	for (uint32_t i = 0; i < functions->ranges.nr; i++)
		if (is_used_in(functions, &functions->ranges.entries[i]))
			return true;
	return false;
}
