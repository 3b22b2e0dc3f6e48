// SPDX-License-Identifier: GPL-2.0

#include "binary/code/insn.h"

#include <errno.h>
#include <string.h>

#include "binary/code/scan.h"

int insn_decoder_init(struct insn_decoder *decoder)
{
	memset(decoder, 0, sizeof(*decoder));
	if (cs_open(CS_ARCH_X86, CS_MODE_64, &decoder->handle))
		return -ENOMEM;
	/* before cs_malloc(), which allocates the details only if the option is set */
	cs_option(decoder->handle, CS_OPT_DETAIL, CS_OPT_ON);
	decoder->insn = cs_malloc(decoder->handle);
	if (decoder->insn)
		return 0;
	insn_decoder_deinit(decoder);
	return -ENOMEM;
}

void insn_decoder_deinit(struct insn_decoder *decoder)
{
	if (decoder->insn)
		cs_free(decoder->insn, 1);
	if (decoder->handle)
		cs_close(&decoder->handle);
	memset(decoder, 0, sizeof(*decoder));
}

/*
 * Capstone 4 lacks parts of AVX-512, and without the length of such an
 * instruction the flow of the code would be lost.  None of them jumps or moves
 * the stack pointer.  Returns 0 for other encodings.
 */
static uint8_t vector_size(const uint8_t *bytes, size_t size)
{
	struct scan scan;

	if (!size || (bytes[0] != 0xc5 && bytes[0] != 0xc4 && bytes[0] != 0x62))
		return 0;
	return scan_insn(bytes, size, 0, &scan) ? scan.size : 0;
}

static enum insn_flow find_flow(const struct insn_decoder *decoder)
{
	const cs_x86 *x86 = &decoder->insn->detail->x86;
	bool is_direct = x86->op_count && x86->operands[0].type == X86_OP_IMM;

	switch (decoder->insn->id) {
	case X86_INS_CALL: case X86_INS_LCALL:
		return is_direct ? INSN_CALL : INSN_CALL_INDIRECT;
	case X86_INS_JMP: case X86_INS_LJMP:
		return is_direct ? INSN_JUMP : INSN_JUMP_INDIRECT;
	case X86_INS_RET: case X86_INS_RETF: case X86_INS_RETFQ: case X86_INS_IRET:
	case X86_INS_IRETD: case X86_INS_IRETQ: case X86_INS_SYSRET: case X86_INS_SYSEXIT:
		return INSN_RETURN;
	case X86_INS_SYSCALL: case X86_INS_SYSENTER: case X86_INS_INT:
		return INSN_SYSCALL;
	case X86_INS_INT1: case X86_INS_INT3: case X86_INS_HLT: case X86_INS_UD0:
	case X86_INS_UD2: case X86_INS_UD2B:
		return INSN_STOP;
	}
	return is_direct && cs_insn_group(decoder->handle, decoder->insn,
					  X86_GRP_BRANCH_RELATIVE) ? INSN_BRANCH : INSN_NEXT;
}

static bool is_sp(const cs_x86_op *op)
{
	return op->type == X86_OP_REG && (op->reg == X86_REG_RSP || op->reg == X86_REG_ESP ||
					  op->reg == X86_REG_SP || op->reg == X86_REG_SPL);
}

static bool writes_sp(const cs_insn *insn)
{
	const cs_detail *detail = insn->detail;

	if (insn->id == X86_INS_ENTER) /* Capstone omits it there */
		return true;
	for (uint8_t i = 0; i < detail->regs_write_count; i++)
		if (detail->regs_write[i] == X86_REG_RSP || detail->regs_write[i] == X86_REG_ESP)
			return true;
	for (uint8_t i = 0; i < detail->x86.op_count; i++)
		if (is_sp(&detail->x86.operands[i]) &&
		    detail->x86.operands[i].access != CS_AC_READ)
			return true;
	return false;
}

/* The effect of an instruction that writes SP.  Returns false if the effect is unknown. */
static bool find_sp_effect(const cs_insn *insn, int64_t *ret)
{
	const cs_x86 *x86 = &insn->detail->x86;
	const cs_x86_op *ops = x86->operands;
	bool by_constant = ops[0].type == X86_OP_REG && ops[0].reg == X86_REG_RSP &&
			   ops[1].type == X86_OP_IMM;

	*ret = 0;
	if (insn->id == X86_INS_CALL)
		return true;
	if (x86->prefix[2]) /* 66: words are pushed and popped */
		return false;
	switch (insn->id) {
	case X86_INS_PUSH: case X86_INS_PUSHFQ:
		*ret = 8;
		return true;
	case X86_INS_POP: case X86_INS_POPFQ:
		*ret = -8;
		return !x86->op_count || !is_sp(&ops[0]);
	case X86_INS_SUB:
		*ret = by_constant ? ops[1].imm : 0;
		return by_constant;
	case X86_INS_ADD:
		*ret = by_constant ? -ops[1].imm : 0;
		return by_constant;
	case X86_INS_LEA:
		if (ops[0].reg != X86_REG_RSP || ops[1].mem.base != X86_REG_RSP ||
		    ops[1].mem.index != X86_REG_INVALID)
			return false;
		*ret = -ops[1].mem.disp;
		return true;
	}
	return false;
}

static void take_operands(const cs_insn *insn, struct insn *ret)
{
	const cs_x86 *x86 = &insn->detail->x86;

	for (uint8_t i = 0; i < x86->op_count; i++) {
		const cs_x86_op *op = &x86->operands[i];

		if (i < sizeof(ret->ops) / sizeof(ret->ops[0]))
			ret->ops[i] = *op;
		if (op->type != X86_OP_MEM || op->mem.base != X86_REG_RIP)
			continue;
		ret->is_rip_relative = true;
		ret->address = insn->address + insn->size + (uint64_t)op->mem.disp;
	}
}

bool insn_decode(const struct insn_decoder *decoder, const uint8_t *bytes, size_t size,
		 uint64_t addr, struct insn *ret)
{
	const cs_insn *insn = decoder->insn;

	memset(ret, 0, sizeof(*ret));
	if (!cs_disasm_iter(decoder->handle, &bytes, &size, &addr, decoder->insn)) {
		ret->size = vector_size(bytes, size);
		ret->is_sp_known = true;
		return ret->size;
	}
	ret->id = insn->id;
	ret->size = (uint8_t)insn->size;
	ret->flow = find_flow(decoder);
	take_operands(insn, ret);
	if (insn_has_target(ret->flow))
		ret->target = (uint64_t)ret->ops[0].imm;
	ret->is_sp_known = !writes_sp(insn) || find_sp_effect(insn, &ret->sp_effect);
	return true;
}
