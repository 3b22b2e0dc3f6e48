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
