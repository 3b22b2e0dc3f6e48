// SPDX-License-Identifier: GPL-2.0

#include "guard.h"

#include "clock.h"
#include "compat.h"
#include "guarded.h"
#include "image.h"
#include "inference.h"
#include "site.h"
#include "stream.h"
#include "task.h"

#include <linux/ptrace.h>

/*
 * The state of current, which only current itself takes away, or the removal of
 * its target, and that waits for handlers first.  NULL if it is not a thread of
 * the site's target; else the hit is counted.
 */
static __always_inline struct pguard_task *state_of_current(const struct pguard_site *site)
{
	struct pguard_task *state;

	preempt_disable_notrace();
	state = pguard_task_find(current);
	if (likely(state && state->target == site->target))
		pguard_profile_this_cpu(site->profile)->guards[site->id].hits++;
	else
		state = NULL;
	preempt_enable_notrace();
	return state;
}

static void count_stray(struct pguard_profile *profile)
{
	preempt_disable();
	pguard_profile_this_cpu(profile)->sums.stray_hits++;
	preempt_enable();
}

/* Is the guard's site a boundary of the thread's loop? */
static bool is_event_site(const struct pguard_inference *inference, u32 guard)
{
	const struct pguard_profile *profile = inference->profile;
	u32 course = inference->course - profile->courses;
	u32 i;

	for (i = 0; i < profile->nr_boundaries; i++)
		if (profile->boundaries[i].role == PERFGUARD_BOUNDARY_ROLE_EVENT_SITE &&
		    profile->boundaries[i].guard == guard &&
		    profile->boundaries[i].course == course)
			return true;
	return false;
}

static noinline void stream_hit(struct pguard_task *state,
				const struct pguard_inference *inference, u32 guard, u32 depth)
{
	u16 type = infer_early(&inference->state);

	pguard_stream_put(state, PERFGUARD_EVENT_KIND_GUARD, guard, depth,
			  pguard_inference_type_id(inference, type));
}

/* Is the unit late?  It runs for so many ticks. */
static noinline void check(struct pguard_task *state, struct pguard_inference *inference,
			   const struct pt_regs *regs, u64 ticks)
{
	u64 elapsed, limit;

	if (state->unit & PGUARD_PHASE_LATE || inference->is_quiet)
		return;
	elapsed = pguard_clock_ns(ticks);
	limit = pguard_inference_limit(inference, elapsed);
	if (unlikely(limit && elapsed > limit))
		pguard_guarded_late(state, regs, elapsed);
}

/*
 * A thread without an inference waits in no loop of the profile; one with that
 * of another profile changes at its next boundary.
 */
static __always_inline void hit(const struct pguard_site *site, struct pguard_task *state,
				const struct pt_regs *regs, u64 now)
{
	struct pguard_inference *inference = pguard_task_inference(state);
	struct pguard_profile *profile = site->profile;
	u64 ticks;
	s64 depth;

	if (unlikely(!inference || inference->profile != profile || !inference->frame))
		return count_stray(profile);
	depth = inference->frame - (regs->sp + site->sp_delta);
	if (unlikely(site->is_event) && depth > 0 && is_event_site(inference, site->id))
		pguard_guarded_event_site(state, now);
	if (unlikely(!(state->unit & PGUARD_PHASE_RUNNING) || depth <= 0 || depth > S32_MAX))
		return count_stray(profile);
	pguard_inference_meet(inference, site->id, depth, site->is_event);
	if (unlikely(pguard_stream_wants_units(state->target)))
		stream_hit(state, inference, site->id, depth);
	ticks = now - state->start - inference->checks;
	if (unlikely(ticks > inference->soon))
		check(state, inference, regs, ticks);
	inference->checks += pguard_clock() - now;
}

/*
 * A thread that has been in no hooked call is in no unit.  A child that is no
 * target's has the breakpoints its parent had.
 */
static noinline bool stranger(const struct pguard_site *site)
{
	struct pguard_profile_cpu *cpu;

	if (!pguard_site_wants(site, current->mm))
		return true;
	/* The governor is to know of them, too. */
	preempt_disable();
	cpu = pguard_profile_this_cpu(site->profile);
	cpu->guards[site->id].hits++;
	cpu->sums.stray_hits++;
	preempt_enable();
	return false;
}

/**
 * pguard_guard_hit() - current came by a guard
 * @site: the guard's
 * @regs: its user registers
 *
 * Context: current, may sleep and fault; the probe is not taken off meanwhile.
 * Return: whether current's memory needs the breakpoint no more.
 */
bool pguard_guard_hit(struct pguard_site *site, const struct pt_regs *regs)
{
	u64 now = pguard_clock();
	struct pguard_task *state = state_of_current(site);

	if (unlikely(!state))
		return stranger(site);
	hit(site, state, regs, now);
	return false;
}
