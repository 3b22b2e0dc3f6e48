// SPDX-License-Identifier: GPL-2.0

#include "http/http-address.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int parse_port(const char *text, in_port_t *ret)
{
	char *end;
	unsigned long port = strtoul(text, &end, 10);

	if (!isdigit((unsigned char)text[0]) || *end || !port || port > UINT16_MAX)
		return -EINVAL;
	*ret = htons((uint16_t)port);
	return 0;
}

static int parse_v4(const char *address, const char *port, struct http_address *ret)
{
	struct sockaddr_in *at = (struct sockaddr_in *)&ret->at;

	at->sin_family = AF_INET;
	ret->size = sizeof(*at);
	if (inet_pton(AF_INET, address, &at->sin_addr) != 1)
		return -EINVAL;
	return parse_port(port, &at->sin_port);
}

static int parse_v6(const char *address, const char *port, struct http_address *ret)
{
	struct sockaddr_in6 *at = (struct sockaddr_in6 *)&ret->at;

	at->sin6_family = AF_INET6;
	ret->size = sizeof(*at);
	if (inet_pton(AF_INET6, address, &at->sin6_addr) != 1)
		return -EINVAL;
	return parse_port(port, &at->sin6_port);
}

int http_address_parse(const char *text, struct http_address *ret)
{
	const char *colon = strrchr(text, ':');
	char address[INET6_ADDRSTRLEN + 2];
	size_t len = colon ? (size_t)(colon - text) : 0;

	memset(ret, 0, sizeof(*ret));
	if (!strcmp(text, "none"))
		return 0;
	if (!colon)
		return parse_v4("127.0.0.1", text, ret);
	if (len >= sizeof(address))
		return -EINVAL;
	memcpy(address, text, len);
	address[len] = '\0';
	if (address[0] != '[')
		return parse_v4(address, colon + 1, ret);
	if (address[len - 1] != ']')
		return -EINVAL;
	address[len - 1] = '\0';
	return parse_v6(address + 1, colon + 1, ret);
}
