/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The site of a guard in a function.
 *
 * A uprobe whose instruction the kernel single-steps costs eight times as much
 * as others, in a virtual machine.  Every kernel from 6.1 on emulates push of a
 * register, nop, and relative jumps, branches and calls; the module emulates
 * most others that leave SP alone.  For push and call the kernel writes to the
 * stack, so they are taken only if no better site follows that every entry
 * passes exactly once.
 */
#ifndef _USER_BINARY_CODE_PROBE_SITE_H
#define _USER_BINARY_CODE_PROBE_SITE_H

#include <stdint.h>

#include "binary/code/functions.h"
#include "binary/code/insn.h"

/* How a probed instruction is executed. */
enum step_mode {
	STEP_MODE_KERNEL, /* emulated by the kernel */
	STEP_MODE_MODULE, /* emulated by the module */
	STEP_MODE_STEPPED,
	STEP_MODE_REFUSED, /* by the kernel; or executed wrongly, or counted more than once */
};

enum probe_site_class {
	PROBE_SITE_CHEAP, /* not stepped */
	PROBE_SITE_STEPPED, /* at the entry */
	PROBE_SITE_NONE, /* no guard can be here */
};

struct probe_site {
	enum probe_site_class class;
	uint64_t offset; /* in the file */
	/*
	 * SP at the function's entry less SP at the site, bytes: the return
	 * address is at SP + sp_delta.
	 */
	uint32_t sp_delta;
};

/* The step mode of @insn, which was decoded from @bytes. */
enum step_mode probe_site_step_mode(const uint8_t *bytes, const struct insn *insn);

/* False for what is no function, or one whose entry is not passed once in each call. */
bool probe_site_is_possible(const struct function *function);

void probe_site_find(const struct functions *functions, const struct function *function,
	       struct probe_site *ret);

#endif /* _USER_BINARY_CODE_PROBE_SITE_H */
