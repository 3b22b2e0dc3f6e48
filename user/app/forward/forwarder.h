/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Alerts of a spool, passed on to another machine: at least once, in their order, for as long as it
 * takes.
 *
 * It is a process of its own, which the service starts for each output (app/serve/) and an operator
 * can: it has no capabilities, does not speak with the module, and nobody waits for it.  Where the
 * other side takes nothing, alerts stay in the spool, until that is full.
 */
#ifndef _USER_APP_FORWARD_FORWARDER_H
#define _USER_APP_FORWARD_FORWARDER_H

#include <stdbool.h>

struct forwarder_options {
	const char *config;
	const char *spool; /* NULL: that of the configuration */
	unsigned int to; /* enum forward_to */
	bool is_once; /* end when all was passed on */
	bool is_child; /* end with the process that has started it */
};

enum forward_to { FORWARD_NATS, FORWARD_OTLP, NR_FORWARDS };

/* Their names, which the cursors have; NULL behind the last. */
extern const char *const forward_names[NR_FORWARDS + 1];

/* Returns an enum cmd_exit; what is wrong was reported. */
int forwarder_run(const struct forwarder_options *options);

#endif /* _USER_APP_FORWARD_FORWARDER_H */
