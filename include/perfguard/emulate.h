/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The instructions that the module emulates at a guard site.
 *
 * The kernel single-steps the instruction under a breakpoint unless it is one
 * of the few that it emulates.  A step is one exception more, and costs several
 * times as much as the rest of a hit.  But if a handler moves the instruction
 * pointer, a kernel takes the instruction as executed; some do not, and the module
 * tries that out when it is loaded (kmod/probe/trial.c).  So the module executes
 * plain instructions itself: moves, address computation, arithmetic, logic and
 * comparisons, with registers, constants, and memory that they read or overwrite.
 *
 * Not: instructions that write SP, as a return probe of another user at the same
 * site reads it after the handlers; read-modify-write of memory and exchanges
 * with it; segments; vector registers; jumps.  Of prefixes, only operand
 * size and REX.
 *
 * This is the decoder, for the module, for the choice of sites and for the
 * tests.  It is total: any bytes may be given, none behind their end is read.
 */
#ifndef _PERFGUARD_EMULATE_H
#define _PERFGUARD_EMULATE_H

#include <linux/errno.h>
#include <linux/types.h>

/* The first eight in the order of the processor's encoding. */
enum emulate_op {
	EMULATE_ADD,
	EMULATE_OR,
	EMULATE_ADC,
	EMULATE_SBB,
	EMULATE_AND,
	EMULATE_SUB,
	EMULATE_XOR,
	EMULATE_CMP,
	EMULATE_TEST,
	EMULATE_INC,
	EMULATE_DEC,
	EMULATE_NOT,
	EMULATE_NEG,
	EMULATE_SHL,
	EMULATE_SHR,
	EMULATE_SAR,
	EMULATE_MOV, /* also movzx and lea */
	EMULATE_EXTEND, /* movsx, movsxd, cbw, cwde, cdqe */
	EMULATE_SPREAD, /* all bits as the sign: cwd, cdq, cqo */
	EMULATE_SET, /* on condition */
	EMULATE_CMOV,
	EMULATE_XCHG,
	EMULATE_NOP,
};

/* Operands: registers by the processor's numbers, 0 to 15, and these. */
enum emulate_operand {
	EMULATE_SP = 4,
	EMULATE_AH = 16, /* then ch, dh and bh */
	EMULATE_IP = 20, /* of the next instruction; a base only */
	EMULATE_NONE,
	EMULATE_CONSTANT,
	EMULATE_MEMORY, /* at the address */
	EMULATE_ADDRESS, /* the address itself */
};

/* The most frequent instructions, each emulated by a fast path of its own. */
enum emulate_usual {
	EMULATE_UNUSUAL,
	EMULATE_USUAL_NOP,
	EMULATE_USUAL_MOVE, /* a whole register takes another, a constant or an address */
	EMULATE_USUAL_SUM, /* arithmetic and logic of a whole register with such or a constant */
	EMULATE_USUAL_LOAD, /* a whole register takes a word of memory */
	EMULATE_USUAL_STORE, /* memory takes a register or a constant */
};

enum {
	EMULATE_MAX_LENGTH = 15,
};

/**
 * struct pguard_emulation - an instruction the module can carry out
 * @constant: the operand that is one, with its sign extended
 * @disp: of the address
 * @op: enum emulate_op
 * @length: of the instruction, bytes
 * @width: of the destination, bytes
 * @source_width: of the source, bytes
 * @to: destination, or first operand
 * @from: source, or second operand
 * @base: of the address, a register or EMULATE_IP or EMULATE_NONE
 * @index: of the address, a register or EMULATE_NONE
 * @scale: of the index, a shift
 * @condition: the processor's number, 0 to 15
 * @usual: enum emulate_usual
 */
struct pguard_emulation {
	__u64 constant;
	__s32 disp;
	__u8 op;
	__u8 length;
	__u8 width;
	__u8 source_width;
	__u8 to;
	__u8 from;
	__u8 base;
	__u8 index;
	__u8 scale;
	__u8 condition;
	__u8 usual;
};

