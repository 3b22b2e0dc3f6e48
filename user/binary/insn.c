// SPDX-License-Identifier: GPL-2.0

#include "insn.h"

#include <string.h>

enum { RSP = 4 };

/* What follows an opcode. */
enum {
	M = 1 << 0, /* a ModRM byte */
	B = 1 << 1, /* an immediate of 1 byte */
	Z = 1 << 2, /* of 4, or of 2 with prefix 66 */
	W = 1 << 3, /* of 2 */
	J = 1 << 4, /* of 4: a relative target */
	V = 1 << 5, /* of 8 with REX.W, else as Z */
	A = 1 << 6, /* an address of 8, or of 4 with prefix 67 */
	X = 1 << 7, /* there is no such instruction */
};

#define R4(a) a, a, a, a
#define R8(a) R4(a), R4(a)

static const uint8_t one_byte[256] = {
	/* 00 */ R4(M), B, Z, X, X, R4(M), B, Z, X, X,
	/* 10 */ R4(M), B, Z, X, X, R4(M), B, Z, X, X,
	/* 20 */ R4(M), B, Z, X, X, R4(M), B, Z, X, X,
	/* 30 */ R4(M), B, Z, X, X, R4(M), B, Z, X, X,
	/* 40 */ R8(X), R8(X),
	/* 50 */ R8(0), R8(0),
	/* 60 */ X, X, X, M, X, X, X, X, Z, M | Z, B, M | B, R4(0),
	/* 70 */ R8(B), R8(B),
	/* 80 */ M | B, M | Z, X, M | B, R4(M), R8(M),
	/* 90 */ R8(0), 0, 0, X, 0, R4(0),
	/* a0 */ R4(A), R4(0), B, Z, 0, 0, R4(0),
	/* b0 */ R8(B), R8(V),
	/* c0 */ M | B, M | B, W, 0, X, X, M | B, M | Z, W | B, 0, W, 0, 0, B, X, 0,
	/* d0 */ R4(M), X, X, X, 0, R8(M),
	/* e0 */ R8(B), J, J, X, B, R4(0),
	/* f0 */ X, 0, X, X, 0, 0, M, M, R4(0), 0, 0, M, M,
};

static const uint8_t two_byte[256] = {
	/* 00 */ M, M, M, M, X, 0, 0, 0, 0, 0, X, 0, X, M, 0, M | B,
	/* 10 */ R8(M), R8(M),
	/* 20 */ R4(M), R4(X), R8(M),
	/* 30 */ 0, 0, 0, 0, 0, 0, X, 0, X, X, X, X, R4(X),
	/* 40 */ R8(M), R8(M),
	/* 50 */ R8(M), R8(M),
	/* 60 */ R8(M), R8(M),
	/* 70 */ R4(M | B), M, M, M, 0, M, M, X, X, R4(M),
	/* 80 */ R8(J), R8(J),
	/* 90 */ R8(M), R8(M),
	/* a0 */ 0, 0, 0, M, M | B, M, X, X, 0, 0, 0, M, M | B, M, M, M,
	/* b0 */ R8(M), M, M, M | B, M, R4(M),
	/* c0 */ M, M, M | B, M, M | B, M | B, M | B, M, R8(0),
	/* d0 */ R8(M), R8(M),
	/* e0 */ R8(M), R8(M),
	/* f0 */ R8(M), R8(M),
};

/* The bytes that are left; a read beyond the end makes it fail. */
struct reader {
	const uint8_t *at;
	const uint8_t *end;
	bool failed;
};

static uint8_t next_byte(struct reader *reader)
{
	if (reader->at == reader->end) {
		reader->failed = true;
		return 0;
	}
	return *reader->at++;
}

static int64_t next_signed(struct reader *reader, unsigned int size)
{
	uint64_t value = 0;

	if ((size_t)(reader->end - reader->at) < size) {
		reader->failed = true;
		return 0;
	}
	memcpy(&value, reader->at, size);
	reader->at += size;
	return size && size < 8 ? (int64_t)(value << (64 - 8 * size)) >> (64 - 8 * size) :
				  (int64_t)value;
}

