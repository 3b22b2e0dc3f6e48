/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A connection to a NATS server, as the operator has configured it.  The library has threads of its
 * own, and connects again by itself for as long as it takes.
 */
#ifndef _USER_NET_NATS_LINK_H
#define _USER_NET_NATS_LINK_H

#include <stddef.h>

#include "base/library.h"

/* What these call is loaded. */
extern struct library nats_library;

#define NATS_CALL(name) LIBRARY_CALL(&nats_library, name)

typedef struct __natsConnection natsConnection; /* of nats/nats.h */

struct nats_settings {
	char *servers; /* URLs with commas between them; NULL: none */
	char *subject; /* that all subjects begin with */
	char *stream; /* name of the stream of alerts */
	char *credentials; /* file with a JWT and its key; NULL: none, as the next */
	char *ca; /* file of certificates that are trusted, instead of the system's */
	char *certificate; /* file, of this machine */
	char *key; /* file, of that */
};

/* Where it is, without user and password. */
const char *nats_link_name(const struct nats_settings *settings);

/* The library is loaded.  Returns NULL, or a description of what failed, in @why. */
const char *nats_link_open(const struct nats_settings *settings, natsConnection **ret, char *why,
			   size_t size);

#endif /* _USER_NET_NATS_LINK_H */
