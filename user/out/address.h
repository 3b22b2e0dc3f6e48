/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The other side of a connection, for people and JSON.
 */
#ifndef _USER_OUT_ADDRESS_H
#define _USER_OUT_ADDRESS_H

#include <netinet/in.h>
#include <stdbool.h>

#include "data/requests.h"

/* Brackets, a port and a zero are added to an address. */
#define ADDRESS_TEXT_MAX (INET6_ADDRSTRLEN + 9)

/* "127.0.0.1:8080", "[::1]:8080", "a local socket"; NULL if there is none. */
const char *address_format(const requests_address from, char text[ADDRESS_TEXT_MAX]);

/* Are both of the same host and port, be they of IPv6 or mapped?  Local sockets have none. */
bool address_is_same(const requests_address a, const requests_address b);

#endif /* _USER_OUT_ADDRESS_H */
