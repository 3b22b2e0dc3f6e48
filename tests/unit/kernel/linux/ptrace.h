/* SPDX-License-Identifier: GPL-2.0 */
/* What kmod/emulate.c needs of the kernel, so that it runs in a test. */
#ifndef _PGUARD_TEST_PTRACE_H
#define _PGUARD_TEST_PTRACE_H

#include <asm/processor-flags.h>
#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef __s64 s64;

#define likely(condition) (condition)
#define unlikely(condition) (condition)
#define noinline __attribute__((noinline))

enum {
	__USER_CS = 0x33,
};

/* In the kernel's order. */
struct pt_regs {
	unsigned long r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di;
	unsigned long orig_ax, ip, cs, flags, sp, ss;
};

#endif /* _PGUARD_TEST_PTRACE_H */
