/* SPDX-License-Identifier: GPL-2.0 */
/* Carrying out the instruction at a guard site, so that it is not stepped. */
#ifndef _KMOD_PROBE_EMULATE_H
#define _KMOD_PROBE_EMULATE_H

#include <linux/types.h>

#include <perfguard/emulate.h>

struct pt_regs;

bool pguard_emulate(const struct pguard_emulation *emulation, struct pt_regs *regs);

#endif /* _KMOD_PROBE_EMULATE_H */