/* Returns the first byte that is no prefix. */
static uint8_t read_prefixes(struct reader *reader, struct insn *insn)
{
	for (;;) {
		uint8_t byte = next_byte(reader);

		switch (byte) {
		case 0x26: case 0x2e: case 0x36: case 0x3e:
			insn->prefixes |= INSN_PREFIX_ES_TO_DS;
			break;
		case 0x64: case 0x65:
			insn->prefixes |= INSN_PREFIX_FS_GS;
			break;
		case 0x66:
			insn->prefixes |= INSN_PREFIX_66;
			break;
		case 0x67:
			insn->prefixes |= INSN_PREFIX_67;
			break;
		case 0xf0:
			insn->prefixes |= INSN_PREFIX_LOCK;
			break;
		case 0xf2:
			insn->prefixes |= INSN_PREFIX_REPNE;
			break;
		case 0xf3:
			insn->prefixes |= INSN_PREFIX_REP;
			break;
		default:
			if (byte >> 4 != 4)
				return byte;
			/* counts only just before the opcode */
			insn->rex = byte;
			byte = next_byte(reader);
			if (byte >> 4 == 4 || reader->failed)
				return byte;
			reader->at--;
			if (one_byte[byte] != X || byte == 0x62 || byte == 0xc4 || byte == 0xc5 ||
			    byte == 0x0f)
				return next_byte(reader);
			insn->rex = 0;
		}
	}
}

static void read_modrm(struct reader *reader, struct insn *insn)
{
	unsigned int mod;

	insn->has_modrm = true;
	insn->modrm = next_byte(reader);
	mod = insn_mod(insn);
	if (mod == 3)
		return;
	if ((insn->modrm & 7) == 4) {
		insn->has_sib = true;
		insn->sib = next_byte(reader);
	}
	if (mod == 1)
		insn->disp = (int32_t)next_signed(reader, 1);
	else if (mod == 2 || (insn->modrm & 7) == 5 || (insn->has_sib && (insn->sib & 7) == 5))
		insn->disp = (int32_t)next_signed(reader, 4);
}

static void read_immediate(struct reader *reader, struct insn *insn, uint8_t what)
{
	bool is_short = insn->prefixes & INSN_PREFIX_66 && !(insn->rex & INSN_REX_W);

	if (what & A)
		insn->imm = next_signed(reader, insn->prefixes & INSN_PREFIX_67 ? 4 : 8);
	if (what & V && insn->rex & INSN_REX_W)
		insn->imm = next_signed(reader, 8);
	else if (what & (V | Z))
		insn->imm = next_signed(reader, is_short ? 2 : 4);
	if (what & J)
		insn->imm = next_signed(reader, 4);
	if (what & W)
		insn->imm = next_signed(reader, 2);
	if (what & B)
		insn->imm = next_signed(reader, 1);
}

/* The encodings that came with AVX and AVX-512, by their number of opcode map. */
static void read_vex_body(struct reader *reader, struct insn *insn, unsigned int map)
{
	uint8_t what = M;

	insn->map = INSN_MAP_VEX;
	insn->opcode = next_byte(reader);
	switch (map) {
	case 1:
		what = two_byte[insn->opcode] & (M | B);
		break;
	case 3: case 8:
		what = M | B;
		break;
	case 10:
		what = M | Z;
		break;
	case 2: case 5: case 6: case 9:
		break;
	default:
		reader->failed = true;
	}
	if (what & M)
		read_modrm(reader, insn);
	read_immediate(reader, insn, what);
}

static void read_vex(struct reader *reader, struct insn *insn, uint8_t first)
{
	unsigned int map = 1;

	if (insn->rex || insn->prefixes & (INSN_PREFIX_66 | INSN_PREFIX_REP | INSN_PREFIX_REPNE |
					   INSN_PREFIX_LOCK))
		reader->failed = true;
	if (first != 0xc5)
		map = next_byte(reader) & (first == 0x62 ? 0x7 : 0x1f);
	next_byte(reader);
	if (first == 0x62)
		next_byte(reader);
	read_vex_body(reader, insn, map);
}

static void read_two_byte(struct reader *reader, struct insn *insn)
{
	uint8_t what;

	insn->map = INSN_MAP_0F;
	insn->opcode = next_byte(reader);
	what = two_byte[insn->opcode];
	if (insn->opcode == 0x38 || insn->opcode == 0x3a) {
		insn->map = insn->opcode == 0x38 ? INSN_MAP_0F38 : INSN_MAP_0F3A;
		what = insn->opcode == 0x38 ? M : M | B;
		insn->opcode = next_byte(reader);
	} else if (insn->opcode == 0x78 && insn->prefixes & (INSN_PREFIX_66 | INSN_PREFIX_REPNE)) {
		what = M | W; /* two immediates: extrq, insertq */
	}
	if (what == X)
		reader->failed = true;
	if (what & M)
		read_modrm(reader, insn);
	read_immediate(reader, insn, what);
}

