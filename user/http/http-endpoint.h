/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One page by HTTP, from the event loop of who opens it: no thread, few connections, each for a
 * short time.  GET and HEAD of that page are answered; what else is asked for is refused.
 */
#ifndef _USER_HTTP_HTTP_ENDPOINT_H
#define _USER_HTTP_HTTP_ENDPOINT_H

#include <stddef.h>
#include <stdint.h>

#include "http/http-address.h"

struct http_endpoint;

/* The page as the client accepts it. */
struct http_page {
	char *text; /* to be freed */
	size_t size;
	const char *type; /* of the content */
};

/* What is served, from where. */
struct http_source {
	const char *path;
	/*
	 * Make the page for who accepts this, by its header; "" without one.  Returns 0, or a
	 * negative errno: then it is not available now.
	 */
	int (*make)(void *arg, const char *accept, struct http_page *ret);
	void *arg;
};

/* Begin.  @source is lent.  Returns 0 or a negative errno, when *@ret is NULL. */
int http_endpoint_open(const struct http_address *address, const struct http_source *source,
		       struct http_endpoint **ret);
void http_endpoint_close(struct http_endpoint *endpoint);

/* Becomes readable when there is something to do. */
int http_endpoint_fd(const struct http_endpoint *endpoint);

/* Do it.  It does not wait.  Returns within how many ns to be called again. */
uint64_t http_endpoint_run(struct http_endpoint *endpoint);

#endif /* _USER_HTTP_HTTP_ENDPOINT_H */
