// SPDX-License-Identifier: GPL-2.0

#include "binary/code/stack-depth.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

enum {
	UNSEEN = -2, /* of a byte of a part */
	CONFLICT = -3, /* it is reached at several depths */
	MAX_DEPTH = 1 << 24,
	REX_W = 8,
	REX_R = 4,
	REX_B = 1,
	RSP = 4,
	RBP = 5,
	FRAME_POINTER = 8, /* depth at which rbp points, where it is pushed first */
};

void stack_depth_function(struct stack_depth *depth)
{
	depth->nr_jumps = 0;
}

int stack_depth_part(struct stack_depth *depth, uint64_t start, uint32_t size, bool is_first)
{
	if (size > depth->max_at) {
		int32_t *at = reallocarray(depth->at, size, sizeof(*at));

		if (!at)
			return -ENOMEM;
		depth->at = at;
		depth->max_at = size;
	}
	for (uint32_t i = 0; i < size; i++)
		depth->at[i] = UNSEEN;
	depth->start = start;
	depth->size = size;
	depth->is_first = is_first;
	stack_depth_again(depth);
	for (uint32_t i = 0; i < depth->nr_jumps; i++)
		if (depth->jumps[i].addr - start < size)
			depth->at[depth->jumps[i].addr - start] = depth->jumps[i].depth;
	return 0;
}

void stack_depth_again(struct stack_depth *depth)
{
	depth->depth = depth->is_first ? 0 : STACK_DEPTH_NONE;
	depth->has_news = false;
}

/* Join what comes to a place from two sides. */
static void join(int32_t *at, int32_t depth)
{
	if (*at == UNSEEN || *at == STACK_DEPTH_NONE)
		*at = depth;
	else if (depth != STACK_DEPTH_NONE && *at != depth)
		*at = CONFLICT;
}

void stack_depth_enter(struct stack_depth *depth, uint64_t addr)
{
	int32_t *at = &depth->at[addr - depth->start];

	join(at, depth->depth);
	depth->depth = *at == CONFLICT ? STACK_DEPTH_NONE : *at;
}

static int64_t disp_of(const uint8_t *bytes, const struct scan *insn)
{
	unsigned int mod = insn->encoding.modrm >> 6;
	const uint8_t *end = bytes + insn->size - insn->encoding.imm_size;
	int32_t disp = 0;

	if (mod == 1)
		return (int8_t)end[-1];
	if (mod == 2)
		memcpy(&disp, end - 4, sizeof(disp));
	return disp;
}

/* lea to rsp, of rsp or rbp and a constant. */
static int64_t lea(int64_t depth, const uint8_t *bytes, const struct scan *insn)
{
	const struct scan_encoding *code = &insn->encoding;
	unsigned int mod = code->modrm >> 6, base = code->modrm & 7;

	if (code->rex & REX_B || !mod)
		return STACK_DEPTH_NONE;
	if (base == RBP)
		return FRAME_POINTER - disp_of(bytes, insn);
	if (base == RSP && bytes[insn->size - (mod == 1 ? 2 : 5)] == 0x24 && depth >= 0)
		return depth - disp_of(bytes, insn);
	return STACK_DEPTH_NONE;
}

/* An instruction with a ModRM byte whose operand there is rsp itself. */
static int64_t change_rsp(int64_t depth, const struct scan *insn)
{
	const struct scan_encoding *code = &insn->encoding;
	unsigned int reg = code->modrm >> 3 & 7;

	switch (code->opcode) {
	case 0x81: case 0x83:
		if (reg == 7) /* cmp */
			return depth;
		if (depth < 0 || (reg != 0 && reg != 5))
			return STACK_DEPTH_NONE;
		return reg ? depth + code->imm : depth - code->imm;
	case 0x89:
		return reg == RBP && !(code->rex & REX_R) ? FRAME_POINTER : STACK_DEPTH_NONE;
	case 0x85: case 0x39: case 0x3b: case 0x8b: case 0x63: /* read it */
		return depth;
	default:
		return STACK_DEPTH_NONE;
	}
}

static int64_t pushed(int64_t depth, const struct scan *insn, int64_t bytes)
{
	return depth < 0 || insn->encoding.prefixes & SCAN_66 ? STACK_DEPTH_NONE : depth + bytes;
}

static bool writes_reg(uint8_t opcode)
{
	return opcode == 0x8b || opcode == 0x8d || opcode == 0x2b || opcode == 0x03 ||
	       opcode == 0x23 || opcode == 0x63;
}

static int64_t change(int64_t depth, const uint8_t *bytes, const struct scan *insn)
{
	const struct scan_encoding *code = &insn->encoding;
	uint8_t opcode = code->opcode, reg = code->modrm >> 3 & 7;

	if (code->map != SCAN_MAP_ONE)
		return depth;
	switch (opcode) {
	case 0x50 ... 0x57: case 0x68: case 0x6a: case 0x9c:
		return pushed(depth, insn, 8);
	case 0x58 ... 0x5f:
		return opcode == 0x5c && !(code->rex & REX_B) ? STACK_DEPTH_NONE
							       : pushed(depth, insn, -8);
	case 0x8f: case 0x9d:
		return pushed(depth, insn, -8);
	case 0xc8:
		return STACK_DEPTH_NONE;
	case 0xc9:
		return 0;
	case 0xff:
		return reg == 6 ? pushed(depth, insn, 8) : depth;
	case 0x8d:
		if (reg == RSP && !(code->rex & REX_R))
			return lea(depth, bytes, insn);
		return depth;
	}
	if (writes_reg(opcode) && reg == RSP && !(code->rex & REX_R) && code->rex & REX_W)
		return STACK_DEPTH_NONE;
	if (code->modrm >> 6 == 3 && (code->modrm & 7) == RSP && code->rex & REX_W &&
	    !(code->rex & REX_B) && opcode != 0xf7 && opcode != 0xd1 && opcode != 0xc1)
		return change_rsp(depth, insn);
	return depth;
}

static int jump(struct stack_depth *depth, uint64_t target)
{
	uint64_t at = target - depth->start;

	if (at >= depth->size) {
		if (array_grow(depth->jumps, depth->nr_jumps, depth->max_jumps))
			return -ENOMEM;
		depth->jumps[depth->nr_jumps++] =
			(struct stack_depth_jump){ target, depth->depth };
	} else {
		int32_t before = depth->at[at];

		join(&depth->at[at], depth->depth);
		/* What is behind us was passed without it. */
		depth->has_news |= before != UNSEEN && before != depth->at[at];
	}
	return 0;
}

int stack_depth_pass(struct stack_depth *depth, const uint8_t *bytes, const struct scan *insn)
{
	int64_t next = change(depth->depth, bytes, insn);
	int error = 0;

	depth->depth = next < 0 || next > MAX_DEPTH ? STACK_DEPTH_NONE : (int32_t)next;
	if (insn->flow == INSN_BRANCH || insn->flow == INSN_JUMP)
		error = jump(depth, insn->target);
	if (insn->flow == INSN_JUMP || insn->flow == INSN_RETURN || insn->flow == INSN_STOP ||
	    (insn->flow == INSN_JUMP_INDIRECT && !depth->depth))
		depth->depth = STACK_DEPTH_NONE;
	return error;
}

void stack_depth_deinit(struct stack_depth *depth)
{
	free(depth->at);
	free(depth->jumps);
}
