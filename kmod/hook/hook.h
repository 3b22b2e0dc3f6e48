/* SPDX-License-Identifier: GPL-2.0 */
/* The hooks on the wait calls: where they are, and putting them on and off. */
#ifndef _KMOD_HOOK_HOOK_H
#define _KMOD_HOOK_HOOK_H

#include <linux/types.h>

/**
 * struct pguard_hook_info - what there is to report about one hook
 * @syscall: number of the wait call
 * @name: its name
 * @direct: by direct call; else a kretprobe serves
 * @missed: waits the kretprobe could not follow
 */
struct pguard_hook_info {
	u32 syscall;
	const char *name;
	bool direct;
	u64 missed;
};

int pguard_hook_attach(void);
void pguard_hook_detach(void);
bool pguard_hook_alive(void);
bool pguard_hook_next(u32 *position, struct pguard_hook_info *ret);

int pguard_hook_init(void);

#endif /* _KMOD_HOOK_HOOK_H */
