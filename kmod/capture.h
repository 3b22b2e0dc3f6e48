/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Requests to a running thread to copy its own stack on its way to user mode,
 * by task work.
 *
 * A queued task work cannot be taken back from a module, so a request may
 * outlive the wish for it: it is abandoned, and does nothing when the thread
 * comes by.  The module stays until every request has run.
 */
#ifndef _PGUARD_CAPTURE_H
#define _PGUARD_CAPTURE_H

#include <linux/types.h>

struct pguard_capture;
struct pguard_stack;
struct pguard_task;

struct pguard_capture *pguard_capture_start(struct pguard_task *state);
struct pguard_stack *pguard_capture_wait(struct pguard_capture *capture);
bool pguard_capture_abandon(struct pguard_capture *capture);
void pguard_capture_put(struct pguard_capture *capture);

void pguard_capture_deinit(void);

#endif /* _PGUARD_CAPTURE_H */
