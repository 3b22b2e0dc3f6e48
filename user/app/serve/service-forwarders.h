/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The processes by which the service speaks with other machines: one for each output that is
 * configured passes alerts on from the spool, and one shares profiles now and then.  One that has
 * ended is started again, after a while.
 */
#ifndef _USER_APP_SERVE_SERVICE_FORWARDERS_H
#define _USER_APP_SERVE_SERVICE_FORWARDERS_H

#include <stddef.h>
#include <stdint.h>

#include "app/common/child.h"
#include "app/forward/forwarder.h"

struct service_config;
struct spool;

enum { SYNC = NR_FORWARDS, NR_SPEAKERS };

struct service_forwarders {
	struct service_forwarder {
		struct child child;
		uint64_t due_ns; /* CLOCK_MONOTONIC: when it is started; UINT64_MAX: never */
		uint64_t wait_ns; /* before the last start */
	} of[NR_SPEAKERS];
	uint64_t sync_ns; /* between two times that profiles are shared */
	const char *config_path;
};

/* From now on these; those of before are ended.  They are started by the tick. */
void service_forwarders_change(struct service_forwarders *forwarders,
			       const struct service_config *config, const char *config_path);

/* Start those that are due. */
void service_forwarders_tick(struct service_forwarders *forwarders, uint64_t now_ns);

/* When the tick is due, unless SIGCHLD comes before; UINT64_MAX: never. */
uint64_t service_forwarders_due(const struct service_forwarders *forwarders);

void service_forwarders_stop(struct service_forwarders *forwarders);

/* Add to @text, of @size bytes, how far each is, by what the spool has. */
void service_forwarders_describe(const struct spool *spool, char *text, size_t size);

#endif /* _USER_APP_SERVE_SERVICE_FORWARDERS_H */
