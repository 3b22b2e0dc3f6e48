/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A token bucket: so many events at once, and as many each period.
 *
 * Its state is one word, the time at which it will be full.  An event moves
 * that by the time that a token takes to come, and is refused if the bucket
 * would then take more than a period to fill.  The kernel's own ratelimit_state
 * counts per window and takes a lock; this one takes none.
 */
#ifndef _KMOD_LIB_RATE_LIMIT_H
#define _KMOD_LIB_RATE_LIMIT_H

#include <linux/atomic.h>
#include <linux/jiffies.h>
#include <linux/minmax.h>

/**
 * struct pguard_rate_limit - a token bucket
 * @full_at: when it is full, ns of the time in jiffies; 0 at first
 * @period: in which an empty one fills, ns
 * @token: in which a token comes, ns
 */
struct pguard_rate_limit {
	atomic64_t full_at;
	u64 period;
	u64 token;
};

static inline u64 pguard_rate_limit_now(void)
{
	return (u64)jiffies * TICK_NSEC;
}

/* At most @tokens events in a period of @seconds.  All of them may come at once. */
static inline void pguard_rate_limit_init(struct pguard_rate_limit *limit, u32 tokens, u32 seconds)
{
	limit->period = seconds * NSEC_PER_SEC;
	limit->token = limit->period / tokens;
}

/* Context: any.  Return: true if there is a token just now. */
static inline bool pguard_rate_limit_has(const struct pguard_rate_limit *limit)
{
	return (u64)atomic64_read(&limit->full_at) + limit->token <=
	       pguard_rate_limit_now() + limit->period;
}

/* Take a token for an event.  Context: any.  Return: false if there is none: it is dropped. */
static inline bool pguard_rate_limit_take(struct pguard_rate_limit *limit)
{
	s64 now = pguard_rate_limit_now(), full_at = atomic64_read(&limit->full_at), next;

	do {
		next = max(full_at, now) + (s64)limit->token;
		if (next > now + (s64)limit->period)
			return false;
	} while (!atomic64_try_cmpxchg(&limit->full_at, &full_at, next));
	return true;
}

#endif /* _KMOD_LIB_RATE_LIMIT_H */