static void read_one_byte(struct reader *reader, struct insn *insn, uint8_t opcode)
{
	uint8_t what = one_byte[opcode];

	insn->opcode = opcode;
	if (what == X)
		reader->failed = true;
	if (what & M)
		read_modrm(reader, insn);
	if ((opcode == 0xf6 || opcode == 0xf7) && !(insn->modrm & 0x30))
		what |= opcode == 0xf6 ? B : Z; /* test */
	read_immediate(reader, insn, what);
}

static enum insn_flow flow_one_byte(const struct insn *insn)
{
	switch (insn->opcode) {
	case 0x70 ... 0x7f: case 0xe0 ... 0xe3:
		return INSN_BRANCH;
	case 0xc2: case 0xc3: case 0xca: case 0xcb: case 0xcf:
		return INSN_RETURN;
	case 0xc7:
		return insn->modrm == 0xf8 ? INSN_BRANCH : INSN_NEXT; /* xbegin */
	case 0xcd:
		return INSN_SYSCALL;
	case 0xcc: case 0xf1: case 0xf4:
		return INSN_STOP;
	case 0xe8:
		return INSN_CALL;
	case 0xe9: case 0xeb:
		return INSN_JUMP;
	case 0xff:
		switch (insn->modrm >> 3 & 7) {
		case 2: case 3:
			return INSN_CALL_INDIRECT;
		case 4: case 5:
			return INSN_JUMP_INDIRECT;
		}
	}
	return INSN_NEXT;
}

static enum insn_flow flow_two_byte(const struct insn *insn)
{
	switch (insn->opcode) {
	case 0x05: case 0x34:
		return INSN_SYSCALL;
	case 0x07: case 0x35:
		return INSN_RETURN;
	case 0x0b: case 0xb9: case 0xff:
		return INSN_STOP;
	case 0x80 ... 0x8f:
		return INSN_BRANCH;
	}
	return INSN_NEXT;
}

bool insn_decode(const uint8_t *bytes, size_t size, uint64_t addr, struct insn *ret)
{
	struct reader reader = { bytes, bytes + (size < INSN_MAX_SIZE ? size : INSN_MAX_SIZE),
				 false };
	uint8_t first;

	memset(ret, 0, sizeof(*ret));
	first = read_prefixes(&reader, ret);
	if (reader.failed)
		return false;
	if (first == 0x0f)
		read_two_byte(&reader, ret);
	else if (first == 0xc4 || first == 0xc5 || first == 0x62)
		read_vex(&reader, ret, first);
	else if (first == 0x8f && reader.at < reader.end && (*reader.at & 0x1f) >= 8)
		read_vex(&reader, ret, first); /* XOP */
	else
		read_one_byte(&reader, ret, first);
	if (reader.failed)
		return false;
	ret->size = (uint8_t)(reader.at - bytes);
	if (ret->map == INSN_MAP_ONE)
		ret->flow = flow_one_byte(ret);
	else if (ret->map == INSN_MAP_0F)
		ret->flow = flow_two_byte(ret);
	if (ret->flow == INSN_CALL || ret->flow == INSN_JUMP || ret->flow == INSN_BRANCH)
		ret->target = addr + ret->size + (uint64_t)ret->imm;
	return true;
}

/* Does it write the register that its ModRM byte names by reg? */
static bool writes_reg(const struct insn *insn)
{
	if (insn->map == INSN_MAP_ONE) {
		switch (insn->opcode) {
		case 0x02: case 0x03: case 0x0a: case 0x0b: case 0x12: case 0x13: case 0x1a:
		case 0x1b: case 0x22: case 0x23: case 0x2a: case 0x2b: case 0x32: case 0x33:
		case 0x63: case 0x69: case 0x6b: case 0x86: case 0x87: case 0x8a: case 0x8b:
		case 0x8d:
			return true;
		}
	} else if (insn->map == INSN_MAP_0F) {
		switch (insn->opcode) {
		case 0x02: case 0x03: case 0x2c: case 0x2d: case 0x40 ... 0x4f: case 0x50:
		case 0xaf: case 0xb6 ... 0xb8: case 0xbc ... 0xbf: case 0xc0: case 0xc1:
		case 0xc5: case 0xd7:
			return true;
		}
	}
	return insn->map == INSN_MAP_0F38 && insn->opcode >= 0xf0;
}

