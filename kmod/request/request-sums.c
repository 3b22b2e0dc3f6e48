// SPDX-License-Identifier: GPL-2.0

#include "request/request-sums.h"

#include "lib/charge.h"
#include "profile/profile.h"

#include <linux/percpu.h>

/* Context: may sleep.  Return: 0 or -ENOMEM. */
int pguard_request_sums_init(struct pguard_request_sums *sums)
{
	sums->cpus = alloc_percpu_gfp(struct pguard_request_totals,
				      GFP_KERNEL | PGUARD_GFP_CHARGED);
	spin_lock_init(&sums->lock);
	return sums->cpus ? 0 : -ENOMEM;
}

/* Nobody adds any more.  Context: may sleep. */
void pguard_request_sums_deinit(struct pguard_request_sums *sums)
{
	free_percpu(sums->cpus);
}

static struct pguard_slow_request *shortest_of(struct pguard_slowest_requests *slowest)
{
	struct pguard_slow_request *ret = slowest->of, *slow;

	for (slow = slowest->of; slow < slowest->of + PGUARD_SLOW_REQUESTS; slow++)
		if (slow->times.elapsed < ret->times.elapsed)
			ret = slow;
	return ret;
}

/* If it is one of the slowest, it takes the place of the shortest of them. */
static void keep(struct pguard_slowest_requests *slowest, const struct pguard_slow_request *request)
{
	struct pguard_slow_request *shortest = shortest_of(slowest);

	if (request->times.elapsed > shortest->times.elapsed)
		*shortest = *request;
	WRITE_ONCE(slowest->least, shortest_of(slowest)->times.elapsed);
}

/**
 * pguard_request_sums_keep() - a request was answered that may be one of the slowest
 * @sums: of its target
 * @request: what there is to be said of it
 *
 * Context: any but interrupts; does not sleep.
 */
void pguard_request_sums_keep(struct pguard_request_sums *sums,
			      const struct pguard_slow_request *request)
{
	spin_lock(&sums->lock);
	keep(&sums->slowest, request);
	spin_unlock(&sums->lock);
}

/* The connection of one that had no answer was closed.  Context: the same. */
void pguard_request_sums_unanswered(struct pguard_request_sums *sums)
{
	preempt_disable();
	this_cpu_ptr(sums->cpus)->unanswered++;
	preempt_enable();
}

/* What all CPUs counted.  Context: any but interrupts. */
void pguard_request_sums_read(struct pguard_request_sums *sums, struct pguard_request_report *ret)
{
	struct pguard_request_totals *totals = &ret->totals;
	const struct pguard_request_totals *of;
	int cpu;

	memset(totals, 0, sizeof(*totals));
	for_each_possible_cpu(cpu) {
		of = per_cpu_ptr(sums->cpus, cpu);
		totals->requests += READ_ONCE(of->requests);
		totals->unanswered += READ_ONCE(of->unanswered);
		pguard_sums_add(&totals->times, &of->times, sizeof(totals->times));
		pguard_sums_add(totals->hist, of->hist, sizeof(totals->hist));
		totals->max = max(totals->max, READ_ONCE(of->max));
	}
	spin_lock(&sums->lock);
	ret->slowest = sums->slowest;
	spin_unlock(&sums->lock);
}

/* One more, which is in no sum yet.  Context: any. */
void pguard_request_report_add(struct pguard_request_report *report,
			       const struct pguard_slow_request *request)
{
	pguard_request_totals_add(&report->totals, &request->times);
	keep(&report->slowest, request);
}
