// SPDX-License-Identifier: GPL-2.0

#include "out/address.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

const char *address_format(const requests_address from, char text[ADDRESS_TEXT_MAX])
{
	char host[INET6_ADDRSTRLEN];
	struct sockaddr_in6 in6;
	struct sockaddr_in in;

	memcpy(&in6, from, REQUESTS_ADDRESS_BYTES);
	memcpy(&in, from, sizeof(in));
	switch (in.sin_family) {
	case 0:
		return NULL;
	case AF_INET:
		inet_ntop(AF_INET, &in.sin_addr, host, sizeof(host));
		snprintf(text, ADDRESS_TEXT_MAX, "%s:%d", host, ntohs(in.sin_port));
		return text;
	case AF_INET6:
		inet_ntop(AF_INET6, &in6.sin6_addr, host, sizeof(host));
		snprintf(text, ADDRESS_TEXT_MAX, "[%s]:%d", host, ntohs(in6.sin6_port));
		return text;
	default:
		return "a local socket";
	}
}

/* As IPv6 has it; false if there is none. */
static bool map(const requests_address from, struct in6_addr *ret_host, in_port_t *ret_port)
{
	struct sockaddr_in6 in6;
	struct sockaddr_in in;

	memcpy(&in6, from, REQUESTS_ADDRESS_BYTES);
	memcpy(&in, from, sizeof(in));
	switch (in.sin_family) {
	case AF_INET:
		*ret_host = (struct in6_addr){ .s6_addr = { [10] = 0xff, [11] = 0xff } };
		memcpy(&ret_host->s6_addr[12], &in.sin_addr, sizeof(in.sin_addr));
		*ret_port = in.sin_port;
		return true;
	case AF_INET6:
		*ret_host = in6.sin6_addr;
		*ret_port = in6.sin6_port;
		return true;
	}
	return false;
}

bool address_is_same(const requests_address a, const requests_address b)
{
	struct in6_addr hosts[2];
	in_port_t ports[2];

	return map(a, &hosts[0], &ports[0]) && map(b, &hosts[1], &ports[1]) &&
	       ports[0] == ports[1] && !memcmp(&hosts[0], &hosts[1], sizeof(hosts[0]));
}
