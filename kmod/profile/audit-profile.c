// SPDX-License-Identifier: GPL-2.0

/*
 * Audits: what a target goes by that has no profile.
 *
 * An audit is a profile with one type and no guards.  The type's threshold, which may
 * change at any time, is the target's.  Its event loops are those of each image of the
 * target (image.h): copies of the one that it has, with sums of their own.
 */

#include "lib/charge.h"
#include "profile/profile.h"

/* A loop with the one type, of which all units are; it is never late.  Return: false if not. */
static bool make_loop(struct pguard_profile *audit)
{
	struct infer_table *table = &audit->loops->table;

	audit->types->least_final = S16_MIN;
	table->types = audit->types;
	audit->loops->limits = audit->limits;
	audit->loops->ticks = audit->ticks;
	*audit->ticks = pguard_verdict_ticks(audit->limits, &(struct request_parts){ });
	table->nr_types = 1;
	audit->room = pguard_profile_room(infer_room(table));
	return audit->room && !infer_table_init(table, audit->room) &&
	       pguard_verdict_make_first(audit->loops);
}

/**
 * pguard_audit_new() - an audit without a threshold
 * @target: whose
 *
 * Context: may sleep.
 * Return: the audit with a reference for the caller, or NULL.
 */
struct pguard_profile *pguard_audit_new(struct pguard_target *target)
{
	struct pguard_profile *audit = pguard_profile_alloc();

	if (!audit)
		return NULL;
	audit->target = target;
	audit->nr_types = 1;
	audit->nr_loops = 1;
	audit->types = pguard_profile_room(sizeof(*audit->types));
	audit->limits = pguard_profile_room(sizeof(*audit->limits));
	audit->ticks = pguard_profile_room(sizeof(*audit->ticks));
	audit->loops = pguard_profile_room(sizeof(*audit->loops));
	if (audit->types && audit->limits && audit->ticks && audit->loops &&
	    !pguard_profile_make_counters(audit) && make_loop(audit))
		return audit;
	pguard_profile_put(audit);
	return NULL;
}

/**
 * pguard_audit_set_threshold() - from when on units are late
 * @audit: the audit
 * @threshold_ns: 0: they never are
 *
 * Units that end meanwhile are judged by the one or the other.
 *
 * Context: any; serialized by the caller.
 */
void pguard_audit_set_threshold(struct pguard_profile *audit, u64 threshold_ns)
{
	struct pguard_cached_verdict *known = audit->loops->cache->known;
	struct pguard_limit_ticks ticks;

	WRITE_ONCE(audit->types->threshold_ns, threshold_ns);
	WRITE_ONCE(audit->limits->ns[PERFGUARD_PART_ALL - 1], threshold_ns);
	WRITE_ONCE(known->limits.ns[PERFGUARD_PART_ALL - 1], threshold_ns);
	ticks = pguard_verdict_ticks(audit->limits, &(struct request_parts){ });
	WRITE_ONCE(audit->ticks->soon_ns, ticks.soon_ns);
	WRITE_ONCE(known->verdict.within, ticks.within);
}

/**
 * pguard_audit_loop_init() - an event loop of an image
 * @audit: of its target; outlives it
 * @loop: to be set up
 * @id: its number in the image
 *
 * Context: may sleep; the sums are charged to the memory cgroup that is active.
 * Return: 0 or -ENOMEM; @loop->audit is the caller's, to be freed by free_percpu().
 */
int pguard_audit_loop_init(const struct pguard_profile *audit, struct pguard_loop *loop, u32 id)
{
	*loop = *audit->loops;
	loop->id = id;
	loop->audit = alloc_percpu_gfp(struct pguard_audit_sums, GFP_KERNEL | PGUARD_GFP_CHARGED);
	return loop->audit ? 0 : -ENOMEM;
}

/* What all CPUs counted of a loop.  Context: any. */
void pguard_audit_sum(const struct pguard_loop *loop, struct pguard_audit_sums *ret)
{
	const struct pguard_audit_sums *sums;
	int cpu;

	memset(ret, 0, sizeof(*ret));
	for_each_possible_cpu(cpu) {
		sums = per_cpu_ptr(loop->audit, cpu);
		pguard_sums_add(&ret->type, &sums->type, sizeof(ret->type));
		pguard_sums_add(ret->hist, sums->hist, sizeof(ret->hist));
		ret->max = max(ret->max, READ_ONCE(sums->max));
		ret->stopped += READ_ONCE(sums->stopped);
		ret->has_block_io |= READ_ONCE(sums->has_block_io);
	}
}
