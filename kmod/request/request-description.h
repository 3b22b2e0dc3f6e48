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

/* A time in ticks, in 4096 of them: some two microseconds. */
static inline u32 pguard_request_coarse(u64 ticks)
{
	return min_t(u64, ticks >> 12, U32_MAX - 1);
}

static inline u64 pguard_request_fine(u32 coarse)
{
	return (u64)coarse << 12;
}

/*
 * For how long a request was queued, in 256 ticks: some hundred nanoseconds.  It is rounded up: the
 * unit that has read it began no later.
 */
static inline u32 pguard_request_queue(u64 ticks)
{
	return min_t(u64, (ticks + 255) >> 8, U32_MAX);
}

/* Since when a thread could work for it, pguard_clock(). */
static inline u64 pguard_request_begun(const struct pguard_client_request *request)
{
	return request->arrived + ((u64)request->queued << 8);
}

/* The low bits of how long a task has waited for a CPU, in 1024 ns. */
static inline u32 pguard_run_delay(u64 ns)
{
	return ns >> 10;
}

/* The same of a wait for a peer, from 1 on. */
static inline u32 pguard_request_wait(u64 ticks)
{
	return pguard_request_coarse(ticks) + 1;
}

/*
 * How long a request may have waited for a CPU, from the difference of two of those, ticks.  Who
 * waits for others does not wait for one of them, even if its thread does, for another client.
 */
static inline u64 pguard_request_runqueue(u32 delay, u64 elapsed, u64 peers)
{
	if (likely(!delay))
		return 0;
	return min(pguard_clock_ticks((u64)delay << 10), elapsed - min(elapsed, peers));
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

/* Until the last answer of a request that has one. */
static __always_inline struct pguard_request_times
pguard_request_times_of(const struct pguard_client_request *request)
{
	struct pguard_request_times ret = {
		.elapsed = pguard_request_elapsed(request, request->answered),
		.queued = pguard_request_begun(request) - request->arrived,
		.working = request->until_answer.working,
		.peers = pguard_request_fine(request->until_answer.peers),
		.handed = pguard_request_fine(request->until_answer.handed),
		.timer = pguard_request_fine(request->timer),
	};

	/* It may have gone on for long since it was answered. */
	if (unlikely(ret.timer))
		ret.timer = min(ret.timer, ret.elapsed - min(ret.elapsed, ret.queued + ret.working +
							     ret.peers + ret.handed));
	ret.runqueue = pguard_request_runqueue(request->answer_delay - request->delay, ret.elapsed,
					       ret.peers);
	return ret;
}

u64 pguard_request_waited(const struct pguard_client_request *request, u32 delay, u64 elapsed,
			  u64 peers);
void pguard_request_describe(const struct pguard_connection *connection,
			     struct pguard_slow_request *ret);
void pguard_request_describe_more(const struct pguard_connection *connection,
				  struct pguard_slow_request *ret);
void pguard_request_describe_open(struct pguard_connection_table *table,
				  const struct pguard_connection *connection,
				  struct pguard_late_request *ret);
void pguard_client_describe(const struct pguard_connection *client, struct pguard_address *ret);
void pguard_peer_of(const struct pguard_connection *peer, struct pguard_peer_address *ret);

#endif /* _KMOD_REQUEST_REQUEST_DESCRIPTION_H */
