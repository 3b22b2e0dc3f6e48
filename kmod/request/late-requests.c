// SPDX-License-Identifier: GPL-2.0

#include "request/late-requests.h"

#include "lib/clock.h"

#include <linux/jiffies.h>

/* Of the zeroed state of a target, without a limit.  @watch works on it.  Context: any. */
void pguard_late_requests_init(struct pguard_late_requests *late, work_func_t watch)
{
	spin_lock_init(&late->lock);
	INIT_DELAYED_WORK(&late->watch, watch);
}

/* Look when a request that begins now can be late.  Context: any. */
void pguard_late_requests_wait(struct pguard_late_requests *late)
{
	u64 ns = pguard_clock_ns(READ_ONCE(late->soonest));

	queue_delayed_work(system_dfl_wq, &late->watch, nsecs_to_jiffies(ns) + 1);
}

/**
 * pguard_late_requests_add() - a request is to be reported
 * @late: of its target
 * @request: as it is now
 *
 * Context: any but interrupts; does not sleep.
 * Return: false if there is no room for it.
 */
bool pguard_late_requests_add(struct pguard_late_requests *late,
			      const struct pguard_late_request *request)
{
	bool ret;

	spin_lock(&late->lock);
	ret = late->nr < PGUARD_LATE_REQUESTS;
	if (ret)
		late->of[late->nr++] = *request;
	spin_unlock(&late->lock);
	return ret;
}

/**
 * pguard_late_requests_take() - the next one that is to be reported
 * @late: of a target
 * @ret: filled in
 *
 * In the order in which they were added: of a request the end comes last.
 *
 * Context: any but interrupts.
 * Return: false if there is none.
 */
bool pguard_late_requests_take(struct pguard_late_requests *late, struct pguard_late_request *ret)
{
	bool any;

	spin_lock(&late->lock);
	any = late->nr;
	if (any) {
		*ret = late->of[0];
		memmove(late->of, late->of + 1, --late->nr * sizeof(*late->of));
	}
	spin_unlock(&late->lock);
	return any;
}
