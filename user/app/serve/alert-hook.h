/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A command that is run for each alert, with its JSON on stdin.  So many run at once, others wait,
 * and what has no room to wait is left out and counted; one that takes too long is ended, with all
 * that it has started in its process group.
 */
#ifndef _USER_APP_SERVE_ALERT_HOOK_H
#define _USER_APP_SERVE_ALERT_HOOK_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "app/serve/service-config.h"

enum {
	ALERT_HOOK_MAX_RUNNING = 64,
	ALERT_HOOK_MAX_WAITING = 256,
};

struct running_hook {
	pid_t pid;
	uint64_t end_ns; /* CLOCK_MONOTONIC: when it is ended */
	uint32_t nr_signals; /* that it has got */
};

struct alert_hook {
	struct service_hook wanted; /* lent by the configuration */
	struct running_hook running[ALERT_HOOK_MAX_RUNNING];
	uint32_t nr_running;
	int waiting[ALERT_HOOK_MAX_WAITING]; /* files with the JSON, the oldest first */
	uint32_t nr_waiting;
	uint64_t begun;
	uint64_t failed; /* exited with an error, or could not be run */
	uint64_t ended; /* took too long */
	uint64_t left_out; /* had no room to wait */
};

/* From now on another command, or none; those that run go on. */
void alert_hook_change(struct alert_hook *hook, const struct service_hook *wanted);

/* Run it for an alert, now or soon.  Nothing if there is no command. */
void alert_hook_add(struct alert_hook *hook, const char *json, size_t len);

/* Note which have ended, end those that take too long, begin those that wait. */
void alert_hook_tick(struct alert_hook *hook, uint64_t now_ns);

/* When alert_hook_tick() is due, unless SIGCHLD comes before; UINT64_MAX: never. */
uint64_t alert_hook_due(const struct alert_hook *hook);

/* Give those that run a moment, end them, and forget those that wait. */
void alert_hook_stop(struct alert_hook *hook);

#endif /* _USER_APP_SERVE_ALERT_HOOK_H */
