/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Taking the stack of another thread.
 *
 * A thread that sleeps, or is busy in the kernel, has a stack that stands
 * still and is read from outside.  One that runs in user mode is requested, by
 * task work, to copy its own on its way there.  A queued task work cannot be
 * taken back from a module, so a request may outlive the spec for it: it is
 * abandoned, and does nothing when the thread comes by.  The module stays
 * until every request has run.
 */
#ifndef _KMOD_REPORT_CAPTURE_H
#define _KMOD_REPORT_CAPTURE_H

#include <linux/types.h>

struct pguard_stack;
struct pguard_thread;

struct pguard_stack *pguard_capture_stack(struct pguard_thread *thread);
u64 pguard_capture_torn(void);

void pguard_capture_deinit(void);

#endif /* _KMOD_REPORT_CAPTURE_H */
