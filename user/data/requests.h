/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The requests of clients that came to a target, as attribute set "request" of the
 * netlink spec defines them.  Plain data.
 */
#ifndef _USER_DATA_REQUESTS_H
#define _USER_DATA_REQUESTS_H

#include <stdint.h>

#include <linux/perfguard.h>

enum { REQUESTS_SLOW = 8, REQUESTS_ADDRESS_BYTES = 28, REQUESTS_NAME_BYTES = 108 };

/*
 * A struct sockaddr_in6, a shorter one or a struct perfguard_local_address; the family is 0 if
 * there is none.
 */
typedef unsigned char requests_address[REQUESTS_ADDRESS_BYTES];

/* One of the slowest, or a late one. */
struct slow_request {
	uint64_t elapsed_ns;
	uint64_t queued_ns;
	uint64_t working_ns;
	uint64_t peers_ns;
	uint64_t handed_ns;
	uint64_t timer_ns;
	uint64_t runqueue_ns; /* in any of these but @peers_ns */
	uint64_t begin_ns; /* CLOCK_MONOTONIC */
	uint32_t pid;
	uint32_t tid;
	uint32_t connection; /* of the client */
	uint32_t state; /* enum perfguard_request_state */
	uint32_t part; /* enum perfguard_request_part by whose limit it is late; 0: people's, or none */
	requests_address client;
	requests_address peer;
	requests_address via; /* its own side of that, while it waits */
	char peer_name[REQUESTS_NAME_BYTES]; /* of a local socket, as in struct sockaddr_un */
};

struct requests {
	uint32_t target_id;
	uint32_t connections;
	uint64_t refused;
	uint64_t requests;
	uint64_t unanswered;
	uint64_t elapsed_ns; /* this and the next are sums over all requests */
	uint64_t queued_ns;
	uint64_t working_ns;
	uint64_t peers_ns;
	uint64_t handed_ns;
	uint64_t timer_ns;
	uint64_t runqueue_ns;
	uint64_t max_ns;
	uint64_t hist[PERFGUARD_HIST_BUCKETS];
	uint32_t nr_slow;
	struct slow_request slow[REQUESTS_SLOW]; /* in no order */
};

#endif /* _USER_DATA_REQUESTS_H */
