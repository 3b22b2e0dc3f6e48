/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The other side of a connection, for people and JSON.
 */
#ifndef _USER_OUT_ADDRESS_H
#define _USER_OUT_ADDRESS_H

#include <stdbool.h>

#include "data/requests.h"

/* "unix:" and a zero are added to the longest name. */
#define ADDRESS_TEXT_MAX (REQUESTS_NAME_BYTES + 6)

/*
 * "127.0.0.1:8080", "[::1]:8080", "a local socket of process 77"; NULL if there is none.  The
 * text is plain.
 */
const char *address_format(const requests_address from, char text[ADDRESS_TEXT_MAX]);

/* The same of whom a request waits for, "unix:/run/server", "unix:@server" if it has a name. */
const char *address_format_peer(const struct slow_request *request, char text[ADDRESS_TEXT_MAX]);

/*
 * Are both the same end of a connection: of the same host and port, be they of IPv6 or mapped,
 * or the same local socket?
 */
bool address_is_same(const requests_address a, const requests_address b);

#endif /* _USER_OUT_ADDRESS_H */
