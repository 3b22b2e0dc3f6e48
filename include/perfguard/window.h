/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The instructions in whose place inline recording puts a jump.
 *
 * A window is one whole instruction of at least five bytes, so that no thread,
 * signal frame or jump is ever in the middle of it.  Its landing, elsewhere in the
 * program, records the hit, executes the instruction and jumps back.  So it has
 * to do there what it does in place:
 *
 *  - The landing keeps registers, flags and SP, so only what depends on the
 *    instruction pointer differs: relative jumps and calls, which are kinds of
 *    their own, and operands relative to it, whose displacement the module adjusts.
 *  - A fault in the landing would show a place that nobody knows.  So memory is
 *    accessed by SP alone, by IP, or at a fixed place of the thread (fs).  A page of
 *    these that is not present yet is the kernel's; of an overflow of the stack,
 *    the signal shows the landing.  No instruction that raises exceptions by its
 *    operands: division, floating point.
 *  - Vector instructions that fault where memory is not aligned may have an operand
 *    by IP, as it is at one place: such an instruction faults each time or never, and
 *    no program has the first.  Not by SP, which a caller may have left unaligned.
 *  - It must not refer to bytes of its own.
 *
 * Not: nops of five and ten bytes, which kernels replace by themselves; prefixes
 * other than operand size, REX, fs, and f2 and f3 where they are part of the opcode, as
 * kernels refuse a probe with some of them and the probe stays below the jump; VEX and
 * EVEX, which kernels misread.
 *
 * This is the decoder, for the module, for the choice of sites and for the
 * tests.  It is total: any bytes may be given, none behind their end is read.
 */
#ifndef _PERFGUARD_WINDOW_H
#define _PERFGUARD_WINDOW_H

#include <perfguard/emulate.h>

enum window_kind {
	WINDOW_PLAIN,
	WINDOW_CALL,
	WINDOW_JUMP,
	WINDOW_BRANCH,
};

enum {
	WINDOW_MIN = 5, /* bytes of the jump */
	WINDOW_MAX_ACCESS = 16, /* bytes of an operand in memory */
};

/**
 * struct pguard_window - an instruction that a jump can replace
 * @kind: enum window_kind
 * @length: of the instruction, WINDOW_MIN to EMULATE_MAX_LENGTH bytes
 * @disp_at: plain: where the displacement of its operand from the next instruction
 *	begins, which has 32 bits; 0 if it has none
 * @condition: branch: the processor's number, 0 to 15
 * @target: call, jump and branch: from the end of the instruction
 */
struct pguard_window {
	__u8 kind;
	__u8 length;
	__u8 disp_at;
	__u8 condition;
	__s32 target;
};

/* What is decoded, beyond the operands. */
struct window_reader {
	struct emulate_reader bytes;
	struct pguard_emulation operands;
	__u8 has_fs;
	__u8 rep; /* f2, f3 or 0 */
	__u8 is_aligned; /* it faults if its operand in memory is not */
};

/* False if they do not go together. */
static inline int window_read_prefixes(struct window_reader *reader)
{
	struct emulate_reader *bytes = &reader->bytes;

	for (; bytes->at < bytes->end; bytes->at++) {
		__u8 byte = *bytes->at;

		if (byte == 0x64)
			reader->has_fs = 1;
		else if (byte == 0x66)
			bytes->has_66 = 1;
		else if ((byte == 0xf2 || byte == 0xf3) && !reader->rep)
			reader->rep = byte;
		else
			break;
	}
	if (reader->rep && bytes->has_66)
		return 0;
	emulate_read_prefixes(bytes); /* REX: no 66 is left */
	reader->operands.width = bytes->rex_w ? 8 : bytes->has_66 ? 2 : 4;
	return 1;
}

/* ModRM's operand and a register, which need not be known. */
static inline int window_read_modrm(struct window_reader *reader)
{
	struct pguard_emulation *operands = &reader->operands;

	emulate_read_modrm(&reader->bytes, operands, &operands->to, operands->width,
			   &operands->from, operands->width);
	return 1;
}

static inline int window_read_modrm_and_byte(struct window_reader *reader)
{
	window_read_modrm(reader);
	emulate_byte(&reader->bytes);
	return 1;
}

/* f6 and f7: all but the second name of test, and division. */
static inline int window_unary(struct window_reader *reader)
{
	window_read_modrm(reader);
	if (!reader->bytes.extension)
		emulate_take_constant(&reader->bytes, &reader->operands, reader->operands.width);
	return reader->bytes.extension != 1 && reader->bytes.extension < 6;
}

