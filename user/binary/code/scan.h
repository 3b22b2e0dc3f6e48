/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The encoding of an x86-64 instruction: its length and its control flow.
 *
 * Training reads every instruction of a program and its libraries.  Capstone, which decodes
 * the operands and writes the text, takes over ten times as long; it (insn.h) reads only what
 * operands are needed of: the first instructions of functions, and those before jumps by a
 * table.  The tests compare the two on whole programs.
 */
#ifndef _USER_BINARY_CODE_SCAN_H
#define _USER_BINARY_CODE_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "binary/code/insn.h"

enum scan_map { /* of opcodes */
	SCAN_MAP_ONE,
	SCAN_MAP_0F,
	SCAN_MAP_LONG, /* behind 0f 38 or 0f 3a */
	SCAN_MAP_VEX, /* behind VEX, EVEX and XOP */
};

enum scan_prefix {
	SCAN_66 = 1 << 0,
	SCAN_67 = 1 << 1,
	SCAN_REPNE = 1 << 2,
	SCAN_REP = 1 << 3,
	SCAN_LOCK = 1 << 4,
	SCAN_ES_TO_DS = 1 << 5, /* es, cs, ss or ds */
	SCAN_GS = 1 << 6,
};

struct scan_encoding {
	int64_t imm; /* the last one */
	int64_t disp; /* of the operand in memory, if it is relative to RIP */
	uint8_t imm_size; /* bytes, of all of them */
	enum scan_map map;
	uint8_t prefixes; /* enum scan_prefix */
	uint8_t rex; /* 40 to 4f, or 0 */
	bool has_void_rex; /* a REX before a prefix */
	uint8_t opcode; /* the last byte of it */
	uint8_t modrm; /* 0 without one */
	bool is_rip_relative;
};

struct scan {
	struct scan_encoding encoding;
	uint64_t target; /* where the flow has one */
	uint64_t address; /* of the operand in memory, if it is relative to RIP; or 0 */
	enum insn_flow flow;
	uint8_t size; /* bytes */
};

/*
 * Read the instruction at address @addr from at most @size bytes.  Returns
 * false if there is none: bytes that no processor executes, or too few.
 */
bool scan_insn(const uint8_t *bytes, size_t size, uint64_t addr, struct scan *ret);

/* An instruction that only marks where indirect jumps may lead. */
static inline bool scan_is_endbr64(const struct scan *insn)
{
	const struct scan_encoding *encoding = &insn->encoding;

	return encoding->map == SCAN_MAP_0F && encoding->opcode == 0x1e &&
	       encoding->modrm == 0xfa && encoding->prefixes & SCAN_REP;
}

#endif /* _USER_BINARY_CODE_SCAN_H */
