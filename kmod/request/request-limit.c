// SPDX-License-Identifier: GPL-2.0

#include "request/request-limit.h"

#include "lib/clock.h"
#include "profile/profile.h"
#include "request/connection.h"
#include "target/target.h"

#include <linux/rcupdate.h>

/*
 * Does the profile know the type of the request's unit?  Another one of whose id the low bits are
 * the same may have fewer.
 */
static bool has_type(const struct pguard_profile *profile,
		     const struct pguard_client_request *request)
{
	return request && request->type && request->profile == (u16)profile->id &&
	       request->type <= profile->nr_types;
}

static void limit_of_profile(const struct pguard_profile *profile,
			     const struct pguard_client_request *request,
			     struct pguard_request_limit *ret)
{
	u32 type;

	ret->ticks = profile->request_most;
	ret->profile = profile->id;
	if (!has_type(profile, request))
		return;
	type = request->type - 1;
	if (profile->ticks[type].request == U64_MAX)
		return;
	ret->ticks = profile->ticks[type].request;
	ret->type = profile->types[type].id;
}

/**
 * pguard_request_limit() - from when on a request is late
 * @table: of its connection
 * @request: what is known of it by now; its connection is locked; NULL: nothing
 * @runqueue: for how long it has waited for a CPU, ticks.  What was learnt is of the rest of its
 *	time, people's limit of all of it
 * @ret: filled in
 *
 * Context: any but interrupts; does not sleep.
 */
void pguard_request_limit(const struct pguard_connection_table *table,
			  const struct pguard_client_request *request, u64 runqueue,
			  struct pguard_request_limit *ret)
{
	u64 limit = READ_ONCE(table->late.limit);
	const struct pguard_profile *profile;

	*ret = (struct pguard_request_limit){ };
	if (READ_ONCE(table->late.is_learnt)) {
		rcu_read_lock();
		profile = rcu_dereference(table->target->profile);
		if (profile)
			limit_of_profile(profile, request, ret);
		rcu_read_unlock();
		if (ret->ticks)
			ret->ticks += runqueue;
	}
	/* None (0) is above all. */
	if (limit - 1 < ret->ticks - 1)
		*ret = (struct pguard_request_limit){ .ticks = limit };
}

static void count(const struct pguard_profile *profile, u32 type, u64 ns)
{
	const struct pguard_profile_cpu *cpu = pguard_profile_this_cpu(profile);
	s32 bucket = (pguard_bucket(ns) >> 1) - profile->ticks[type].request_first;
	u32 *nr;

	if (!cpu->times)
		return;
	nr = cpu->times[type].nr[PERFGUARD_TIMES_REQUEST - 1];
	nr += clamp_t(s32, bucket, 0, PERFGUARD_TIMES_BUCKETS - 1);
	WRITE_ONCE(*nr, READ_ONCE(*nr) + 1);
}

/**
 * pguard_request_count() - a request was answered: it counts for the type of the unit that read it
 * @table: of its connection
 * @request: whose connection is locked
 * @elapsed: how long it took without what it waited for a CPU, ticks
 *
 * Context: any but interrupts; does not sleep.
 */
void pguard_request_count(const struct pguard_connection_table *table,
			  const struct pguard_client_request *request, u64 elapsed)
{
	const struct pguard_profile *profile;

	rcu_read_lock();
	profile = rcu_dereference(table->target->profile);
	if (profile && has_type(profile, request))
		count(profile, request->type - 1, pguard_clock_ns(elapsed));
	rcu_read_unlock();
}
