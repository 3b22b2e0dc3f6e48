// SPDX-License-Identifier: GPL-2.0

#include "binary/code/window-site.h"

#include <perfguard/window.h>

#include "binary/code/probe-site.h"
#include "binary/file/elf.h"

static bool is_indirect(const struct insn *insn)
{
	return insn->flow == INSN_CALL_INDIRECT || insn->flow == INSN_JUMP_INDIRECT;
}

static enum window_verdict judge(const uint8_t *bytes, const struct insn *insn)
{
	struct pguard_window window;

	if (insn->size < WINDOW_MIN)
		return WINDOW_SITE_NONE;
	if (insn->id == X86_INS_NOP && (insn->size == 5 || insn->size == 10))
		return WINDOW_SITE_NOP;
	if (probe_site_step_mode(bytes, insn) == STEP_MODE_REFUSED)
		return WINDOW_SITE_REFUSED;
	if (is_indirect(insn))
		return WINDOW_SITE_INDIRECT;
	/* Both decoders must agree on the length. */
	if (pguard_window_prepare(&window, bytes, insn->size) || window.length != insn->size)
		return WINDOW_SITE_FAULTS;
	return WINDOW_SITE_FOUND;
}

static bool is_stepped(const uint8_t *bytes, const struct insn *insn)
{
	return probe_site_step_mode(bytes, insn) == STEP_MODE_STEPPED;
}

/* Code that jumps to behind a prefix executes a part of an instruction. */
static bool is_jumped_into(const struct function *function, uint32_t at, uint32_t size)
{
	for (uint32_t i = 1; i < size; i++)
		if (function_is_target(function, at + i))
			return true;
	return false;
}

/* Returns true if no better one can follow. */
static bool take(const uint8_t *bytes, const struct insn *insn, const struct window_site *site,
		 struct window_site *ret)
{
	if (site->verdict != WINDOW_SITE_FOUND) {
		if (ret->verdict == WINDOW_SITE_NONE)
			ret->verdict = site->verdict;
		return false;
	}
	if (ret->verdict != WINDOW_SITE_FOUND || !is_stepped(bytes, insn))
		*ret = *site;
	return !is_stepped(bytes, insn);
}

void window_site_find(const struct functions *functions, const struct function *function,
		      struct window_site *ret)
{
	const uint8_t *code = functions->view->bytes + function->offset;
	int64_t sp_delta = 0;
	struct insn insn;

	*ret = (struct window_site){ .verdict = WINDOW_SITE_NONE };
	if (!probe_site_is_possible(function))
		return;
	for (uint32_t at = 0; at < function->size; at += insn.size) {
		struct window_site site = { .offset = function->offset + at };

		if ((at && function_is_target(function, at)) ||
		    !insn_decode(&functions->decoder, code + at, function->size - at,
				 function->addr + at, &insn) ||
		    sp_delta < 0 || sp_delta > INT32_MAX)
			return;
		site.sp_delta = (uint32_t)sp_delta;
		site.verdict = judge(code + at, &insn);
		if (is_jumped_into(function, at, insn.size))
			return;
		if (take(code + at, &insn, &site, ret) || insn.flow != INSN_NEXT || !insn.is_sp_known)
			return;
		sp_delta += insn.sp_effect;
	}
}