/* The unread bytes of an instruction, and its prefixes. */
struct emulate_reader {
	const __u8 *at;
	const __u8 *end;
	__u8 is_short; /* fewer bytes than it has */
	__u8 has_66;
	__u8 has_rex;
	__u8 rex_w; /* these are 0 or 1 */
	__u8 rex_r;
	__u8 rex_x;
	__u8 rex_b;
	__u8 extension; /* the middle bits of ModRM, without REX */
	const __u8 *disp_at; /* the address's displacement of 32 bits, if it has one */
};

static inline __u8 emulate_byte(struct emulate_reader *reader)
{
	if (reader->at < reader->end)
		return *reader->at++;
	reader->is_short = 1;
	return 0;
}

/* Of 1, 2, 4 or 8 bytes, sign extended. */
static inline __u64 emulate_constant(struct emulate_reader *reader, __u32 size)
{
	__u64 value = 0;

	for (__u32 i = 0; i < size; i++)
		value |= (__u64)emulate_byte(reader) << 8 * i;
	if (size == 1)
		return (__u64)(__s8)value;
	if (size == 2)
		return (__u64)(__s16)value;
	return size == 4 ? (__u64)(__s32)value : value;
}

static inline void emulate_read_prefixes(struct emulate_reader *reader)
{
	while (reader->at < reader->end && *reader->at == 0x66) {
		reader->has_66 = 1;
		reader->at++;
	}
	if (reader->at < reader->end && *reader->at >> 4 == 4) {
		__u8 rex = *reader->at++;

		reader->has_rex = 1;
		reader->rex_w = rex >> 3 & 1;
		reader->rex_r = rex >> 2 & 1;
		reader->rex_x = rex >> 1 & 1;
		reader->rex_b = rex & 1;
	}
}

/* Without REX, four of the byte registers are others. */
static inline __u8 emulate_register(const struct emulate_reader *reader, __u8 number, __u8 width)
{
	if (width == 1 && !reader->has_rex && number >= 4)
		return EMULATE_AH + number - 4;
	return number;
}

static inline void emulate_read_address(struct emulate_reader *reader,
					struct pguard_emulation *ret, __u8 mod, __u8 base)
{
	__u32 disp_size = mod == 1 ? 1 : mod == 2 ? 4 : 0;

	ret->base = base | reader->rex_b << 3;
	if (base == 4) {
		__u8 sib = emulate_byte(reader);

		base = sib & 7;
		ret->scale = sib >> 6;
		ret->base = base | reader->rex_b << 3;
		ret->index = (sib >> 3 & 7) | reader->rex_x << 3;
		if (ret->index == EMULATE_SP)
			ret->index = EMULATE_NONE;
		if (base == 5 && !mod)
			ret->base = EMULATE_NONE;
	} else if (base == 5 && !mod) {
		ret->base = EMULATE_IP;
	}
	if (base == 5 && !mod)
		disp_size = 4;
	if (disp_size == 4)
		reader->disp_at = reader->at;
	if (disp_size)
		ret->disp = (__s32)emulate_constant(reader, disp_size);
}

/* The operands of a ModRM byte: *@rm of @rm_width bytes, *@reg of @reg_width. */
static inline void emulate_read_modrm(struct emulate_reader *reader, struct pguard_emulation *ret,
				      __u8 *rm, __u8 rm_width, __u8 *reg, __u8 reg_width)
{
	__u8 modrm = emulate_byte(reader);

	reader->extension = modrm >> 3 & 7;
	*reg = emulate_register(reader, reader->extension | reader->rex_r << 3, reg_width);
	if (modrm >> 6 == 3) {
		*rm = emulate_register(reader, (modrm & 7) | reader->rex_b << 3, rm_width);
		return;
	}
	*rm = EMULATE_MEMORY;
	emulate_read_address(reader, ret, modrm >> 6, modrm & 7);
}

/* Register and ModRM's operand, in the order given by bit 1 of the opcode. */
static inline void emulate_read_pair(struct emulate_reader *reader, struct pguard_emulation *ret,
				     __u8 opcode)
{
	if (opcode & 2)
		emulate_read_modrm(reader, ret, &ret->from, ret->width, &ret->to, ret->width);
	else
		emulate_read_modrm(reader, ret, &ret->to, ret->width, &ret->from, ret->width);
}

