// SPDX-License-Identifier: GPL-2.0

/*
 * All functions: under the target lock, by a work; a probe must not be taken
 * off by its own handler.  pguard_probe_sync() comes after the last one is off.
 */

#include "budget/budget.h"

#include "lib/clock.h"
#include "probe/probe.h"
#include "profile/profile.h"

#include <linux/jiffies.h>
#include <linux/minmax.h>

enum {
	FIRST_PAUSE = 10,	/* s */
	MAX_PAUSE = 600,
};

/* Units of types that are candidates of a context may lack it, or do so no more. */
static void mark_types(struct pguard_profile *profile, const struct pguard_loop *loop,
		       const struct infer_context *context, u32 more)
{
	const struct infer_weight *weight = loop->table.weights + context->first_weight;
	u32 i;

	for (i = 0; i < context->nr_weights; i++) {
		u32 *degraded = &profile->degraded[loop->first_type + weight[i].type];

		/* Pairs with pguard_inference_is_excused(): that a guard came back is seen first. */
		smp_store_release(degraded, *degraded + more);
	}
}

/*
 * Units of the event loops that have it in a context are less sure, or sure again; and
 * what lacks it is not novel, or is so again if it begins from now on.
 */
static void mark_loops(struct pguard_profile *profile, u32 guard, u32 more)
{
	struct pguard_loop *loop;
	u32 i;

	for (loop = profile->loops; loop < profile->loops + profile->nr_loops; loop++) {
		for (i = 0; i < loop->table.nr_contexts; i++) {
			if (loop->table.contexts[i].site != guard)
				continue;
			WRITE_ONCE(loop->changed, pguard_clock());
			WRITE_ONCE(loop->nr_shed, loop->nr_shed + more);
			mark_types(profile, loop, &loop->table.contexts[i], more);
		}
	}
}

/* Take a guard off that is on: for longer each time. */
void pguard_shed_guard(struct pguard_profile *profile, u32 i)
{
	struct pguard_guard *guard = &profile->guards[i];

	/* Before units lack it. */
	mark_loops(profile, i, 1);
	pguard_probe_unregister(&profile->probes[i]);
	guard->pause = clamp_t(u32, 2 * guard->pause, FIRST_PAUSE, MAX_PAUSE);
	guard->shed_at = jiffies;
	WRITE_ONCE(guard->sheds, guard->sheds + 1);
	WRITE_ONCE(guard->state, PERFGUARD_GUARD_STATE_SHED);
	WRITE_ONCE(profile->nr_shed, profile->nr_shed + 1);
}

/* Returns true if it is time to try a guard again that is shed. */
bool pguard_shed_is_over(const struct pguard_guard *guard)
{
	return time_after_eq(jiffies, guard->shed_at + guard->pause * HZ);
}

/* Put it on again.  Return: true if it is; if it cannot be just now, next time. */
bool pguard_shed_restore(struct pguard_profile *profile, u32 i)
{
	struct pguard_guard *guard = &profile->guards[i];

	if (pguard_probe_register(&profile->probes[i]))
		return false;
	WRITE_ONCE(guard->state, PERFGUARD_GUARD_STATE_ACTIVE);
	WRITE_ONCE(profile->nr_shed, profile->nr_shed - 1);
	mark_loops(profile, i, -1);
	return true;
}
