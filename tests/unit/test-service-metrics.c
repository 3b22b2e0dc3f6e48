// SPDX-License-Identifier: GPL-2.0
/* Where the service's metrics are, when that changes. */

#include "app/serve/service-metrics.h"

#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "app/common/command.h"
#include "base/log.h"
#include "tap.h"

static struct service_metrics metrics;
static char said[1024];

static void listen_to(enum log_level level, const char *line)
{
	(void)level;
	snprintf(said, sizeof(said), "%s", line);
}

static int move(const char *host, int port)
{
	char text[80];
	struct http_address address;

	if (port)
		snprintf(text, sizeof(text), "%s%d", host, port);
	else
		snprintf(text, sizeof(text), "%s", host);
	if (http_address_parse(text, &address))
		abort();
	said[0] = '\0';
	return service_metrics_move(&metrics, &address);
}

/* Return: true if somebody listens at this port of 127.0.0.1. */
static bool is_there(int port)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port),
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	bool ret = !connect(fd, (struct sockaddr *)&at, sizeof(at));

	close(fd);
	return ret;
}

int main(void)
{
	const struct metrics_sources sources = { 0 };
	int port = 22000 + getpid() % 9000, nr = 0;

	plan(8);
	log_set_writer(listen_to, true);
	service_metrics_init(&metrics, &sources);
	ok(!move("none", 0) && service_metrics_fd(&metrics) < 0, "they are nowhere");
	while (move("", port) && nr++ < 100)
		port++;
	ok(is_there(port) && service_metrics_fd(&metrics) >= 0, "at a port");
	ok(!move("0.0.0.0:", port) && is_there(port), "at that port of all addresses");
	ok(!move("127.0.0.1:", port) && is_there(port), "and back");
	ok(move("192.0.2.77:", port) == CMD_USAGE && strstr(said, "Cannot assign") && is_there(port),
	   "where they cannot be they are not: %s", said);
	ok(!move("127.0.0.1:", port) && is_there(port), "the same address changes nothing");
	ok(!move("none", 0) && !is_there(port) && service_metrics_fd(&metrics) < 0, "they end");
	ok(!move("", port) && is_there(port), "and begin again");
	service_metrics_deinit(&metrics);
	return tap_status();
}
