/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The service's metrics by HTTP.  They are read when they are asked for, by the thread that does
 * all else, and at most once a second.
 */
#ifndef _USER_APP_SERVE_SERVICE_METRICS_H
#define _USER_APP_SERVE_SERVICE_METRICS_H

#include "http/http-endpoint.h"
#include "out/metrics/metrics-memory.h"

struct link;
struct profile_cache;
struct service_outputs;
struct service_profiles;

/* What they are of; lent. */
struct metrics_sources {
	struct link *link;
	struct profile_cache *cache;
	const struct service_profiles *profiles;
	const struct service_outputs *outputs;
};

struct service_metrics {
	struct metrics_sources sources;
	struct http_source source;
	struct http_address address; /* where they are */
	struct http_endpoint *endpoint; /* NULL: nowhere */
	struct metrics_memory memory;
	uint64_t read_ns; /* CLOCK_MONOTONIC: the next are of then; 0: there are none */
	int error; /* there are none, either */
	struct http_page plain;
	struct http_page open;
};

void service_metrics_init(struct service_metrics *metrics, const struct metrics_sources *sources);
void service_metrics_deinit(struct service_metrics *metrics);

/*
 * From here on they are at this address, or nowhere.  Returns 0 or an exit code, reported: then
 * they are where they were.
 */
int service_metrics_move(struct service_metrics *metrics, const struct http_address *address);

/* What there is to do is done when this is readable; -1: never. */
int service_metrics_fd(const struct service_metrics *metrics);
/* Returns within how many ns to be called again. */
uint64_t service_metrics_run(struct service_metrics *metrics);

#endif /* _USER_APP_SERVE_SERVICE_METRICS_H */
