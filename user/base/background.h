/* SPDX-License-Identifier: GPL-2.0 */
/* Background work, at lower priority than the guarded programs. */
#ifndef _USER_BASE_BACKGROUND_H
#define _USER_BASE_BACKGROUND_H

#include <sys/types.h>

/*
 * Lower the priority of this process so that it preempts no other and gets the
 * CPU time that others leave, but never none.  Else handling a late unit would
 * take the CPU from the next units and make them late.  No effect where the
 * system forbids it.
 */
void background_enter(void);

/* Lower that of a process of ours that was started before; 0: of the calling thread alone. */
void background_take(pid_t pid);

#endif /* _USER_BASE_BACKGROUND_H */
