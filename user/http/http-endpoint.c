// SPDX-License-Identifier: GPL-2.0

#include "http/http-endpoint.h"

#include <errno.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/duration.h"
#include "base/library.h"
#include "base/time.h"

static struct library http_library = { .soname = LIBRARY_MICROHTTPD };

#define MHD_CALL(name) LIBRARY_CALL(&http_library, name)

enum {
	MAX_CONNECTIONS = 16,
	IDLE_SECONDS = 3, /* for who sends or takes nothing */
	MEMORY_BYTES = 16384, /* of a connection, for what it sends */
	BACKLOG = 32,
};

/* For who goes on sending slowly, too. */
#define LIFE_NS (10 * NSEC_PER_SEC)

struct http_connection {
	int fd; /* MHD's; -1: none */
	uint64_t end_ns; /* CLOCK_MONOTONIC: when it is closed */
};

struct http_endpoint {
	struct MHD_Daemon *daemon;
	const struct http_source *source;
	int fd; /* of all its connections */
	struct http_connection connections[MAX_CONNECTIONS];
};

static enum MHD_Result answer(struct MHD_Connection *connection, unsigned int status,
			      struct MHD_Response *response)
{
	enum MHD_Result ret = MHD_NO;

	if (response)
		ret = MHD_CALL(MHD_queue_response)(connection, status, response);
	if (response)
		MHD_CALL(MHD_destroy_response)(response);
	return ret;
}

