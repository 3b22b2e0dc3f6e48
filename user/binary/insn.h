/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One x86-64 instruction: how long it is, where control goes after it, and
 * what it does to the stack pointer.  That is all the analysis of a program
 * needs, and at some ten nanoseconds an instruction whole programs can be
 * read; a disassembler that also knows the operands takes twenty times that.
 */
#ifndef _PGUARD_INSN_H
#define _PGUARD_INSN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	INSN_MAX_SIZE = 15, /* bytes */
};

enum insn_flow {
	INSN_NEXT, /* goes on with the next instruction */
	INSN_CALL, /* relative; has a target */
	INSN_CALL_INDIRECT,
	INSN_JUMP, /* relative; has a target */
	INSN_BRANCH, /* conditional; has a target */
	INSN_JUMP_INDIRECT,
	INSN_RETURN,
	INSN_SYSCALL,
	INSN_STOP, /* int3, ud2, hlt: control does not come by */
};

enum insn_map { /* of opcodes: those behind 0f, 0f 38, 0f 3a, and those of VEX etc. */
	INSN_MAP_ONE,
	INSN_MAP_0F,
	INSN_MAP_0F38,
	INSN_MAP_0F3A,
	INSN_MAP_VEX,
};

enum insn_prefix {
	INSN_PREFIX_66 = 1 << 0,
	INSN_PREFIX_67 = 1 << 1,
	INSN_PREFIX_REPNE = 1 << 2, /* f2 */
	INSN_PREFIX_REP = 1 << 3, /* f3 */
	INSN_PREFIX_LOCK = 1 << 4,
	INSN_PREFIX_ES_TO_DS = 1 << 5, /* es, cs, ss or ds */
	INSN_PREFIX_FS_GS = 1 << 6,
};

enum insn_rex {
	INSN_REX_B = 1,
	INSN_REX_X = 2,
	INSN_REX_R = 4,
	INSN_REX_W = 8,
};

struct insn {
	uint64_t target; /* where the flow has one */
	int64_t imm; /* signed, of a relative flow too; 0 without one */
	int32_t disp; /* 0 without one */
	enum insn_flow flow;
	enum insn_map map;
	uint8_t size; /* bytes */
	uint8_t prefixes; /* enum insn_prefix */
	uint8_t rex; /* 40 to 4f, or 0 */
	uint8_t opcode; /* the last byte of it */
	uint8_t modrm;
	uint8_t sib;
	bool has_modrm;
	bool has_sib;
};

/*
 * Decode the instruction at address @addr from at most @size bytes.  Returns
 * false if there is none: bytes that no processor executes, or too few.
 */
bool insn_decode(const uint8_t *bytes, size_t size, uint64_t addr, struct insn *ret);

/*
 * How many bytes it lowers the stack pointer by, less than 0 if it raises it.
 * Returns false if that is not known from the instruction alone.  A call counts
 * as 0: what it pushes, the return pops.
 */
bool insn_sp_effect(const struct insn *insn, int64_t *ret);

/* The fields of its ModRM and SIB bytes, with their bits from the REX prefix. */
static inline unsigned int insn_mod(const struct insn *insn)
{
	return insn->modrm >> 6;
}

static inline unsigned int insn_reg(const struct insn *insn)
{
	return (insn->modrm >> 3 & 7) | (insn->rex & INSN_REX_R ? 8 : 0);
}

static inline unsigned int insn_rm(const struct insn *insn)
{
	return (insn->modrm & 7) | (insn->rex & INSN_REX_B ? 8 : 0);
}

static inline bool insn_is_rip_relative(const struct insn *insn)
{
	return insn->has_modrm && (insn->modrm & 0xc7) == 0x05;
}

static inline bool insn_is_endbr64(const struct insn *insn)
{
	return insn->map == INSN_MAP_0F && insn->opcode == 0x1e && insn->modrm == 0xfa &&
	       insn->prefixes & INSN_PREFIX_REP;
}

#endif /* _PGUARD_INSN_H */
