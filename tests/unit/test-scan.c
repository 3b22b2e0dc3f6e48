// SPDX-License-Identifier: GPL-2.0
/*
 * Sizes, flow and targets of instructions, as Capstone reads them: all of
 * Debian's programs.
 */

#include <capstone/capstone.h>

#include "binary/code/scan.h"
#include "program.h"
#include "tap.h"

static const struct {
	const char *bytes;
	size_t size;
	const char *name;
} invalid[] = {
#define INVALID(bytes, name) { bytes, sizeof(bytes) - 1, name }
	INVALID("", "nothing"),
	INVALID("\x48", "a prefix only"),
	INVALID("\x0f", "half an opcode"),
	INVALID("\x48\x8b", "no ModRM"),
	INVALID("\x8b\x84\x24\x00\x00\x00", "half a displacement"),
	INVALID("\xe8\x00\x00\x00", "half a target"),
	INVALID("\x06", "push %es"),
	INVALID("\xc5\xf9", "half a VEX prefix"),
	INVALID("\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x90", "16 bytes"),
};

enum {
	NR_INVALID = sizeof(invalid) / sizeof(invalid[0]),
};

static enum insn_flow flow_of(const cs_insn *insn)
{
	bool is_direct = !strncmp(insn->op_str, "0x", 2);
	const char *name = insn->mnemonic;

	if (insn->id == X86_INS_CALL || insn->id == X86_INS_LCALL)
		return is_direct ? INSN_CALL : INSN_CALL_INDIRECT;
	if (insn->id == X86_INS_JMP || insn->id == X86_INS_LJMP)
		return is_direct ? INSN_JUMP : INSN_JUMP_INDIRECT;
	if (name[0] == 'j' || !strncmp(name, "loop", 4) || !strcmp(name, "xbegin"))
		return INSN_BRANCH;
	if (insn->id == X86_INS_RET || insn->id == X86_INS_RETF)
		return INSN_RETURN;
	if (!strcmp(name, "syscall"))
		return INSN_SYSCALL;
	if (!strcmp(name, "ud2") || !strcmp(name, "int3") || !strcmp(name, "hlt"))
		return INSN_STOP;
	return INSN_NEXT;
}

static bool is_same(const struct scan *insn, const cs_insn *other)
{
	bool has_target = insn->flow == INSN_CALL || insn->flow == INSN_JUMP ||
			  insn->flow == INSN_BRANCH;

	if (insn->size != other->size || insn->flow != flow_of(other))
		return false;
	return !has_target || insn->target == strtoull(other->op_str, NULL, 16);
}

static void test_program(const char *path)
{
	size_t nr = 0, nr_other = 0, nr_unknown = 0;
	struct code_map *code = open_code(path);
	cs_insn *other;
	csh capstone;

	if (!code) {
		skip(1, "no such program");
		return;
	}
	if (cs_open(CS_ARCH_X86, CS_MODE_64, &capstone))
		exit(1);
	other = cs_malloc(capstone);
	for (uint32_t i = 0; i < code->functions.ranges.nr; i++) {
		const struct range *range = &code->functions.ranges.entries[i];
		const uint8_t *at = code->object->view.bytes + range->offset;
		uint64_t addr = range->addr;
		size_t left = range->size;
		struct scan insn;

		while (left && scan_insn(at, left, addr, &insn)) {
			nr++;
			if (!cs_disasm_iter(capstone, &at, &left, &addr, other)) {
				nr_unknown++; /* it does not know all of AVX-512 */
				at += insn.size;
				addr += insn.size;
				left -= insn.size;
				continue;
			}
			if (!is_same(&insn, other) && nr_other++ < 5)
				diag("%#lx: %s %s: %u bytes, flow %d", (unsigned long)other->address,
				     other->mnemonic, other->op_str, insn.size, insn.flow);
		}
	}
	ok(!nr_other && nr_unknown * 100 < nr, "%s: %zu instructions, %zu of them the other does not know",
	   path, nr, nr_unknown);
	cs_free(other, 1);
	cs_close(&capstone);
	code_map_close(code);
}

int main(void)
{
	plan(NR_INVALID + NR_DEBIAN);
	for (size_t i = 0; i < NR_INVALID; i++) {
		struct scan insn;

		ok(!scan_insn((const uint8_t *)invalid[i].bytes, invalid[i].size, 0, &insn),
		   "no instruction: %s", invalid[i].name);
	}
	for (int i = 0; i < NR_DEBIAN; i++)
		test_program(debian[i]);
	return tap_status();
}
