/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Profiles of many machines, by way of a bucket (net/nats-profiles.h): those that were trained here
 * are published, and those of the programs that are here are fetched and joined to one profile of
 * each.
 *
 * Each machine publishes what it has learnt itself, never what was joined, so nothing counts twice;
 * and joining does not depend on the order, so all machines have the same.  What is fetched was
 * written by others: it is checked as any profile that is loaded, and has to be of the file that is
 * here.
 */
#ifndef _USER_APP_SYNC_SYNCING_H
#define _USER_APP_SYNC_SYNCING_H

#include <stdbool.h>

struct syncing_options {
	const char *config;
	bool is_child; /* end with the process that has started it, which gets SIGHUP for what is new */
};

/* Returns an enum cmd_exit; what is wrong was reported. */
int syncing_run(const struct syncing_options *options);

#endif /* _USER_APP_SYNC_SYNCING_H */
