// SPDX-License-Identifier: GPL-2.0

#include "out/address.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/utf8.h"

static struct perfguard_local_address local_of(const requests_address from)
{
	struct perfguard_local_address ret;

	memcpy(&ret, from, sizeof(ret));
	return ret;
}

static const char *format_local(const requests_address from, char text[ADDRESS_TEXT_MAX])
{
	const struct perfguard_local_address local = local_of(from);
	uint32_t pid = local.pid;

	if (!pid)
		return "a local socket";
	if (local.by_signal) {
		snprintf(text, ADDRESS_TEXT_MAX, "process %" PRIu32, pid);
		return text;
	}
	snprintf(text, ADDRESS_TEXT_MAX, "a local socket of process %" PRIu32, pid);
	return text;
}

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
		return format_local(from, text);
	}
}

const char *address_format_peer(const struct slow_request *request, char text[ADDRESS_TEXT_MAX])
{
	char name[REQUESTS_NAME_BYTES + 1] = { 0 };
	size_t length = REQUESTS_NAME_BYTES;

	memcpy(name, request->peer_name, length);
	while (length && !name[length - 1])
		length--;
	if (!length)
		return address_format(request->peer, text);
	/* Abstract ones begin with a zero, and may have others. */
	for (size_t i = 0; i < length; i++)
		if (!name[i])
			name[i] = '@';
	utf8_make_plain(name);
	snprintf(text, ADDRESS_TEXT_MAX, "unix:%s", name);
	return text;
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
	struct perfguard_local_address local = local_of(a), other = local_of(b);

	if (local.family == AF_UNIX && other.family == AF_UNIX)
		return (local.cookie_low || local.cookie_high) &&
		       local.cookie_low == other.cookie_low &&
		       local.cookie_high == other.cookie_high;
	return map(a, &hosts[0], &ports[0]) && map(b, &hosts[1], &ports[1]) &&
	       ports[0] == ports[1] && !memcmp(&hosts[0], &hosts[1], sizeof(hosts[0]));
}
