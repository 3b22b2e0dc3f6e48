/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Requests that take longer than a limit, until they are reported.
 *
 * A request that waits runs no code of ours, so a work looks at the connections when the
 * next one can become late.  What ends beyond the limit is noted where it ends, in a
 * hooked call, which allocates nothing; the work reports that as well.
 */
#ifndef _KMOD_REQUEST_LATE_REQUESTS_H
#define _KMOD_REQUEST_LATE_REQUESTS_H

#include "request/request-limit.h"
#include "request/request-sums.h"

#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/workqueue.h>

enum {
	PGUARD_LATE_REQUESTS = 16,
	/* By a limit that was learnt, what is over sooner is reported at its end alone. */
	PGUARD_LEAST_LEARNT_NS = 50 * NSEC_PER_MSEC,
};

/* pguard_client_request.reports of one that will not be reported any more. */
#define PGUARD_REQUEST_REPORTED U8_MAX

/**
 * struct pguard_late_request - one that is to be reported
 * @slow: what there is to be said of it
 * @by: id of the thread that had the last message of it
 * @client: the socket of its client; to be compared with, nothing else
 * @unit: the low bits of the number of its unit; 0: it was in none
 * @is_unread: nobody has read it
 * @since: how long ago that was, if nobody was to do something then, ticks; else 0
 * @excess: by which limit it is late
 */
struct pguard_late_request {
	struct pguard_slow_request slow;
	struct pguard_request_excess excess;
	u32 by;
	u16 unit;
	bool is_unread;
	const void *client;
	u64 since;
};

/**
 * struct pguard_late_requests - those of a target
 * @limit: of all, that people have set, ticks; 0: there is none; READ_ONCE
 * @is_learnt: the target's profile has limits; the same
 * @soonest: the connections are looked at no sooner after a request has begun, ticks; 0: there
 *	are no limits; the same
 * @next_look: ktime_get_ns() before which the connections are not looked at; the work's own
 * @number: how many were late
 * @starved: how many would have been if what they waited for a CPU were their own
 * @suppressed: how many times one was not reported, for lack of room or tokens
 * @lock: of what follows; innermost
 * @nr: length of @of
 * @of: to be reported
 * @watch: looks at the connections, and reports
 */
struct pguard_late_requests {
	u64 limit;
	bool is_learnt;
	u64 soonest;
	u64 next_look;
	atomic64_t number;
	atomic64_t starved;
	atomic64_t suppressed;
	spinlock_t lock;
	u32 nr;
	struct pguard_late_request of[PGUARD_LATE_REQUESTS];
	struct delayed_work watch;
};

void pguard_late_requests_init(struct pguard_late_requests *late, work_func_t watch);
void pguard_late_requests_wait(struct pguard_late_requests *late);

/* A request has begun: it may be late when a limit has passed.  Context: any. */
static inline void pguard_late_requests_expect(struct pguard_late_requests *late)
{
	if (likely(!READ_ONCE(late->soonest)))
		return;
	/* Who looks either sees the request, or is not pending any more. */
	smp_mb();
	if (!delayed_work_pending(&late->watch))
		pguard_late_requests_wait(late);
}

bool pguard_late_requests_add(struct pguard_late_requests *late,
			      const struct pguard_late_request *request);
bool pguard_late_requests_take(struct pguard_late_requests *late,
			       struct pguard_late_request *ret);

#endif /* _KMOD_REQUEST_LATE_REQUESTS_H */
