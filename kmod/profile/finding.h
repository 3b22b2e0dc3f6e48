/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Findings: whether a unit with this account is late by these limits, and what part of its
 * time makes it so.
 */
#ifndef _KMOD_PROFILE_FINDING_H
#define _KMOD_PROFILE_FINDING_H

#include "lib/account.h"
#include "profile/limits.h"

#include <linux/math64.h>

/**
 * struct pguard_finding - what limits say of a unit
 * @part: enum perfguard_part: what exceeds its limit by the largest factor; of a unit that is
 *	not late, what has the least time left; 0 without limits
 * @limit_ns: of that part
 * @left_ns: how much longer the unit may run before it can be late; 0 if it is,
 *	U64_MAX without limits
 * @is_stopped: it is not late, and would be if the time in which it was stopped were its own;
 *	then @part says so, and @limit_ns is of what it would exceed
 */
struct pguard_finding {
	u32 part;
	u64 limit_ns;
	u64 left_ns;
	bool is_stopped;
};

static inline bool pguard_finding_is_late(const struct pguard_finding *finding)
{
	return !finding->left_ns;
}

/* A part of the time of a unit, ns; without a mark all is its own, and nothing else is known. */
static inline u64 pguard_limits_part(const struct pguard_account *account, u32 part)
{
	switch (part) {
	case PERFGUARD_PART_ALL:
		return account->elapsed - account->stopped;
	case PERFGUARD_PART_OWN:
		return account->elapsed - account->stopped - account->runqueue;
	case PERFGUARD_PART_CPU:
		return account->cpu;
	case PERFGUARD_PART_BLOCKED:
		return account->blocked;
	default:
		return account->block_io;
	}
}

/* How long a part of a unit may be, ns; 0: no limit. */
static inline u64 pguard_limits_of_part(const struct pguard_limits *limits, u64 added_ns,
					u32 part)
{
	u64 limit = READ_ONCE(limits->ns[part - 1]);

	if (limit && (part == PERFGUARD_PART_OWN || part == PERFGUARD_PART_CPU))
		limit += added_ns;
	return limit;
}

/* Is it late, stops apart. */
static inline void pguard_limits_exceed(const struct pguard_limits *limits, u64 added_ns,
					const struct pguard_account *account,
					struct pguard_finding *ret)
{
	u64 limit, ns, left, times, most = 0;
	u32 i;

	*ret = (struct pguard_finding){ .left_ns = U64_MAX };
	for (i = 0; i < PGUARD_NR_PARTS; i++) {
		limit = pguard_limits_of_part(limits, added_ns, i + 1);
		if (!limit)
			continue;
		ns = pguard_limits_part(account, i + 1);
		left = ns > limit ? 0 : limit - ns + 1;
		if (left > ret->left_ns)
			continue;
		if (!left) {
			/* In 1024ths; of two equal ones the narrower part says more. */
			times = div64_u64(ns, (limit >> 10) + 1);
			if (times < most)
				continue;
			most = times;
		}
		*ret = (struct pguard_finding){ i + 1, limit, left };
	}
}

/* The same if it had been blocked while it was stopped. */
static inline void pguard_limits_exceed_by_stop(const struct pguard_limits *limits, u64 added_ns,
						const struct pguard_account *account,
						struct pguard_finding *ret)
{
	struct pguard_account own = *account;
	struct pguard_finding finding;

	own.blocked += own.stopped;
	own.stopped = 0;
	pguard_limits_exceed(limits, added_ns, &own, &finding);
	if (!pguard_finding_is_late(&finding))
		return;
	ret->part = PERFGUARD_PART_STOPPED;
	ret->limit_ns = finding.limit_ns;
	ret->is_stopped = true;
}

/**
 * pguard_limits_judge() - is a unit with this account late
 * @limits: its type's, or those of all that it may be of
 * @added_ns: how much longer it may be in what has its CPU time in it, whatever its type
 * @account: so far or, if it ended, of all of it
 * @ret: filled in
 *
 * Context: any.
 */
static inline void pguard_limits_judge(const struct pguard_limits *limits, u64 added_ns,
				       const struct pguard_account *account,
				       struct pguard_finding *ret)
{
	pguard_limits_exceed(limits, added_ns, account, ret);
	if (account->stopped && !pguard_finding_is_late(ret))
		pguard_limits_exceed_by_stop(limits, added_ns, account, ret);
}

/* Returns true if a unit that is in time would be late if the run queue were its own doing. */
static inline bool pguard_limits_starve(const struct pguard_limits *limits, u64 added_ns,
					const struct pguard_account *account)
{
	u64 limit = pguard_limits_of_part(limits, added_ns, PERFGUARD_PART_OWN);

	u64 elapsed = account->elapsed - account->stopped;

	return limit && elapsed > limit && elapsed - account->runqueue <= limit;
}

#endif /* _KMOD_PROFILE_FINDING_H */
