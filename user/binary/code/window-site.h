/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Where a function is recorded by a jump instead of a breakpoint: one instruction of those
 * that every entry executes exactly once, which is a window (<perfguard/window.h>).
 * The kernel must allow a probe at it, as one stays below the jump; one that would not be
 * single-stepped is preferred, as it serves where the jump cannot be.
 */
#ifndef _USER_BINARY_CODE_WINDOW_SITE_H
#define _USER_BINARY_CODE_WINDOW_SITE_H

#include <stdint.h>

struct function;
struct functions;

/* The reasons are of the first instruction that is long enough. */
enum window_verdict {
	WINDOW_SITE_NONE, /* no instruction is long enough */
	WINDOW_SITE_FOUND,
	WINDOW_SITE_FAULTS, /* it can fault: memory by a register, division, floating point */
	WINDOW_SITE_NOP, /* kernels replace it by themselves */
	WINDOW_SITE_INDIRECT, /* call or jump by a pointer in memory */
	WINDOW_SITE_REFUSED, /* kernels refuse a probe: vector extensions, lock and others */
	WINDOW_SITE_NR,
};

struct window_site {
	enum window_verdict verdict;
	uint32_t sp_delta; /* as of struct probe_site */
	uint64_t offset; /* in the file */
};

void window_site_find(const struct functions *functions, const struct function *function,
		      struct window_site *ret);

#endif /* _USER_BINARY_CODE_WINDOW_SITE_H */
