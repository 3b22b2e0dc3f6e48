/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Where in a function a guard goes.
 *
 * A uprobe whose instruction the kernel single-steps costs eight times another,
 * in a virtual machine.  Every kernel from 6.1 on emulates push of a register,
 * nop, and relative jumps, branches and calls; the module carries out most
 * others that leave SP alone.  Of push and call the kernel makes a write to the
 * stack, so they are taken only if nothing better comes behind them that every
 * entry comes by exactly once.
 */
#ifndef _USER_BINARY_CODE_PROBE_SITE_H
#define _USER_BINARY_CODE_PROBE_SITE_H

#include <stdint.h>

#include "binary/code/functions.h"
#include "binary/code/insn.h"

/* What becomes of a probed instruction. */
enum site_probe {
	SITE_PROBE_KERNEL, /* emulates it */
	SITE_PROBE_MODULE, /* carries it out */
	SITE_PROBE_STEPPED,
	SITE_PROBE_REFUSED, /* or does wrong, or counts more than once */
};

enum site_class {
	SITE_CHEAP, /* not stepped */
	SITE_STEPPED, /* at the entry */
	SITE_NONE, /* no guard can be here */
};

struct site {
	enum site_class class;
	uint64_t offset; /* in the file */
	/*
	 * SP at the function's entry less SP at the site, bytes: the return
	 * address is at SP + sp_delta.
	 */
	uint32_t sp_delta;
};

/* Of the instruction @insn, which @bytes were decoded to. */
enum site_probe site_probe(const uint8_t *bytes, const struct insn *insn);

void site_find(const struct functions *functions, const struct function *function,
	       struct site *ret);

#endif /* _USER_BINARY_CODE_PROBE_SITE_H */
