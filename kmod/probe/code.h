/* SPDX-License-Identifier: GPL-2.0 */
/* The instruction under a breakpoint, and who carries it out. */
#ifndef _KMOD_PROBE_CODE_H
#define _KMOD_PROBE_CODE_H

#include <linux/types.h>

#include <perfguard/emulate.h>
#include <perfguard/window.h>

struct file;
struct path;
struct pt_regs;

/**
 * struct pguard_code - an instruction
 * @way: enum perfguard_step_mode
 * @emulation: how the module carries it out, if that is the way
 */
struct pguard_code {
	u32 way;
	struct pguard_emulation emulation;
};

struct file *pguard_code_open(const struct path *path);
int pguard_code_read(struct file *file, u64 offset, struct pguard_code *ret);
int pguard_code_window(struct file *file, u64 offset, u8 insn[EMULATE_MAX_LENGTH],
		       struct pguard_window *ret);
bool pguard_emulate(const struct pguard_emulation *emulation, struct pt_regs *regs);

#endif /* _KMOD_PROBE_CODE_H */
