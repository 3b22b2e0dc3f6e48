/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the requests of clients that were answered add up to, and the slowest of them.
 */
#ifndef _KMOD_REQUEST_REQUEST_SUMS_H
#define _KMOD_REQUEST_REQUEST_SUMS_H

#include "lib/clock.h"
#include "request/connection-ends.h"

#include <linux/spinlock.h>
#include <linux/types.h>

#include <linux/perfguard.h>

/**
 * struct pguard_request_times - how long a request took, ticks of pguard_clock()
 * @elapsed: from when its first bytes came to the last that were written as the answer
 * @queued: of that, until a thread that could have read it began to
 * @working: in the units that served it, from their begin
 * @peers: from asking others until their answers were taken up, or until now
 * @handed: from handing it to another thread until that began with it
 * @timer: until a timer of the program's
 * @runqueue: in any of these but @peers: for how long the thread that read it waited for a CPU,
 *	if it has answered as well
 */
struct pguard_request_times {
	u64 elapsed;
	u64 queued;
	u64 working;
	u64 peers;
	u64 handed;
	u64 timer;
	u64 runqueue;
};

/**
 * struct pguard_slow_request - one that was among the slowest, or is late
 * @times: its
 * @begin_ns: CLOCK_MONOTONIC when it came
 * @pid: of the process that read it
 * @tid: of the thread
 * @connection: the number of the client's
 * @state: PERFGUARD_REQUEST_STATE_*
 * @client: who asked
 * @peer: who was waited for longest, if anybody, or is waited for
 * @via: the own side of the connection to it while it is waited for
 * @peer_name: of its local socket, in pguard_socket_names
 * @part: if it is late by a limit of that, PERFGUARD_REQUEST_PART_*; else 0
 */
struct pguard_slow_request {
	struct pguard_request_times times;
	u64 begin_ns;
	u32 pid;
	u32 tid;
	u32 connection;
	u32 state;
	struct pguard_address client;
	struct pguard_address peer;
	struct pguard_address via;
	u32 peer_name;
	u32 part;
};

/* One that is reported, which outlives its target. */
struct pguard_reported_request {
	struct pguard_slow_request slow;
	struct pguard_socket_name peer_name;	/* its first bytes are zeros if there is none */
};

enum { PGUARD_SLOW_REQUESTS = 8 };

/**
 * struct pguard_request_totals - what some requests add up to
 * @requests: that were answered
 * @unanswered: whose connection was closed before
 * @times: sums of those that were answered
 * @max: the longest, ticks
 * @hist: by time, as the netlink spec's hist-buckets
 */
struct pguard_request_totals {
	u64 requests;
	u64 unanswered;
	struct pguard_request_times times;
	u64 max;
	u64 hist[PERFGUARD_HIST_BUCKETS];
};

/**
 * struct pguard_slowest_requests - the slowest of some requests
 * @least: time of the shortest of them, ticks; 0 while there is room
 * @of: in no order; without a time there is none
 */
struct pguard_slowest_requests {
	u64 least;
	struct pguard_slow_request of[PGUARD_SLOW_REQUESTS];
};

/**
 * struct pguard_request_sums - of the requests that a target's threads have served
 * @cpus: those that ended on each CPU
 * @lock: of @slowest, whose @least is read without it; innermost
 * @slowest: of all CPUs
 */
struct pguard_request_sums {
	struct pguard_request_totals __percpu *cpus;
	spinlock_t lock;
	struct pguard_slowest_requests slowest;
};

/* What is reported of them, at one moment. */
struct pguard_request_report {
	struct pguard_request_totals totals;
	struct pguard_slowest_requests slowest;
};

/* May a request of so many ticks be one of the slowest?  Context: any. */
static inline bool pguard_request_is_slow(const struct pguard_request_sums *sums, u64 elapsed)
{
	return elapsed > READ_ONCE(sums->slowest.least);
}

/* One more request.  Context: who adds to it is alone. */
static __always_inline void pguard_request_totals_add(struct pguard_request_totals *totals,
						      const struct pguard_request_times *times)
{
	totals->requests++;
	totals->times.elapsed += times->elapsed;
	totals->times.queued += times->queued;
	totals->times.working += times->working;
	totals->times.peers += times->peers;
	totals->times.handed += times->handed;
	totals->times.timer += times->timer;
	totals->times.runqueue += times->runqueue;
	totals->max = max(totals->max, times->elapsed);
	totals->hist[pguard_bucket_ticks(times->elapsed)]++;
}

int pguard_request_sums_init(struct pguard_request_sums *sums);
void pguard_request_sums_deinit(struct pguard_request_sums *sums);
void pguard_request_sums_keep(struct pguard_request_sums *sums,
			      const struct pguard_slow_request *request);
void pguard_request_sums_unanswered(struct pguard_request_sums *sums);
void pguard_request_sums_read(struct pguard_request_sums *sums, struct pguard_request_report *ret);
void pguard_request_report_add(struct pguard_request_report *report,
			       const struct pguard_slow_request *request);

#endif /* _KMOD_REQUEST_REQUEST_SUMS_H */
