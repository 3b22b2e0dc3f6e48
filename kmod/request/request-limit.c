// SPDX-License-Identifier: GPL-2.0

#include "request/request-limit.h"

#include "lib/clock.h"
#include "profile/profile.h"
#include "request/connection.h"
#include "request/request-sums.h"
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

static_assert(PERFGUARD_REQUEST_PART_HELD == REQUEST_PART_HELD + 1 &&
	      PERFGUARD_TIMES_REQUEST_HELD - PERFGUARD_TIMES_REQUEST == REQUEST_PART_HELD);

static void limits_of_profile(const struct pguard_profile *profile,
			      const struct pguard_client_request *request,
			      struct pguard_request_limits *ret)
{
	const struct pguard_limit_ticks *ticks;

	ret->learnt = profile->request_most;
	ret->profile = profile->id;
	if (!has_type(profile, request))
		return;
	ticks = &profile->ticks[request->type - 1];
	if (!ticks->request.of[REQUEST_PART_ALL])
		return;
	ret->learnt = ticks->request;
	ret->type = profile->types[request->type - 1].id;
}

/**
 * pguard_request_limits() - from when on a request is late
 * @table: of its connection
 * @request: what is known of it by now; its connection is locked; NULL: nothing
 * @ret: filled in
 *
 * Context: any but interrupts; does not sleep.
 */
void pguard_request_limits(const struct pguard_connection_table *table,
			   const struct pguard_client_request *request,
			   struct pguard_request_limits *ret)
{
	const struct pguard_profile *profile;

	*ret = (struct pguard_request_limits){ .wanted = READ_ONCE(table->late.limit) };
	if (!READ_ONCE(table->late.is_learnt))
		return;
	rcu_read_lock();
	profile = rcu_dereference(table->target->profile);
	if (profile)
		limits_of_profile(profile, request, ret);
	rcu_read_unlock();
}

/* A request that takes no more is in time, wherever its time goes, ticks; 0: any is.  Context: any. */
u64 pguard_request_least(const struct pguard_request_limits *limits)
{
	u64 least = limits->wanted;
	u32 i;

	for (i = 0; i < REQUEST_NR_PARTS; i++)
		least = pguard_limit_sooner(least, limits->learnt.of[i]);
	return least;
}

/**
 * pguard_request_parts() - what counts of each part of a request, ticks
 * @times: of the request
 * @since: of which it is not known yet in which part it was: it counts in none but all
 *
 * Context: any.
 */
struct request_parts pguard_request_parts(const struct pguard_request_times *times, u64 since)
{
	u64 known = times->working + times->peers + since;

	return request_parts_of(times->elapsed, times->working, times->peers,
				times->elapsed - min(times->elapsed, known), times->runqueue);
}

/* How many times the limit, in 256ths. */
static u64 factor_of(const struct pguard_request_excess *excess)
{
	return excess->limit ? div64_u64(excess->took, (excess->limit >> 8) ?: 1) : 0;
}

static void widen(struct pguard_request_excess *excess, const struct pguard_request_excess *other)
{
	if (other->limit && other->took > other->limit && factor_of(other) > factor_of(excess))
		*excess = *other;
}

/**
 * pguard_request_exceeds() - which limit a request exceeds most
 * @limits: its
 * @times: how long it took, or has lasted
 * @parts: what counts of that
 *
 * Context: any.
 */
struct pguard_request_excess pguard_request_exceeds(const struct pguard_request_limits *limits,
						    const struct pguard_request_times *times,
						    const struct request_parts *parts)
{
	struct pguard_request_excess ret = { }, other = {
		.limit = limits->wanted,
		.took = times->elapsed,
	};
	u32 i;

	widen(&ret, &other);
	for (i = 0; i < REQUEST_NR_PARTS; i++) {
		other = (struct pguard_request_excess){
			.limit = limits->learnt.of[i],
			.took = parts->of[i],
			.part = i + 1,
			.profile = limits->profile,
			.type = limits->type,
		};
		widen(&ret, &other);
	}
	return ret;
}

/* How much is left until that has doubled so many times; U64_MAX: it never does. */
static u64 left_of(u64 limit, u64 took, u8 doublings)
{
	if (!limit || doublings >= 62 - fls64(limit))
		return U64_MAX;
	return took > limit << doublings ? 0 : (limit << doublings) - took + 1;
}

/**
 * pguard_request_left() - in how many ticks a request that lasts can exceed a limit
 * @limits: its
 * @elapsed: how long it has lasted
 * @parts: what counts of that
 * @growing: bits of the parts that grow now; the limit of people counts for all of them
 * @doublings: not the limit, but that doubled so many times
 *
 * Context: any.
 * Return: 0 if it does; U64_MAX if it never will.
 */
u64 pguard_request_left(const struct pguard_request_limits *limits, u64 elapsed,
			const struct request_parts *parts, u32 growing, u8 doublings)
{
	u64 ret = left_of(limits->wanted, elapsed, doublings);
	u32 i;

	for (i = 0; i < REQUEST_NR_PARTS; i++)
		if (growing & BIT(i + 1))
			ret = min(ret, left_of(limits->learnt.of[i], parts->of[i], doublings));
	return ret;
}

static void count(const struct pguard_profile *profile, u32 type, u32 part, u64 ns)
{
	const struct pguard_profile_cpu *cpu = pguard_profile_this_cpu(profile);
	s32 bucket = (pguard_bucket(ns) >> 1) - (s32)profile->ticks[type].request_first[part];
	u32 *nr;

	if (!cpu->times)
		return;
	nr = cpu->times[type].nr[PERFGUARD_TIMES_REQUEST - 1 + part];
	nr += clamp_t(s32, bucket, 0, PERFGUARD_TIMES_BUCKETS - 1);
	WRITE_ONCE(*nr, READ_ONCE(*nr) + 1);
}

/**
 * pguard_request_count() - a request was answered: it counts for the type of the unit that read it
 * @table: of its connection
 * @request: whose connection is locked
 * @parts: what it took, ticks
 *
 * Context: any but interrupts; does not sleep.
 */
void pguard_request_count(const struct pguard_connection_table *table,
			  const struct pguard_client_request *request,
			  const struct request_parts *parts)
{
	const struct pguard_profile *profile;
	u32 i;

	rcu_read_lock();
	profile = rcu_dereference(table->target->profile);
	if (profile && has_type(profile, request))
		for (i = 0; i < REQUEST_NR_PARTS; i++)
			count(profile, request->type - 1, i, pguard_clock_ns(parts->of[i]));
	rcu_read_unlock();
}
