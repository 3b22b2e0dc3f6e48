/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Where an endpoint is: an address in numbers, and a port.
 */
#ifndef _USER_HTTP_HTTP_ADDRESS_H
#define _USER_HTTP_HTTP_ADDRESS_H

#include <sys/socket.h>

struct http_address {
	struct sockaddr_storage at;
	socklen_t size; /* 0: nowhere */
};

#define HTTP_ADDRESS_ALLOWED \
	"none, or PORT (of this machine alone), ADDRESS:PORT or [ADDRESS]:PORT, the address in numbers"

/* "9090", "192.0.2.1:9090", "[::1]:9090" or "none".  Returns 0 or -EINVAL. */
int http_address_parse(const char *text, struct http_address *ret);

#endif /* _USER_HTTP_HTTP_ADDRESS_H */