/* ModRM's operand alone, and of the other bits an extension of the opcode. */
static inline __u8 emulate_read_one(struct emulate_reader *reader, struct pguard_emulation *ret)
{
	__u8 unused;

	emulate_read_modrm(reader, ret, &ret->to, ret->width, &unused, ret->width);
	return reader->extension;
}

/* No instruction has a constant of 8 bytes but mov to a register. */
static inline void emulate_take_constant(struct emulate_reader *reader,
					 struct pguard_emulation *ret, __u32 size)
{
	ret->from = EMULATE_CONSTANT;
	ret->constant = emulate_constant(reader, size < 8 ? size : 4);
}

/* f6, f7, fe and ff: test, not, neg; inc and dec. */
static inline int emulate_unary(struct emulate_reader *reader, struct pguard_emulation *ret,
				__u8 opcode)
{
	__u8 extension = emulate_read_one(reader, ret);

	if (opcode >= 0xfe) {
		ret->op = extension ? EMULATE_DEC : EMULATE_INC;
		return extension <= 1;
	}
	if (extension) {
		ret->op = extension == 2 ? EMULATE_NOT : EMULATE_NEG;
		return extension == 2 || extension == 3;
	}
	ret->op = EMULATE_TEST;
	emulate_take_constant(reader, ret, ret->width);
	return 1;
}

/*
 * By a constant.  Larger ones than the register has bits leave the carry
 * undefined.
 */
static inline int emulate_shift(struct emulate_reader *reader, struct pguard_emulation *ret,
				__u8 opcode)
{
	__u8 extension = emulate_read_one(reader, ret);

	ret->op = extension == 4 ? EMULATE_SHL : extension == 5 ? EMULATE_SHR : EMULATE_SAR;
	ret->from = EMULATE_CONSTANT;
	ret->constant = opcode >= 0xd0 ? 1 : emulate_byte(reader);
	ret->constant &= ret->width == 8 ? 63 : 31;
	return extension >= 4 && extension != 6 && ret->constant < 8 * ret->width;
}

static inline int emulate_one_byte(struct emulate_reader *reader, struct pguard_emulation *ret,
				   __u8 opcode)
{
	__u8 wide = ret->width;

	if (!(opcode & 1))
		ret->width = 1;
	ret->source_width = ret->width;
	switch (opcode) {
	case 0x00 ... 0x3f:
		ret->op = opcode >> 3;
		if ((opcode & 7) >= 6)
			return 0;
		if (opcode & 4) {
			ret->to = 0;
			emulate_take_constant(reader, ret, ret->width);
		} else {
			emulate_read_pair(reader, ret, opcode);
		}
		return 1;
	case 0x63:
		ret->op = EMULATE_EXTEND;
		ret->source_width = 4;
		emulate_read_modrm(reader, ret, &ret->from, 4, &ret->to, ret->width);
		return reader->rex_w;
	case 0x80: case 0x81: case 0x83:
		ret->op = emulate_read_one(reader, ret);
		emulate_take_constant(reader, ret, opcode == 0x83 ? 1 : ret->width);
		return 1;
	case 0x84: case 0x85:
		ret->op = EMULATE_TEST;
		emulate_read_pair(reader, ret, 0);
		return 1;
	case 0x86: case 0x87:
		ret->op = EMULATE_XCHG;
		emulate_read_pair(reader, ret, 0);
		return 1;
	case 0x88 ... 0x8b:
		ret->op = EMULATE_MOV;
		emulate_read_pair(reader, ret, opcode);
		return 1;
	case 0x8d:
		ret->op = EMULATE_MOV;
		emulate_read_pair(reader, ret, 2);
		if (ret->from != EMULATE_MEMORY)
			return 0;
		ret->from = EMULATE_ADDRESS;
		return 1;
	case 0x90:
		ret->op = EMULATE_NOP;
		return !reader->rex_b; /* else xchg, and yet taken for a nop by kernels */
	case 0x91 ... 0x97:
		ret->op = EMULATE_XCHG;
		ret->width = wide;
		ret->source_width = wide;
		ret->to = (opcode & 7) | reader->rex_b << 3;
		ret->from = 0;
		return 1;
	case 0x98:
		ret->op = EMULATE_EXTEND;
		ret->width = wide;
		ret->source_width = wide / 2;
		ret->to = 0;
		ret->from = 0;
		return 1;
	case 0x99:
		ret->op = EMULATE_SPREAD;
		ret->to = 2;
		ret->from = 0;
		return 1;
	case 0xa8: case 0xa9:
		ret->op = EMULATE_TEST;
		ret->to = 0;
		emulate_take_constant(reader, ret, ret->width);
		return 1;
	case 0xb0 ... 0xbf:
		ret->op = EMULATE_MOV;
		ret->width = opcode & 8 ? wide : 1;
		ret->source_width = ret->width;
		ret->to = emulate_register(reader, (opcode & 7) | reader->rex_b << 3, ret->width);
		ret->from = EMULATE_CONSTANT;
		ret->constant = emulate_constant(reader, ret->width);
		return 1;
	case 0xc0: case 0xc1: case 0xd0: case 0xd1:
		return emulate_shift(reader, ret, opcode);
	case 0xc6: case 0xc7:
		ret->op = EMULATE_MOV;
		if (emulate_read_one(reader, ret))
			return 0;
		emulate_take_constant(reader, ret, ret->width);
		return 1;
	case 0xf6: case 0xf7: case 0xfe: case 0xff:
		return emulate_unary(reader, ret, opcode);
	}
	return 0;
}

