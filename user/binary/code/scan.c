// SPDX-License-Identifier: GPL-2.0

#include "binary/code/scan.h"

#include "binary/file/reader.h"

/* The fields that follow an opcode. */
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

enum {
	REX_W = 8,
	MAX_SIZE = 15, /* bytes of an instruction */
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
	uint64_t value = reader_bytes(reader, size);

	return size && size < 8 ? (int64_t)(value << (64 - 8 * size)) >> (64 - 8 * size) :
				  (int64_t)value;
}

/* Returns the first byte that is no prefix. */
static uint8_t read_prefixes(struct reader *reader, struct scan_encoding *encoding)
{
	for (;;) {
		uint8_t byte = next_byte(reader);

		switch (byte) {
		case 0x26: case 0x2e: case 0x36: case 0x3e:
			encoding->prefixes |= SCAN_ES_TO_DS;
			break;
		case 0x64:
			break;
		case 0x65:
			encoding->prefixes |= SCAN_GS;
			break;
		case 0x66:
			encoding->prefixes |= SCAN_66;
			break;
		case 0x67:
			encoding->prefixes |= SCAN_67;
			break;
		case 0xf0:
			encoding->prefixes |= SCAN_LOCK;
			break;
		case 0xf2:
			encoding->prefixes |= SCAN_REPNE;
			break;
		case 0xf3:
			encoding->prefixes |= SCAN_REP;
			break;
		default:
			if (byte >> 4 != 4)
				return byte;
			/* counts only just before the opcode */
			encoding->rex = byte;
			byte = next_byte(reader);
			if (byte >> 4 == 4 || reader->failed)
				return byte;
			reader->at--;
			if (one_byte[byte] != X || byte == 0x62 || byte == 0xc4 || byte == 0xc5 ||
			    byte == 0x0f)
				return next_byte(reader);
			encoding->rex = 0;
			encoding->has_void_rex = true;
		}
	}
}

static void read_modrm(struct reader *reader, struct scan_encoding *encoding)
{
	bool needs_disp = false; /* SIB without a base */
	unsigned int mod;

	encoding->modrm = next_byte(reader);
	mod = encoding->modrm >> 6;
	if (mod == 3)
		return;
	if ((encoding->modrm & 7) == 4)
		needs_disp = (next_byte(reader) & 7) == 5;
	if (mod == 1)
		next_signed(reader, 1);
	else if (mod == 2 || (encoding->modrm & 7) == 5 || needs_disp)
		encoding->disp = next_signed(reader, 4);
	encoding->is_rip_relative = !mod && (encoding->modrm & 7) == 5 &&
				    !(encoding->prefixes & SCAN_67);
}

static void read_immediate(struct reader *reader, struct scan_encoding *encoding, uint8_t fields)
{
	bool is_short = encoding->prefixes & SCAN_66 && !(encoding->rex & REX_W);
	const uint8_t *from = reader->at;

	if (fields & A)
		encoding->imm = next_signed(reader, encoding->prefixes & SCAN_67 ? 4 : 8);
	if (fields & V && encoding->rex & REX_W)
		encoding->imm = next_signed(reader, 8);
	else if (fields & (V | Z))
		encoding->imm = next_signed(reader, is_short ? 2 : 4);
	if (fields & J)
		encoding->imm = next_signed(reader, 4);
	if (fields & W)
		encoding->imm = next_signed(reader, 2);
	if (fields & B)
		encoding->imm = next_signed(reader, 1);
	encoding->imm_size = (uint8_t)(reader->at - from);
}

/* The encodings that came with AVX and AVX-512, by their number of opcode map. */
static void read_vex_body(struct reader *reader, struct scan_encoding *encoding, unsigned int map)
{
	uint8_t fields = M;

	encoding->map = SCAN_MAP_VEX;
	encoding->opcode = next_byte(reader);
	switch (map) {
	case 1: /* without a ModRM byte there is only vzeroupper */
		fields = encoding->opcode == 0x77 ? 0 : M | (two_byte[encoding->opcode] & B);
		break;
	case 3: case 8:
		fields = M | B;
		break;
	case 10:
		fields = M | Z;
		break;
	case 2: case 5: case 6: case 9:
		break;
	default:
		reader->failed = true;
	}
	if (fields & M)
		read_modrm(reader, encoding);
	read_immediate(reader, encoding, fields);
}

