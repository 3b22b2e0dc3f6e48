/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What is reported of a request: where its time went, whose it is, and whom it waits for.
 *
 * All functions take the request's connection locked, or what cannot change; any context but
 * interrupts; they do not sleep.
 */
#ifndef _KMOD_REQUEST_REQUEST_DESCRIPTION_H
#define _KMOD_REQUEST_REQUEST_DESCRIPTION_H

#include "lib/clock.h"
#include "request/connection.h"

/* A time in ticks, more or less; more than 0. */
static inline u32 pguard_request_coarse(u64 ticks)
{
	return min_t(u64, (ticks >> 12) + 1, U32_MAX);
}

/* So long it has taken until then, which is no earlier than its last answer. */
static __always_inline u64 pguard_request_elapsed(const struct pguard_client_request *request,
						  u64 at)
{
	u64 ret = at - request->arrived;

	if (unlikely(request->left_out))
		ret -= pguard_clock_ticks((u64)request->left_out * TICK_NSEC);
	return ret;
}

/* Describe a request that has been answered. */
static __always_inline void pguard_request_describe(const struct pguard_connection *connection,
						    struct pguard_slow_request *ret)
{
	const struct pguard_client_request *request = &connection->request;

	*ret = (struct pguard_slow_request){
		.times.elapsed = pguard_request_elapsed(request, request->answered),
		.times.queued = request->begun - request->arrived,
		.times.working = request->until_answer.working,
		.times.peers = request->until_answer.peers,
		.times.handed = request->until_answer.handed,
		.pid = request->pid,
		.tid = request->tid,
		.state = PERFGUARD_REQUEST_STATE_ANSWERED,
	};
}

void pguard_request_describe_more(const struct pguard_connection *connection,
				  struct pguard_slow_request *ret);
void pguard_request_describe_open(struct pguard_connection_table *table,
				  const struct pguard_connection *connection,
				  struct pguard_late_request *ret);
void pguard_client_describe(const struct pguard_connection *client, struct pguard_address *ret);
void pguard_peer_of(const struct pguard_connection *peer, struct pguard_peer_address *ret);

#endif /* _KMOD_REQUEST_REQUEST_DESCRIPTION_H */
