// SPDX-License-Identifier: GPL-2.0

#include "site.h"

#include <string.h>

/*
 * One-byte opcodes that uprobes refuse to step, and those that it must not:
 * interrupts, privileged ones, and what 64-bit mode does not have.
 */
static bool is_refused_one_byte(const struct insn *insn)
{
	unsigned int number = insn->modrm >> 3 & 7;

	switch (insn->opcode) {
	case 0x6c ... 0x6f: case 0xcc ... 0xcf: case 0xe4 ... 0xe7: case 0xec ... 0xef:
	case 0xf1: case 0xf4: case 0xfa: case 0xfb:
		return true;
	case 0x8e: /* mov to ss puts off exceptions */
		return number == 2;
	case 0xc6: case 0xc7: /* xabort, xbegin: relative to the copy that is stepped */
		return insn->modrm == 0xf8;
	case 0xa4 ... 0xa7: case 0xaa ... 0xaf: /* with rep: a hit for each round */
		return insn->prefixes & (INSN_PREFIX_REP | INSN_PREFIX_REPNE);
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

/*
 * The rules of arch/x86/kernel/uprobes.c, of all versions from 6.1 on: what
 * only some emulate counts as stepped.  Three traps:
 *
 *  - The opcode of a VEX instruction is looked at as if it were a plain one, so
 *    vpor (eb) is taken for a jump and vpcmpeqb (74) for a branch.
 *  - nop with REX.B is xchg, and yet taken for a nop.
 *  - A relative branch with prefix 66 is refused, as processors differ on it.
 */
enum site_probe site_probe(const struct insn *insn)
{
	bool is_branch = insn->flow == INSN_CALL || insn->flow == INSN_JUMP ||
			 insn->flow == INSN_BRANCH;

	if (insn->map == INSN_MAP_VEX ||
	    insn->prefixes & (INSN_PREFIX_LOCK | INSN_PREFIX_ES_TO_DS))
		return SITE_PROBE_REFUSED;
	if (insn->map == INSN_MAP_0F)
		if (is_refused_two_byte(insn->opcode))
			return SITE_PROBE_REFUSED;
	if (insn->map == INSN_MAP_ONE) {
		if (is_refused_one_byte(insn))
			return SITE_PROBE_REFUSED;
		if (insn->opcode == 0x90 && insn->rex & INSN_REX_B)
			return SITE_PROBE_REFUSED;
		if (insn->opcode == 0x90)
			return insn->prefixes & ~INSN_PREFIX_66 || insn->rex ?
				SITE_PROBE_STEPPED : SITE_PROBE_EMULATED;
		if (insn->opcode >= 0x50 && insn->opcode <= 0x57)
			return insn->size == 1 || (insn->size == 2 && insn->rex == 0x41) ?
				SITE_PROBE_EMULATED : SITE_PROBE_STEPPED;
		if (insn->opcode >= 0xe0 && insn->opcode <= 0xe3)
			return SITE_PROBE_STEPPED; /* loop, jrcxz */
	}
	if (!is_branch)
		return SITE_PROBE_STEPPED;
	return insn->prefixes & INSN_PREFIX_66 ? SITE_PROBE_REFUSED : SITE_PROBE_EMULATED;
}

static bool is_target(const struct function *function, uint32_t at)
{
	return at >= SWEEP_NEAR || function->near[at / 64] >> at % 64 & 1;
}

/* Without symbols or calls to it, only sound code shows that it is a start. */
static bool is_certain(const struct function *function)
{
	return function->is_sound || function->is_called || function->name;
}

void site_find(const struct functions *functions, const struct function *function,
	       struct site *ret)
{
	enum { MAX_INSNS = 8 };
	const uint8_t *code = functions->view->bytes + function->offset;
	bool has_endbr64 = false;
	int64_t sp_delta = 0;
	uint32_t at = 0;

	*ret = (struct site){ .class = SITE_NONE, .offset = function->offset };
	if (function->is_plt || function->is_cold || function->entry_is_target ||
	    !is_certain(function))
		return;
	for (int i = 0; i < MAX_INSNS && at < function->size; i++) {
		enum site_probe probe;
		struct insn insn;
		int64_t effect;

		if (at && is_target(function, at))
			return;
		if (!insn_decode(code + at, function->size - at, function->addr + at, &insn))
			return;
		probe = site_probe(&insn);
		if (probe == SITE_PROBE_EMULATED && sp_delta >= 0 && sp_delta <= INT32_MAX) {
			*ret = (struct site){ SITE_CHEAP, function->offset + at,
					      (uint32_t)sp_delta };
			return;
		}
		/* endbr64 is better skipped, and leaves SP alone */
		if (probe == SITE_PROBE_STEPPED && (!i || (i == 1 && has_endbr64)))
			*ret = (struct site){ SITE_STEPPED, function->offset + at, 0 };
		has_endbr64 = !i && insn_is_endbr64(&insn);
		if (insn.flow != INSN_NEXT || !insn_sp_effect(&insn, &effect))
			return;
		sp_delta += effect;
		at += insn.size;
	}
}
