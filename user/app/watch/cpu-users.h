/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which processes the CPUs are used by: the difference of two readings of /proc.
 */
#ifndef _USER_APP_WATCH_CPU_USERS_H
#define _USER_APP_WATCH_CPU_USERS_H

#include <stdint.h>

struct alert_cpu_user;

struct cpu_user {
	uint32_t pid;
	char comm[16];
	uint64_t ticks; /* since it was started; of sysconf(_SC_CLK_TCK) */
};

/* By pid. */
struct cpu_users {
	struct cpu_user *users;
	uint32_t nr;
	uint64_t at_ns; /* CLOCK_MONOTONIC */
};

/* Read all processes that are seen.  Returns 0 or -ENOMEM; cpu_users_deinit() in either case. */
int cpu_users_read(struct cpu_users *users);
void cpu_users_deinit(struct cpu_users *users);

/*
 * The at most @max processes that used most between two readings, with names in @after;
 * returns how many.
 */
uint32_t cpu_users_most(const struct cpu_users *before, const struct cpu_users *after,
			struct alert_cpu_user *ret, uint32_t max);

#endif /* _USER_APP_WATCH_CPU_USERS_H */
