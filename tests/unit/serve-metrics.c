// SPDX-License-Identifier: GPL-2.0
/*
 * serve-metrics PORT: made metrics by HTTP, at that port of this machine, as the service
 * has them, until it is ended.  serve-metrics -: print them as text of the format 0.0.4, or
 * serve-metrics --open: as OpenMetrics.
 */

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/time.h"
#include "http/http-accept.h"
#include "http/http-endpoint.h"
#include "made-metrics.h"

static struct made_metrics made;
static uint64_t begun_ns;

static int make(void *arg, const char *accept, struct http_page *ret)
{
	bool is_open = http_accept_prefers(accept, "application/openmetrics-text", "text/plain");
	FILE *file = open_memstream(&ret->text, &ret->size);

	(void)arg;
	made_metrics(&made, 100 + (time_now_ns() - begun_ns) / NSEC_PER_SEC);
	if (!file || metrics_text(file, &made.metrics, is_open) || fclose(file))
		return -1;
	ret->type = is_open ? "application/openmetrics-text; version=1.0.0; charset=utf-8" :
			      "text/plain; version=0.0.4; charset=utf-8";
	return 0;
}

static int print(bool is_open)
{
	made_metrics(&made, 100);
	return metrics_text(stdout, &made.metrics, is_open) || fflush(stdout);
}

int main(int argc, char **argv)
{
	static const struct http_source source = { .path = "/metrics", .make = make };
	struct http_endpoint *endpoint;
	struct http_address address;
	struct pollfd fd = { .events = POLLIN };

	begun_ns = time_now_ns();
	if (argc == 2 && argv[1][0] == '-')
		return print(!strcmp(argv[1], "--open"));
	if (argc != 2 || http_address_parse(argv[1], &address) ||
	    http_endpoint_open(&address, &source, &endpoint))
		return 1;
	fd.fd = http_endpoint_fd(endpoint);
	for (;;) {
		uint64_t wait_ns = http_endpoint_run(endpoint);

		poll(&fd, 1, wait_ns > NSEC_PER_SEC ? 1000 : (int)(wait_ns / NSEC_PER_MSEC) + 1);
	}
}