static void read_vex(struct reader *reader, struct scan_encoding *encoding, uint8_t first)
{
	unsigned int map = 1;

	if (encoding->rex || encoding->prefixes & (SCAN_66 | SCAN_REP | SCAN_REPNE |
					   SCAN_LOCK))
		reader->failed = true;
	if (first != 0xc5)
		map = next_byte(reader) & (first == 0x62 ? 0x7 : 0x1f);
	next_byte(reader);
	if (first == 0x62)
		next_byte(reader);
	read_vex_body(reader, encoding, map);
}

static void read_two_byte(struct reader *reader, struct scan_encoding *encoding)
{
	uint8_t fields;

	encoding->map = SCAN_MAP_0F;
	encoding->opcode = next_byte(reader);
	fields = two_byte[encoding->opcode];
	if (encoding->opcode == 0x38 || encoding->opcode == 0x3a) {
		encoding->map = SCAN_MAP_LONG;
		fields = encoding->opcode == 0x38 ? M : M | B;
		encoding->opcode = next_byte(reader);
	} else if (encoding->opcode == 0x78 && encoding->prefixes & (SCAN_66 | SCAN_REPNE)) {
		fields = M | W; /* two immediates: extrq, insertq */
	}
	if (fields == X)
		reader->failed = true;
	if (fields & M)
		read_modrm(reader, encoding);
	read_immediate(reader, encoding, fields);
}

static void read_one_byte(struct reader *reader, struct scan_encoding *encoding, uint8_t opcode)
{
	uint8_t fields = one_byte[opcode];

	encoding->opcode = opcode;
	if (fields == X)
		reader->failed = true;
	if (fields & M)
		read_modrm(reader, encoding);
	if ((opcode == 0xf6 || opcode == 0xf7) && !(encoding->modrm & 0x30))
		fields |= opcode == 0xf6 ? B : Z; /* test */
	read_immediate(reader, encoding, fields);
}

static enum insn_flow flow_one_byte(const struct scan_encoding *encoding)
{
	switch (encoding->opcode) {
	case 0x70 ... 0x7f: case 0xe0 ... 0xe3:
		return INSN_BRANCH;
	case 0xc2: case 0xc3: case 0xca: case 0xcb: case 0xcf:
		return INSN_RETURN;
	case 0xc7:
		return encoding->modrm == 0xf8 ? INSN_BRANCH : INSN_NEXT; /* xbegin */
	case 0xcd:
		return INSN_SYSCALL;
	case 0xcc: case 0xf1: case 0xf4:
		return INSN_STOP;
	case 0xe8:
		return INSN_CALL;
	case 0xe9: case 0xeb:
		return INSN_JUMP;
	case 0xff:
		switch (encoding->modrm >> 3 & 7) {
		case 2: case 3:
			return INSN_CALL_INDIRECT;
		case 4: case 5:
			return INSN_JUMP_INDIRECT;
		}
	}
	return INSN_NEXT;
}

static enum insn_flow flow_two_byte(const struct scan_encoding *encoding)
{
	switch (encoding->opcode) {
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

bool scan_insn(const uint8_t *bytes, size_t size, uint64_t addr, struct scan *ret)
{
	struct reader reader = {
		.at = bytes, .end = bytes + (size < MAX_SIZE ? size : MAX_SIZE),
	};
	struct scan_encoding *encoding = &ret->encoding;
	uint8_t first;

	*ret = (struct scan){ .flow = INSN_NEXT };
	first = read_prefixes(&reader, encoding);
	if (reader.failed)
		return false;
	if (first == 0x0f)
		read_two_byte(&reader, encoding);
	else if (first == 0xc4 || first == 0xc5 || first == 0x62)
		read_vex(&reader, encoding, first);
	else if (first == 0x8f && reader.at < reader.end && (*reader.at & 0x1f) >= 8)
		read_vex(&reader, encoding, first); /* XOP */
	else
		read_one_byte(&reader, encoding, first);
	if (reader.failed)
		return false;
	ret->size = (uint8_t)(reader.at - bytes);
	if (encoding->map == SCAN_MAP_ONE)
		ret->flow = flow_one_byte(encoding);
	else if (encoding->map == SCAN_MAP_0F)
		ret->flow = flow_two_byte(encoding);
	if (encoding->is_rip_relative)
		ret->address = addr + ret->size + (uint64_t)encoding->disp;
	if (insn_has_target(ret->flow))
		ret->target = addr + ret->size + (uint64_t)encoding->imm;
	return true;
}