/* Those that begin with 0f. */
static inline int emulate_two_byte(struct emulate_reader *reader, struct pguard_emulation *ret)
{
	__u8 opcode = emulate_byte(reader);

	ret->condition = opcode & 15;
	ret->source_width = ret->width;
	switch (opcode) {
	case 0x1f:
		ret->op = EMULATE_NOP;
		return !emulate_read_one(reader, ret) && ret->to == EMULATE_MEMORY;
	case 0x40 ... 0x4f:
		ret->op = EMULATE_CMOV;
		emulate_read_pair(reader, ret, 2);
		return 1;
	case 0x90 ... 0x9f:
		ret->op = EMULATE_SET;
		ret->width = 1;
		return !emulate_read_one(reader, ret);
	case 0xb6: case 0xb7: case 0xbe: case 0xbf:
		ret->op = opcode < 0xb8 ? EMULATE_MOV : EMULATE_EXTEND;
		ret->source_width = opcode & 1 ? 2 : 1;
		emulate_read_modrm(reader, ret, &ret->from, ret->source_width, &ret->to,
				   ret->width);
		return ret->source_width < ret->width;
	}
	return 0;
}

static inline int emulate_writes(__u8 op)
{
	return op != EMULATE_CMP && op != EMULATE_TEST && op != EMULATE_NOP;
}

static inline int emulate_is_allowed(const struct pguard_emulation *emulation)
{
	__u8 op = emulation->op;

	if (op == EMULATE_NOP)
		return 1;
	if (op == EMULATE_XCHG && (emulation->from == EMULATE_SP || emulation->to == EMULATE_MEMORY))
		return 0;
	if (emulation->to == EMULATE_MEMORY && emulate_writes(op))
		return op == EMULATE_MOV || op == EMULATE_SET;
	return emulation->to != EMULATE_SP || !emulate_writes(op);
}

/* Whole registers: with 32 bits the others become 0, so that nothing of before is left. */
static inline __u8 emulate_usual(const struct pguard_emulation *emulation)
{
	__u8 op = emulation->op, from = emulation->from;
	int is_whole = emulation->to < EMULATE_AH && emulation->width >= 4;
	int is_plain = from < EMULATE_AH || from == EMULATE_CONSTANT;

	if (op == EMULATE_NOP)
		return EMULATE_USUAL_NOP;
	if (op == EMULATE_MOV && is_whole)
		return is_plain || from == EMULATE_ADDRESS ? EMULATE_USUAL_MOVE :
		       from == EMULATE_MEMORY		   ? EMULATE_USUAL_LOAD :
							     EMULATE_UNUSUAL;
	if (op == EMULATE_MOV && emulation->to == EMULATE_MEMORY && is_plain)
		return EMULATE_USUAL_STORE;
	if (!is_whole || !is_plain)
		return EMULATE_UNUSUAL;
	switch (op) {
	case EMULATE_ADD:
	case EMULATE_OR:
	case EMULATE_AND:
	case EMULATE_SUB:
	case EMULATE_XOR:
	case EMULATE_CMP:
	case EMULATE_TEST:
		return EMULATE_USUAL_SUM;
	}
	return EMULATE_UNUSUAL;
}

