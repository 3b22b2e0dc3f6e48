/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a service says to who supervises it, by the protocol of sd_notify(3).  Without a
 * supervisor nothing is said.
 */
#ifndef _USER_OUT_SUPERVISOR_H
#define _USER_OUT_SUPERVISOR_H

#include <stdint.h>

void supervisor_ready(const char *status);
void supervisor_status(const char *status);
/* Followed by supervisor_ready(). */
void supervisor_reloading(void);
void supervisor_stopping(const char *status);
/* We are alive. */
void supervisor_watchdog(void);

/* How often we have to say so, at least; 0: it is not wanted. */
uint64_t supervisor_watchdog_ns(void);

#endif /* _USER_OUT_SUPERVISOR_H */
