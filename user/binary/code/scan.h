/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The length and the control flow of an x86-64 instruction, and nothing else.
 *
 * Training reads every instruction of a program and its libraries once, to find
 * the few functions that matter.  A disassembler that decodes the operands and
 * writes the text takes over ten times as long; it (insn.h) reads only those
 * functions.  The tests compare the two on whole programs.
 */
#ifndef _USER_BINARY_CODE_SCAN_H
#define _USER_BINARY_CODE_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "binary/code/insn.h"

struct scan {
	uint64_t target; /* where the flow has one */
	enum insn_flow flow;
	uint8_t size; /* bytes */
};

/*
 * Read the instruction at address @addr from at most @size bytes.  Returns
 * false if there is none: bytes that no processor executes, or too few.
 */
bool scan_insn(const uint8_t *bytes, size_t size, uint64_t addr, struct scan *ret);

#endif /* _USER_BINARY_CODE_SCAN_H */
