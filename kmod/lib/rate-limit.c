// SPDX-License-Identifier: GPL-2.0

#include "lib/rate-limit.h"

#include "compat.h"

#include <linux/minmax.h>

/**
 * pguard_rate_limit_take() - take a token for an event
 *
 * Context: any.
 * Return: false if there is none; the event has to be dropped.
 */
bool pguard_rate_limit_take(struct pguard_rate_limit *limit)
{
	s64 now = pguard_rate_limit_now(), full_at = atomic64_read(&limit->full_at), next;

	do {
		next = max(full_at, now) + (s64)limit->token;
		if (next > now + (s64)limit->period)
			return false;
	} while (!atomic64_try_cmpxchg(&limit->full_at, &full_at, next));
	return true;
}
