/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Where the service's alerts go: all to the spool; those that watch would print, and that are not
 * silenced, to the journal and to the command for alerts.
 */
#ifndef _USER_APP_SERVE_SERVICE_OUTPUTS_H
#define _USER_APP_SERVE_SERVICE_OUTPUTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "app/serve/alert-counts.h"
#include "app/serve/alert-hook.h"
#include "app/serve/service-config.h"
#include "app/watch/alert-sink.h"
#include "store/spool.h"

struct service_outputs {
	struct alert_sink sink;
	const struct service_config *config; /* lent */
	struct spool *spool; /* NULL: none */
	uint64_t failed_at; /* unsaved alerts when the spool failed first; 0: it does not fail */
	uint64_t failed_ns; /* CLOCK_MONOTONIC, when it did last */
	struct alert_hook hook;
	char *replaced; /* a program whose file was; who takes it frees it */
	uint64_t reported; /* alerts */
	uint64_t silenced;
	struct alert_counts counts;
	char *text;
	char *json;
	size_t text_size;
	size_t json_size;
};

/* Returns 0 or an exit code, reported; service_outputs_deinit() in either case. */
int service_outputs_init(struct service_outputs *outputs, const struct service_config *config);
void service_outputs_deinit(struct service_outputs *outputs);

/*
 * Go on with another configuration.  Where its spool cannot be opened the one before is kept,
 * which was reported.
 */
void service_outputs_change(struct service_outputs *outputs, const struct service_config *config);

/* Set *@ret_seq to the module's record that is wanted next, if that is known. */
void service_outputs_next(const struct service_outputs *outputs, uint64_t *ret_seq);

#endif /* _USER_APP_SERVE_SERVICE_OUTPUTS_H */
