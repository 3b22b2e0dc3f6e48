// SPDX-License-Identifier: GPL-2.0

#include "binary/code/probe-site.h"

#include <string.h>

#include <perfguard/emulate.h>

#include "binary/code/scan.h"

/*
 * One-byte opcodes that uprobes refuse to step, and those that they must not:
 * interrupts, privileged ones, and those that 64-bit mode lacks.
 */
static bool is_refused_one_byte(const struct scan_encoding *encoding)
{
	switch (encoding->opcode) {
	case 0x6c ... 0x6f: case 0xcc ... 0xcf: case 0xe4 ... 0xe7: case 0xec ... 0xef:
	case 0xf1: case 0xf4: case 0xfa: case 0xfb:
		return true;
	case 0x8e: /* mov to ss puts off exceptions */
		return (encoding->modrm >> 3 & 7) == 2;
	case 0x90: /* xchg, and yet taken for a nop */
		return encoding->rex & 1;
	case 0xc6: case 0xc7: /* xabort, xbegin: relative to the copy that is stepped */
		return encoding->modrm == 0xf8;
	case 0xa4 ... 0xa7: case 0xaa ... 0xaf: /* with rep: a hit for each round */
		return encoding->prefixes & (SCAN_REP | SCAN_REPNE);
	}
	return false;
}

static bool is_refused_two_byte(uint8_t opcode)
{
	switch (opcode) {
	case 0x00: case 0x01: case 0x05 ... 0x09: case 0x0b: case 0x0c: case 0x30: case 0x34:
	case 0x35: case 0x37: case 0x78: case 0x79: case 0xae: case 0xb9: case 0xff:
		return true;
	}
	return false;
}

static bool is_refused(const struct scan_encoding *encoding)
{
	if (encoding->map == SCAN_MAP_VEX || encoding->has_void_rex ||
	    encoding->prefixes & (SCAN_LOCK | SCAN_ES_TO_DS))
		return true;
	if (encoding->map == SCAN_MAP_0F)
		return is_refused_two_byte(encoding->opcode);
	return encoding->map == SCAN_MAP_ONE && is_refused_one_byte(encoding);
}

/* loop and jrcxz, which kernels step */
static bool is_loop(const struct scan_encoding *encoding)
{
	return encoding->map == SCAN_MAP_ONE && encoding->opcode >= 0xe0 && encoding->opcode <= 0xe3;
}

/*
 * The rules of arch/x86/kernel/uprobes.c, of all versions from 6.1 on: an
 * instruction that only some emulate does not count as emulated.  Three traps:
 *
 *  - The kernel takes the opcode of a VEX instruction for a plain one, so vpor
 *    (eb) is taken for a jump and vpcmpeqb (74) for a branch.
 *  - nop with REX.B is xchg, and yet taken for a nop.
 *  - A relative branch with prefix 66 is refused, as processors differ on it.
 */
enum step_mode probe_site_step_mode(const uint8_t *bytes, const struct insn *insn)
{
	struct pguard_emulation emulation;
	struct scan scan;

	if (!scan_insn(bytes, insn->size, 0, &scan) || is_refused(&scan.encoding))
		return STEP_MODE_REFUSED;
	if (pguard_emulate_by_kernel(bytes, insn->size))
		return STEP_MODE_KERNEL;
	if (scan.encoding.prefixes & SCAN_66 && insn_has_target(insn->flow) && !is_loop(&scan.encoding))
		return STEP_MODE_REFUSED;
	/* Both decoders must agree on the length. */
	if (!pguard_emulate_prepare(&emulation, bytes, insn->size) &&
	    emulation.length == insn->size)
		return STEP_MODE_MODULE;
	return STEP_MODE_STEPPED;
}

/*
 * Some kernels (6.18) put a call in place of a nop of five bytes, which writes
 * below SP.  At the entry of a function nothing is there.
 */
static bool is_nop5(const uint8_t *bytes, const struct insn *insn)
{
	static const uint8_t nop5[] = { 0x0f, 0x1f, 0x44, 0x00, 0x00 };

	return insn->size == sizeof(nop5) && !memcmp(bytes, nop5, sizeof(nop5));
}

/* True if a guard at instruction number @nr of the function is not stepped. */
static bool is_cheap(const uint8_t *bytes, const struct insn *insn, int nr)
{
	enum step_mode probe = probe_site_step_mode(bytes, insn);

	if (nr && is_nop5(bytes, insn))
		return false;
	return probe == STEP_MODE_KERNEL || probe == STEP_MODE_MODULE;
}

/*
 * Push and call: the kernel's write to the stack for them costs nearly as much
 * as a guard.
 */
static bool writes_stack(const struct insn *insn)
{
	return insn->flow == INSN_CALL || insn->sp_effect > 0;
}

/* Without symbols or calls to it, only sound code shows that a function starts. */
static bool is_certain(const struct function *function)
{
	return function->is_sound || function->is_called || function->name;
}

bool probe_site_is_possible(const struct function *function)
{
	return !function->is_plt && !function->is_cold && !function->entry_is_target &&
	       is_certain(function);
}

void probe_site_find(const struct functions *functions, const struct function *function,
	       struct probe_site *ret)
{
	enum { MAX_INSNS = 8 };
	const uint8_t *code = functions->view->bytes + function->offset;
	int64_t sp_delta = 0;
	uint32_t at = 0;

	*ret = (struct probe_site){ .class = PROBE_SITE_NONE, .offset = function->offset };
	if (!probe_site_is_possible(function))
		return;
	for (int i = 0; i < MAX_INSNS && at < function->size; i++) {
		struct insn insn;
		bool is_expensive;

		if (at && function_is_target(function, at))
			return;
		if (!insn_decode(&functions->decoder, code + at, function->size - at,
				 function->addr + at, &insn))
			return;
		is_expensive = writes_stack(&insn);
		if (is_cheap(code + at, &insn, i) && sp_delta >= 0 && sp_delta <= INT32_MAX &&
		    !(is_expensive && ret->class == PROBE_SITE_CHEAP)) {
			*ret = (struct probe_site){ PROBE_SITE_CHEAP, function->offset + at,
					      (uint32_t)sp_delta };
			if (!is_expensive)
				return;
		}
		if (!i && probe_site_step_mode(code, &insn) == STEP_MODE_STEPPED)
			ret->class = PROBE_SITE_STEPPED;
		if (insn.flow != INSN_NEXT || !insn.is_sp_known)
			return;
		sp_delta += insn.sp_effect;
		at += insn.size;
	}
}
