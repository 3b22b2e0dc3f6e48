/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One x86-64 instruction as Capstone reads it: its length, its control flow, its
 * effect on the stack pointer, and its operands.
 */
#ifndef _USER_BINARY_CODE_INSN_H
#define _USER_BINARY_CODE_INSN_H

#include <capstone/capstone.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum insn_flow {
	INSN_NEXT, /* goes on with the next instruction */
	INSN_CALL, /* relative; has a target */
	INSN_CALL_INDIRECT,
	INSN_JUMP, /* relative; has a target */
	INSN_BRANCH, /* conditional; has a target */
	INSN_JUMP_INDIRECT,
	INSN_RETURN,
	INSN_SYSCALL,
	INSN_STOP, /* int3, ud2, hlt: control does not pass */
};

struct insn {
	uint64_t target; /* where the flow has one */
	uint64_t address; /* of the operand in memory, if it is relative to RIP */
	/*
	 * Bytes by which it lowers the stack pointer, less than 0 if it raises
	 * it.  A call counts as 0: the return pops what it pushes.
	 */
	int64_t sp_effect;
	cs_x86_op ops[2]; /* in Intel's order: the destination comes first */
	unsigned int id; /* enum x86_insn; X86_INS_INVALID: only the size is valid */
	enum insn_flow flow;
	uint8_t size; /* bytes */
	bool is_rip_relative;
	bool is_sp_known; /* the effect follows from the instruction alone */
};

/* Decoder state; for one thread at a time. */
struct insn_decoder {
	csh handle;
	cs_insn *insn;
};

/* Returns 0 or -ENOMEM. */
int insn_decoder_init(struct insn_decoder *decoder);
void insn_decoder_deinit(struct insn_decoder *decoder);

/*
 * Decode the instruction at address @addr from at most @size bytes.  Returns
 * false if the bytes are unknown or too few.
 */
bool insn_decode(const struct insn_decoder *decoder, const uint8_t *bytes, size_t size,
		 uint64_t addr, struct insn *ret);

static inline bool insn_has_target(enum insn_flow flow)
{
	return flow == INSN_CALL || flow == INSN_JUMP || flow == INSN_BRANCH;
}

static inline bool insn_is_call(enum insn_flow flow)
{
	return flow == INSN_CALL || flow == INSN_CALL_INDIRECT;
}

#endif /* _USER_BINARY_CODE_INSN_H */