/* What emulation lacks of opcodes of one byte, and the rest by emulation's decoder. */
static inline int window_one_byte(struct window_reader *reader, __u8 opcode)
{
	struct pguard_emulation *operands = &reader->operands;

	switch (opcode) {
	case 0x68: /* push of a constant */
		emulate_constant(&reader->bytes, 4);
		return !reader->bytes.has_66;
	case 0x69: /* imul by a constant */
		window_read_modrm(reader);
		emulate_take_constant(&reader->bytes, operands, operands->width);
		return 1;
	case 0x6b:
	case 0xc0: case 0xc1: /* shifts and rotations; 6 is a second name */
		window_read_modrm_and_byte(reader);
		return opcode == 0x6b || reader->bytes.extension != 6;
	case 0xd0 ... 0xd3:
		window_read_modrm(reader);
		return reader->bytes.extension != 6;
	case 0xf6: case 0xf7:
		operands->width = opcode & 1 ? operands->width : 1;
		return window_unary(reader);
	case 0xff: /* inc, dec, push */
		window_read_modrm(reader);
		return reader->bytes.extension < 2 ||
		       (reader->bytes.extension == 6 && !reader->bytes.has_66);
	}
	return emulate_one_byte(&reader->bytes, operands, opcode);
}

/* Those behind 0f without f2 and f3 that are of general registers. */
static inline int window_two_byte(struct window_reader *reader, __u8 opcode)
{
	switch (opcode) {
	case 0xa4: case 0xac: /* shld, shrd */
		return window_read_modrm_and_byte(reader);
	case 0xba: /* bt, bts, btr, btc */
		window_read_modrm_and_byte(reader);
		return reader->bytes.extension >= 4;
	case 0xa5: case 0xad:
	case 0xaf: /* imul */
	case 0xb0: case 0xb1: /* cmpxchg */
	case 0xbc: case 0xbd: /* bsf, bsr */
	case 0xc0: case 0xc1: /* xadd */
		return window_read_modrm(reader);
	}
	reader->bytes.at--;
	return emulate_two_byte(&reader->bytes, &reader->operands);
}

/* With 66 only: integers in vectors. */
static inline int window_integers(struct window_reader *reader, __u8 opcode)
{
	switch (opcode) {
	case 0x6e: case 0x7e: case 0xd6: /* movd, movq */
		reader->is_aligned = 0;
		return window_read_modrm(reader);
	case 0xc4: /* pinsrw */
		reader->is_aligned = 0;
		return window_read_modrm_and_byte(reader);
	case 0x70: /* pshufd */
		return window_read_modrm_and_byte(reader);
	case 0x60 ... 0x6d: case 0x6f: case 0x74 ... 0x76: case 0x7f:
	case 0xd1 ... 0xd5: case 0xd8 ... 0xe5: case 0xe8 ... 0xef:
	case 0xf1 ... 0xf6: case 0xf8 ... 0xfe:
		return window_read_modrm(reader);
	}
	return 0;
}

/* Without f2 and f3: moves and logic, of 4 floating-point numbers or, with 66, 2. */
static inline int window_packed(struct window_reader *reader, __u8 opcode)
{
	reader->is_aligned = 1;
	switch (opcode) {
	case 0x10: case 0x11: /* movups */
		reader->is_aligned = 0;
		return window_read_modrm(reader);
	case 0x12: case 0x13: case 0x16: case 0x17: /* movlps, movhps */
		reader->is_aligned = 0;
		window_read_modrm(reader);
		return reader->operands.to == EMULATE_MEMORY;
	case 0x14: case 0x15: case 0x28: case 0x29: case 0x54 ... 0x57:
		return window_read_modrm(reader);
	case 0xc6: /* shufps */
		return window_read_modrm_and_byte(reader);
	}
	return reader->bytes.has_66 && window_integers(reader, opcode);
}

/* With f2 or f3. */
static inline int window_scalar(struct window_reader *reader, __u8 opcode)
{
	switch (opcode) {
	case 0x10: case 0x11: /* movss, movsd */
		return window_read_modrm(reader);
	case 0x70: /* pshuflw, pshufhw */
		reader->is_aligned = 1;
		return window_read_modrm_and_byte(reader);
	case 0x6f: case 0x7e: case 0x7f: /* movdqu, movq */
	case 0xb8: case 0xbc: case 0xbd: /* popcnt, tzcnt, lzcnt */
		return reader->rep == 0xf3 && window_read_modrm(reader);
	}
	return 0;
}