/* endbr64, and pause: kernels do not agree on it. */
static inline __u8 emulate_rep_nop(const __u8 *insn, __u32 size)
{
	if (size >= 4 && insn[0] == 0xf3 && insn[1] == 0x0f && insn[2] == 0x1e && insn[3] == 0xfa)
		return 4;
	return size >= 2 && insn[0] == 0xf3 && insn[1] == 0x90 ? 2 : 0;
}

/**
 * pguard_emulate_prepare() - decode an instruction for pguard_emulate()
 * @ret: filled in
 * @insn: its bytes, and maybe more
 * @size: how many there are
 *
 * Return: 0; -EOPNOTSUPP if the module does not carry it out, or the bytes end
 * before it does.
 */
static inline int pguard_emulate_prepare(struct pguard_emulation *ret, const __u8 *insn,
					 __u32 size)
{
	struct emulate_reader reader = {
		.at = insn,
		.end = insn + (size < EMULATE_MAX_LENGTH ? size : EMULATE_MAX_LENGTH),
	};
	__u8 opcode;
	int is_known;

	*ret = (struct pguard_emulation){
		.op = EMULATE_NOP,
		.to = EMULATE_NONE,
		.from = EMULATE_NONE,
		.base = EMULATE_NONE,
		.index = EMULATE_NONE,
		.length = emulate_rep_nop(insn, size),
		.usual = EMULATE_USUAL_NOP,
	};
	if (ret->length)
		return 0;
	emulate_read_prefixes(&reader);
	ret->width = reader.rex_w ? 8 : reader.has_66 ? 2 : 4;
	opcode = emulate_byte(&reader);
	is_known = opcode == 0x0f ? emulate_two_byte(&reader, ret) :
				    emulate_one_byte(&reader, ret, opcode);
	if (!is_known || reader.is_short || !emulate_is_allowed(ret))
		return -EOPNOTSUPP;
	ret->length = (__u8)(reader.at - insn);
	ret->usual = emulate_usual(ret);
	return 0;
}

/* True if the @size bytes at @at begin with a whole relative jump, branch or call. */
static inline int emulate_is_relative(const __u8 *at, __u32 size)
{
	if (!size)
		return 0;
	if (*at == 0xeb || *at >> 4 == 7)
		return size >= 2;
	if (*at == 0xe8 || *at == 0xe9)
		return size >= 5;
	return size >= 6 && *at == 0x0f && at[1] >> 4 == 8;
}

/**
 * pguard_emulate_by_kernel() - true if every kernel from 6.1 on emulates it
 * @insn: the bytes of an instruction that can be probed, and maybe more
 * @size: how many there are
 *
 * These are push of a register, nop, and relative jumps, branches and calls.
 * Not so pause, on which kernels do not agree, nor nop with REX.B, which is
 * xchg, and yet taken for a nop.
 */
static inline int pguard_emulate_by_kernel(const __u8 *insn, __u32 size)
{
	int has_66 = 0, has_other = 0, has_rex = 0;
	__u32 at = 0;

	if (size > EMULATE_MAX_LENGTH)
		size = EMULATE_MAX_LENGTH;
	if (size && insn[0] >> 3 == 0x50 >> 3)
		return 1;
	if (size > 1 && insn[0] == 0x41 && insn[1] >> 3 == 0x50 >> 3)
		return 1;
	for (; at < size; at++) {
		if (insn[at] == 0x66)
			has_66 = 1;
		else if (insn[at] == 0x67 || insn[at] == 0xf2 || insn[at] == 0xf3 ||
			 insn[at] == 0x64 || insn[at] == 0x65)
			has_other = 1;
		else
			break;
	}
	if (at < size && insn[at] >> 4 == 4) {
		has_rex = 1;
		at++;
	}
	if (at < size && insn[at] == 0x90)
		return !has_other && !has_rex;
	return !has_66 && emulate_is_relative(insn + at, size - at);
}

#endif /* _PERFGUARD_EMULATE_H */
