/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Who is at the two ends of a connection.
 *
 * Of IP that is an address and a port.  A socket of this machine (AF_UNIX) may be bound to a
 * name, which is mostly so for the end that was connected to alone; and each has a number of
 * its own, its cookie, by which both ends of a connection are known as such.
 */
#ifndef _KMOD_REQUEST_CONNECTION_ENDS_H
#define _KMOD_REQUEST_CONNECTION_ENDS_H

#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/un.h>
#include <net/ipv6.h>

#include <linux/perfguard.h>

struct sock;

/* One end of a connection; its family is 0 if it has no address. */
struct pguard_address {
	union {
		struct sockaddr any;
		struct sockaddr_in in;
		struct sockaddr_in6 in6;
		struct perfguard_local_address local;
	};
};

/* What is kept of the address of a peer. */
struct pguard_peer_address {
	u16 family;	/* 0 if there is none */
	union {
		__be16 port;
		/* Of AF_UNIX: in pguard_socket_names, from 1; 0: it has none; or the next one. */
		u16 name;
	};
	union {
		__be32 host;
		struct in6_addr host6;
		u32 pid;
	};
};

/* Instead of a name: who has sent a signal, and is the end of no connection. */
#define PGUARD_BY_SIGNAL U16_MAX

/* As in struct sockaddr_un, filled up with zeros. */
struct pguard_socket_name {
	char path[UNIX_PATH_MAX];
};

enum { PGUARD_SOCKET_NAMES = 16 };

/**
 * struct pguard_socket_names - names of peers' sockets, each once
 * @lock: for adding one; innermost
 * @nr: how many there are; written by release
 * @of: do not change any more
 *
 * A program asks few.  What finds no room is without a name.
 */
struct pguard_socket_names {
	spinlock_t lock;
	u32 nr;
	struct pguard_socket_name of[PGUARD_SOCKET_NAMES];
};

/* Which end is meant. */
enum pguard_end {
	PGUARD_END_OWN,
	PGUARD_END_OTHER,
};

/* Who asks, as far as the names of both ends show it. */
enum pguard_local_side {
	PGUARD_LOCAL_ANY,
	PGUARD_LOCAL_CONNECTED,		/* the other end was bound, and connected to */
	PGUARD_LOCAL_ACCEPTED,
};

void pguard_socket_names_init(struct pguard_socket_names *names);
const struct pguard_socket_name *pguard_socket_name(const struct pguard_socket_names *names,
						    u32 name);
enum pguard_local_side pguard_local_side(struct sock *sk);
u64 pguard_other_cookie(struct sock *sk);
void pguard_peer_address_of(struct sock *sk, struct pguard_socket_names *names,
			    struct pguard_peer_address *ret);
void pguard_address_put(const struct pguard_peer_address *peer, struct pguard_address *ret);
void pguard_address_describe(struct sock *sk, enum pguard_end end, struct pguard_address *ret);

#endif /* _KMOD_REQUEST_CONNECTION_ENDS_H */
