/* SPDX-License-Identifier: GPL-2.0 */
/* What kmod/probe/emulate.c needs of the kernel, so that it runs in a test. */
#ifndef _PGUARD_TEST_PTRACE_H
#define _PGUARD_TEST_PTRACE_H

#include <asm/processor-flags.h>
#include <linux/compiler.h>

enum {
	__USER_CS = 0x33,
};

/* In the kernel's order. */
struct pt_regs {
	unsigned long r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di;
	unsigned long orig_ax, ip, cs, flags, sp, ss;
};

#endif /* _PGUARD_TEST_PTRACE_H */