/* Does it write the register that its ModRM byte names by rm? */
static bool writes_rm(const struct insn *insn)
{
	unsigned int number = insn->modrm >> 3 & 7;

	if (insn->map == INSN_MAP_0F)
		return insn->opcode == 0x20 || insn->opcode == 0x21 || insn->opcode == 0x7e ||
		       (insn->opcode & 0xf0) == 0x90 || insn->opcode == 0xa4 ||
		       insn->opcode == 0xa5 || insn->opcode == 0xab || insn->opcode == 0xac ||
		       insn->opcode == 0xad || (insn->opcode & 0xf6) == 0xb0 ||
		       insn->opcode == 0xb3 || insn->opcode == 0xba || insn->opcode == 0xbb ||
		       insn->opcode == 0xc0 || insn->opcode == 0xc1 || insn->opcode == 0xc7 ||
		       insn->opcode == 0x00 || insn->opcode == 0x01 || insn->opcode == 0xae;
	if (insn->map != INSN_MAP_ONE)
		return insn->map == INSN_MAP_0F3A && insn->opcode >= 0x14 && insn->opcode <= 0x17;
	switch (insn->opcode) {
	case 0x00: case 0x01: case 0x08: case 0x09: case 0x10: case 0x11: case 0x18: case 0x19:
	case 0x20: case 0x21: case 0x28: case 0x29: case 0x30: case 0x31:
	case 0x86: case 0x87: case 0x88: case 0x89: case 0x8c: case 0x8f: case 0xc0: case 0xc1:
	case 0xc6: case 0xc7: case 0xd0 ... 0xd3:
		return true;
	case 0x80: case 0x81: case 0x83:
		return number != 7; /* cmp */
	case 0xf6: case 0xf7:
		return number > 1; /* test */
	case 0xfe: case 0xff:
		return number < 2;
	}
	return false;
}

/* add or sub of an immediate, and lea from itself. */
static bool moves_rsp(const struct insn *insn, int64_t *ret)
{
	bool is_wide = insn->rex & INSN_REX_W;

	if (!is_wide || insn->map != INSN_MAP_ONE)
		return false;
	if ((insn->opcode == 0x81 || insn->opcode == 0x83) && insn_mod(insn) == 3 &&
	    insn_rm(insn) == RSP) {
		*ret = insn->modrm >> 3 & 1 ? insn->imm : -insn->imm;
		return (insn->modrm >> 3 & 7) == 0 || (insn->modrm >> 3 & 7) == 5;
	}
	*ret = -(int64_t)insn->disp;
	return insn->opcode == 0x8d && insn_reg(insn) == RSP && insn->has_sib &&
	       insn->sib == 0x24 && insn_mod(insn) && !(insn->rex & (INSN_REX_B | INSN_REX_X));
}

static bool one_byte_effect(const struct insn *insn, int64_t *ret)
{
	bool is_word = insn->prefixes & INSN_PREFIX_66;

	switch (insn->opcode) {
	case 0x50 ... 0x57: case 0x68: case 0x6a: case 0x9c:
		*ret = 8;
		return !is_word;
	case 0x58 ... 0x5f:
		*ret = -8;
		return !is_word && (insn->opcode != 0x58 + RSP || insn->rex & INSN_REX_B);
	case 0x9d:
		*ret = -8;
		return !is_word;
	case 0x8f:
		*ret = -8;
		return !is_word && !(insn_mod(insn) == 3 && insn_rm(insn) == RSP);
	case 0xff:
		if ((insn->modrm >> 3 & 7) != 6)
			break;
		*ret = 8;
		return !is_word;
	case 0x90 + RSP: case 0xb8 + RSP:
		return insn->rex & INSN_REX_B;
	case 0xc8: case 0xc9: /* enter, leave */
		return false;
	}
	return true;
}

bool insn_sp_effect(const struct insn *insn, int64_t *ret)
{
	*ret = 0;
	if (moves_rsp(insn, ret))
		return true;
	*ret = 0;
	if (insn->has_modrm && insn_reg(insn) == RSP && writes_reg(insn))
		return false;
	if (insn->has_modrm && insn_mod(insn) == 3 && insn_rm(insn) == RSP && writes_rm(insn) &&
	    insn->opcode != 0x8f)
		return false;
	if (insn->map == INSN_MAP_0F && insn->opcode == 0xc8 + RSP)
		return insn->rex & INSN_REX_B;
	return insn->map != INSN_MAP_ONE || one_byte_effect(insn, ret);
}
