/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What happens when a thread comes by a guard of its target's profile.
 *
 * A hit on the fast path is in a unit whose verdict cache knows what it means.  It is inline
 * and makes no call, because a breakpoint's handler is all that it is called
 * from, and so the handler saves no registers: whatever is not is left to a
 * function that is called last.
 */
#ifndef _KMOD_PROBE_GUARD_H
#define _KMOD_PROBE_GUARD_H

#include "lib/clock.h"
#include "probe/site.h"
#include "profile/inference.h"
#include "target/thread.h"
#include "trainstream/stream.h"
#include "unit/unit.h"

#include <linux/percpu.h>
#include <linux/ptrace.h>

struct delayed_work;

/* Applies the rule of budgets; of governor.c. */
extern struct delayed_work pguard_governor;

/* How far a hit has come, and what does the rest. */
enum pguard_guard_result {
	PGUARD_GUARD_DONE,
	PGUARD_GUARD_BEYOND,	/* the unit may be late: pguard_guard_check() */
	PGUARD_GUARD_SLOW,	/* nothing was done: pguard_guard_hit_slow() */
};

/**
 * struct pguard_guard_hit - a hit on the fast path
 * @thread: of current
 * @now: rdtsc() when it began
 */
struct pguard_guard_hit {
	struct pguard_thread *thread;
	u64 now;
};

/*
 * What current's unit is by the profile of the site, or NULL if it does none in
 * which the profile counts.
 *
 * Only current itself takes its state away, or the removal of its target, which
 * waits for handlers at the target's sites first.
 */
static __always_inline struct pguard_thread *pguard_guard_state(const struct pguard_site *site)
{
	struct pguard_thread *thread;

	preempt_disable_notrace();
	thread = pguard_thread_find(current);
	if (unlikely(thread && thread->counts != site->profile))
		thread = NULL;
	preempt_enable_notrace();
	return thread;
}

static __always_inline u64 pguard_guard_depth(const struct pguard_site *site,
					      const struct pguard_inference *inference,
					      const struct pt_regs *regs)
{
	return inference->frame - (regs->sp + site->sp_delta);
}

/* For how many ticks the unit runs at @now, less those of the guards. */
static __always_inline u64 pguard_guard_ticks(const struct pguard_thread *thread,
					      const struct pguard_inference *inference, u64 now)
{
	return now - thread->start - inference->checks;
}

static __always_inline enum pguard_guard_result
pguard_guard_end(const struct pguard_thread *thread, struct pguard_inference *inference, u64 now)
{
	if (unlikely(pguard_guard_ticks(thread, inference, now) > inference->verdict->soon))
		return PGUARD_GUARD_BEYOND;
	inference->checks += rdtsc() - now;
	return PGUARD_GUARD_DONE;
}

/* Returns true if an event of the thread's loop begins at the site. */
static __always_inline bool pguard_guard_is_event(const struct pguard_site *site,
						  const struct pguard_inference *inference)
{
	return site->events & inference->loop->bit;
}

/**
 * pguard_guard_hit() - current came by a guard, the fast path
 * @site: the guard's; of a profile without the paper's rule; and the clock is
 *	the TSC
 * @regs: its user registers
 * @hit: with the clock; takes the rest
 * @may_begin: it is an event site of some loop; normally the first event
 *	of a unit
 *
 * Context: current, in the handler of a probe (probe.c); does not sleep or fault.
 * Return: how far it came.
 */
static __always_inline enum pguard_guard_result
pguard_guard_hit(const struct pguard_site *site, const struct pt_regs *regs,
		 struct pguard_guard_hit *hit, bool may_begin)
{
	struct pguard_inference *inference;
	const struct pguard_transition *transition;
	bool begins;
	u64 key;

	hit->thread = pguard_guard_state(site);
	if (unlikely(!hit->thread || pguard_stream_is_open()))
		return PGUARD_GUARD_SLOW;
	inference = pguard_thread_inference(hit->thread);
	begins = may_begin && pguard_guard_is_event(site, inference);
	if (unlikely(begins && !pguard_unit_is_first(hit->thread, inference)))
		return PGUARD_GUARD_SLOW;
	transition = NULL;
	if (!may_begin || site->has_contexts) {
		/* A depth that is none, of more than 32 bits, makes another site of it. */
		key = site->key + inference->frame - regs->sp;
		if (unlikely(key >> 32 != site->id ||
			     !pguard_verdict_cache_find(inference->cache, inference->verdict, key,
							&transition)))
			return PGUARD_GUARD_SLOW;
	}
	/* A batch is complete; the hit is counted again there, which takes the batch at once. */
	if (unlikely(this_cpu_dec_return(*site->left) < 0))
		return PGUARD_GUARD_SLOW;
	this_cpu_inc(site->sums->hits);
	if (begins)
		inference->is_marked = true;
	if (!may_begin || transition)
		pguard_inference_follow(inference, transition);
	return pguard_guard_end(hit->thread, inference, hit->now);
}

struct pguard_hit_run;

void pguard_guard_take_noted(struct pguard_thread *thread, struct pguard_inference *inference,
			     const struct pguard_hit_run *run);
void pguard_guard_record_noted(struct pguard_thread *thread, struct pguard_inference *inference,
			       const struct pguard_hit_run *run);
void pguard_guard_start(const struct pguard_site *site, const struct pt_regs *regs);
bool pguard_guard_hit_slow(const struct pguard_site *site, const struct pt_regs *regs, u64 now);
void pguard_guard_check(struct pguard_thread *thread, u64 now);

#endif /* _KMOD_PROBE_GUARD_H */