static enum MHD_Result refuse(struct MHD_Connection *connection, unsigned int status,
			      const char *why)
{
	struct MHD_Response *response = MHD_CALL(MHD_create_response_from_buffer)(strlen(why), (char *)why,
									MHD_RESPMEM_PERSISTENT);

	if (response && status == MHD_HTTP_METHOD_NOT_ALLOWED)
		MHD_CALL(MHD_add_response_header)(response, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
	if (response)
		MHD_CALL(MHD_add_response_header)(response, MHD_HTTP_HEADER_CONTENT_TYPE,
					"text/plain; charset=utf-8");
	return answer(connection, status, response);
}

static enum MHD_Result send_page(struct http_endpoint *endpoint, struct MHD_Connection *connection)
{
	const char *accept = MHD_CALL(MHD_lookup_connection_value)(connection, MHD_HEADER_KIND,
							 MHD_HTTP_HEADER_ACCEPT);
	struct MHD_Response *response;
	struct http_page page = { 0 };

	if (endpoint->source->make(endpoint->source->arg, accept ?: "", &page))
		return refuse(connection, MHD_HTTP_SERVICE_UNAVAILABLE, "not available now\n");
	response = MHD_CALL(MHD_create_response_from_buffer)(page.size, page.text, MHD_RESPMEM_MUST_FREE);
	if (!response)
		free(page.text);
	else
		MHD_CALL(MHD_add_response_header)(response, MHD_HTTP_HEADER_CONTENT_TYPE, page.type);
	return answer(connection, MHD_HTTP_OK, response);
}

/* What is sent with a request is not read. */
static enum MHD_Result on_request(void *arg, struct MHD_Connection *connection, const char *url,
				  const char *method, const char *version, const char *data,
				  size_t *data_size, void **state)
{
	struct http_endpoint *endpoint = arg;

	(void)version, (void)data, (void)data_size, (void)state;
	if (strcmp(url, endpoint->source->path))
		return refuse(connection, MHD_HTTP_NOT_FOUND, "there is nothing here\n");
	if (strcmp(method, MHD_HTTP_METHOD_GET) && strcmp(method, MHD_HTTP_METHOD_HEAD))
		return refuse(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "GET and HEAD only\n");
	return send_page(endpoint, connection);
}

static void on_connection(void *arg, struct MHD_Connection *connection, void **state,
			  enum MHD_ConnectionNotificationCode code)
{
	const union MHD_ConnectionInfo *info =
		MHD_CALL(MHD_get_connection_info)(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
	struct http_endpoint *endpoint = arg;
	struct http_connection *of = *state;

	if (code == MHD_CONNECTION_NOTIFY_CLOSED && of)
		of->fd = -1;
	for (int i = 0; code == MHD_CONNECTION_NOTIFY_STARTED && info && i < MAX_CONNECTIONS; i++) {
		of = &endpoint->connections[i];
		if (of->fd >= 0)
			continue;
		*of = (struct http_connection){ info->connect_fd, time_now_ns() + LIFE_NS };
		*state = of;
		return;
	}
}

/* Returns the socket or a negative errno. */
static int listen_at(const struct http_address *address)
{
	int fd = socket(address->at.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int yes = 1, error;

	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
	if (address->at.ss_family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &yes, sizeof(yes));
	if (!bind(fd, (const struct sockaddr *)&address->at, address->size) && !listen(fd, BACKLOG))
		return fd;
	error = -errno;
	close(fd);
	return error;
}

static int start(struct http_endpoint *endpoint, int listener)
{
	const union MHD_DaemonInfo *info;

	endpoint->daemon = MHD_CALL(MHD_start_daemon)(
		MHD_USE_EPOLL, 0, NULL, NULL, on_request, endpoint,
		MHD_OPTION_LISTEN_SOCKET, listener,
		MHD_OPTION_CONNECTION_LIMIT, (unsigned int)MAX_CONNECTIONS,
		MHD_OPTION_CONNECTION_TIMEOUT, (unsigned int)IDLE_SECONDS,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)MEMORY_BYTES,
		MHD_OPTION_NOTIFY_CONNECTION, on_connection, endpoint, MHD_OPTION_END);
	if (!endpoint->daemon)
		return -ENOMEM;
	info = MHD_CALL(MHD_get_daemon_info)(endpoint->daemon, MHD_DAEMON_INFO_EPOLL_FD);
	endpoint->fd = info ? info->epoll_fd : -1;
	return endpoint->fd < 0 ? -EOPNOTSUPP : 0;
}

int http_endpoint_open(const struct http_address *address, const struct http_source *source,
		       struct http_endpoint **ret)
{
	struct http_endpoint *endpoint;
	int listener, error = library_load(&http_library);

	*ret = NULL;
	if (error)
		return error;
	endpoint = calloc(1, sizeof(*endpoint));
	if (!endpoint)
		return -ENOMEM;
	endpoint->source = source;
	for (int i = 0; i < MAX_CONNECTIONS; i++)
		endpoint->connections[i].fd = -1;
	listener = listen_at(address);
	error = listener < 0 ? listener : start(endpoint, listener);
	if (!error) {
		*ret = endpoint;
		return 0;
	}
	if (listener >= 0 && !endpoint->daemon)
		close(listener);
	http_endpoint_close(endpoint);
	return error;
}

void http_endpoint_close(struct http_endpoint *endpoint)
{
	if (endpoint && endpoint->daemon)
		MHD_CALL(MHD_stop_daemon)(endpoint->daemon);
	free(endpoint);
}

int http_endpoint_fd(const struct http_endpoint *endpoint)
{
	return endpoint->fd;
}

/* MHD finds that they have ended.  Returns when the next is due. */
static uint64_t end_old(struct http_endpoint *endpoint, uint64_t now_ns)
{
	uint64_t due_ns = UINT64_MAX;

	for (int i = 0; i < MAX_CONNECTIONS; i++) {
		const struct http_connection *of = &endpoint->connections[i];

		if (of->fd >= 0 && of->end_ns <= now_ns)
			shutdown(of->fd, SHUT_RDWR);
		else if (of->fd >= 0 && of->end_ns < due_ns)
			due_ns = of->end_ns;
	}
	return due_ns;
}

uint64_t http_endpoint_run(struct http_endpoint *endpoint)
{
	uint64_t now_ns = time_now_ns(), due_ns = end_old(endpoint, now_ns);
	MHD_UNSIGNED_LONG_LONG ms;

	MHD_CALL(MHD_run)(endpoint->daemon);
	due_ns = due_ns == UINT64_MAX ? due_ns : due_ns - now_ns;
	if (MHD_CALL(MHD_get_timeout)(endpoint->daemon, &ms) == MHD_YES && ms < due_ns / NSEC_PER_MSEC)
		due_ns = ms * NSEC_PER_MSEC;
	return due_ns;
}