static inline int window_is_vector(__u8 opcode)
{
	return opcode >> 4 == 1 ? opcode < 0x18 :
	       opcode < 0x30 ? 1 :
	       opcode < 0x80 ? opcode >= 0x50 : opcode >= 0xc2;
}

static inline int window_read(struct window_reader *reader)
{
	__u8 opcode;

	if (!window_read_prefixes(reader))
		return 0;
	opcode = emulate_byte(&reader->bytes);
	if (opcode != 0x0f)
		return !reader->rep && window_one_byte(reader, opcode);
	opcode = emulate_byte(&reader->bytes);
	if (reader->rep)
		return window_scalar(reader, opcode);
	return window_is_vector(opcode) ? window_packed(reader, opcode) :
					  window_two_byte(reader, opcode);
}

/* True if the operand in memory, of up to WINDOW_MAX_ACCESS bytes, is one that does not fault. */
static inline int window_is_safe(const struct window_reader *reader, __u8 length)
{
	const struct pguard_emulation *operands = &reader->operands;

	if (reader->has_fs)
		return operands->base == EMULATE_NONE && operands->index == EMULATE_NONE &&
		       !reader->is_aligned;
	if (operands->base == EMULATE_IP)
		return operands->disp >= 0 || operands->disp <= -length - WINDOW_MAX_ACCESS;
	return operands->base == EMULATE_SP && operands->index == EMULATE_NONE &&
	       !reader->is_aligned;
}

static inline int window_is_plain(const struct window_reader *reader, __u8 length)
{
	const struct pguard_emulation *operands = &reader->operands;

	if (operands->op == EMULATE_NOP) /* accesses no memory */
		return length != 5 && length != 10 && !reader->has_fs;
	if (operands->to == EMULATE_MEMORY || operands->from == EMULATE_MEMORY)
		return window_is_safe(reader, length);
	return !reader->has_fs;
}

/* Those without prefixes whose target is relative and has 32 bits. */
static inline __u8 window_read_relative(struct pguard_window *ret, const __u8 *insn, __u32 size)
{
	struct emulate_reader reader = { .at = insn, .end = insn + size };
	__u8 opcode = emulate_byte(&reader);

	if (opcode == 0x0f) {
		opcode = emulate_byte(&reader);
		ret->kind = WINDOW_BRANCH;
		ret->condition = opcode & 15;
		if (opcode >> 4 != 8)
			return 0;
	} else {
		ret->kind = opcode == 0xe8 ? WINDOW_CALL : WINDOW_JUMP;
		if (opcode != 0xe8 && opcode != 0xe9)
			return 0;
	}
	ret->target = (__s32)emulate_constant(&reader, 4);
	return reader.is_short ? 0 : (__u8)(reader.at - insn);
}

/**
 * pguard_window_prepare() - decode an instruction that a jump is to replace
 * @ret: filled in
 * @insn: its bytes, and maybe more
 * @size: how many there are
 *
 * Return: 0; -EOPNOTSUPP if it can be no window, or the bytes end before it does.
 */
static inline int pguard_window_prepare(struct pguard_window *ret, const __u8 *insn, __u32 size)
{
	struct window_reader reader = {
		.bytes = {
			.at = insn,
			.end = insn + (size < EMULATE_MAX_LENGTH ? size : EMULATE_MAX_LENGTH),
		},
		.operands = {
			.op = EMULATE_MOV,
			.to = EMULATE_NONE, .from = EMULATE_NONE,
			.base = EMULATE_NONE, .index = EMULATE_NONE,
		},
	};

	*ret = (struct pguard_window){ 0 };
	ret->length = window_read_relative(ret, insn, size);
	if (ret->length)
		return ret->target < 0 && ret->target > -ret->length ? -EOPNOTSUPP : 0;
	*ret = (struct pguard_window){ .kind = WINDOW_PLAIN };
	if (!window_read(&reader) || reader.bytes.is_short)
		return -EOPNOTSUPP;
	ret->length = (__u8)(reader.bytes.at - insn);
	if (ret->length < WINDOW_MIN || !window_is_plain(&reader, ret->length))
		return -EOPNOTSUPP;
	if (reader.operands.base == EMULATE_IP)
		ret->disp_at = (__u8)(reader.bytes.disp_at - insn);
	return 0;
}

#endif /* _PERFGUARD_WINDOW_H */
