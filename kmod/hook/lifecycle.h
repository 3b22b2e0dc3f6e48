/* SPDX-License-Identifier: GPL-2.0 */
/* Processes and threads come and go: fork, exec and exit. */
#ifndef _KMOD_HOOK_LIFECYCLE_H
#define _KMOD_HOOK_LIFECYCLE_H

int pguard_lifecycle_start(void);
void pguard_lifecycle_stop(void);
void pguard_lifecycle_deinit(void);

#endif /* _KMOD_HOOK_LIFECYCLE_H */
