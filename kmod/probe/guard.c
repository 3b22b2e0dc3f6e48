// SPDX-License-Identifier: GPL-2.0

#include "probe/guard.h"

#include "probe/late-hit.h"
#include "target/hit-ring.h"
#include "target/image.h"
#include "unit/unit.h"

#include <linux/atomic.h>
#include <linux/sched/task_stack.h>
#include <linux/workqueue.h>

/*
 * A batch of hits has come to this CPU, and is taken off the allowance.  The CPU that
 * uses that up calls the governor, which sets it again; no other does, so that many
 * threads do not crowd there.
 */
static void take_batch(struct pguard_profile *profile)
{
	struct pguard_budget_state *budget = &profile->budget;
	s64 left;

	this_cpu_write(*profile->left, READ_ONCE(budget->batch));
	if (!budget->budget.ppm)
		return;
	left = atomic64_sub_return(BUDGET_BATCH_NS, &budget->allowance);
	if (left < 0 && left >= -(s64)BUDGET_BATCH_NS)
		mod_delayed_work(system_dfl_wq, &pguard_governor, 0);
}

static void count_hit(const struct pguard_site *site)
{
	this_cpu_inc(site->sums->hits);
	if (this_cpu_dec_return(*site->left) < 0)
		take_batch(site->profile);
}

/* A hit outside of units; it began at @now. */
static void count_stray(struct pguard_profile *profile, u64 now)
{
	struct pguard_profile_sums *sums;

	preempt_disable();
	sums = &pguard_profile_this_cpu(profile)->sums;
	sums->stray_hits++;
	sums->checks += pguard_clock() - now;
	preempt_enable();
}

static noinline void stream_hit(struct pguard_thread *thread,
				const struct pguard_inference *inference, u32 guard, u32 depth)
{
	pguard_stream_put(thread, PERFGUARD_EVENT_KIND_GUARD, guard, depth,
			  pguard_inference_type_id(inference, inference->verdict->early));
}

/*
 * The unit may be late: report it if it is, and was not reported before; else it need not be
 * asked for a while.  Apart, so that hits save no registers for it.
 */
static noinline void judge(struct pguard_thread *thread, struct pguard_inference *inference,
			   const struct pt_regs *regs, u64 ticks)
{
	struct pguard_account account = { .elapsed = pguard_clock_ns(ticks) };
	u64 word = READ_ONCE(thread->unit);
	struct pguard_finding finding;

	if (word & PGUARD_PHASE_LATE || inference->is_quiet)
		return;
	if (word & PGUARD_PHASE_MARKED)
		pguard_account_current(&thread->mark, account.elapsed, &account);
	if (unlikely(word & PGUARD_PHASE_STOPPED))
		pguard_unit_take_stopped(thread, word, &account);
	pguard_inference_judge(inference, inference->verdict, &account, &finding);
	inference->judged = inference->verdict;
	inference->quiet = finding.left_ns == U64_MAX
				   ? U64_MAX
				   : ticks + pguard_clock_ticks(finding.left_ns);
	if (pguard_finding_is_late(&finding) &&
	    pguard_late_hit(thread, word, regs, account.elapsed) == -EBUSY)
		inference->is_quiet = true;
}

static void check(struct pguard_thread *thread, struct pguard_inference *inference,
		  const struct pt_regs *regs, u64 now)
{
	u64 ticks = pguard_guard_ticks(thread, inference, now);

	if (likely(ticks <= inference->verdict->soon))
		return;
	if (ticks > inference->quiet || inference->verdict != inference->judged)
		judge(thread, inference, regs, ticks);
}

static void see_to(struct pguard_thread *thread, enum pguard_meeting meeting)
{
	if (meeting == PGUARD_MEETING_CROWDED)
		mod_delayed_work(system_dfl_wq, &pguard_governor, 0);
	else if (meeting == PGUARD_MEETING_LOST)
		atomic64_inc(&thread->image->target->untracked);
}

/* That an event site was met says nothing where training had no guard there. */
static __always_inline void meet(struct pguard_thread *thread, struct pguard_inference *inference,
				 u32 guard, u32 depth, bool is_event)
{
	const struct infer_table *table = &inference->loop->table;
	u64 key = infer_key(guard, depth);
	const struct infer_slot *slot = infer_find(table, key);

	if (slot->key == key)
		see_to(thread, pguard_inference_meet(inference, slot));
	else if (!is_event)
		pguard_inference_meet_unknown(inference, guard, depth);
	if (pguard_stream_wants_units(thread->image->target))
		stream_hit(thread, inference, guard, depth);
}

/*
 * A thread without an inference waits in no loop of the profile; one with that
 * of another profile changes at its next boundary.
 */
static void hit(const struct pguard_site *site, struct pguard_thread *thread,
		const struct pt_regs *regs, u64 now)
{
	struct pguard_inference *inference = pguard_thread_inference(thread);
	u64 depth;

	if (!inference || inference->profile != site->profile || !inference->frame)
		return count_stray(site->profile, now);
	depth = pguard_guard_depth(site, inference, regs);
	if (!depth || depth > INFER_MAX_DEPTH)
		return count_stray(site->profile, now);
	if (pguard_guard_is_event(site, inference))
		pguard_unit_event_site(thread, now);
	if (!(thread->unit & PGUARD_PHASE_RUNNING))
		return count_stray(site->profile, now);
	meet(thread, inference, site->id, depth, site->events);
	check(thread, inference, regs, now);
	inference->checks += pguard_clock() - now;
}

/* A hit that a landing has noted, of which the verdict cache does not know what it means. */
static noinline void meet_noted(struct pguard_thread *thread, struct pguard_inference *inference,
				u32 guard, u64 key)
{
	u64 depth = key - infer_key(guard, 0);

	if (depth && depth <= INFER_MAX_DEPTH)
		meet(thread, inference, guard, depth, false);
	else
		count_stray(inference->profile, pguard_clock());
}

/* pguard_guard_take_noted() of hits that are recorded, each. */
void pguard_guard_record_noted(struct pguard_thread *thread, struct pguard_inference *inference,
			       const struct pguard_hit_run *run)
{
	const struct pguard_profile *profile = inference->profile;
	u32 i = run->nr, guard;

	preempt_disable_notrace();
	while (i--) {
		guard = READ_ONCE(run->hits[i].what) - profile->noted->first;
		if (guard >= profile->nr_guards)
			continue;
		pguard_profile_this_cpu(profile)->noted[guard]++;
		meet_noted(thread, inference, guard,
			   profile->noted->keys[guard] + inference->frame -
				   READ_ONCE(run->hits[i].sp));
	}
	preempt_enable_notrace();
}

/**
 * pguard_guard_take_noted() - the unit that runs has met what landings have noted
 * @thread: of current, in a unit
 * @inference: of the thread
 * @run: the hits; those that are of no guard of the profile are passed over
 *
 * A program that writes there says nothing worse than what it can do: which contexts it meets.
 *
 * Context: current; does not sleep or fault.
 */
void pguard_guard_take_noted(struct pguard_thread *thread, struct pguard_inference *inference,
			     const struct pguard_hit_run *run)
{
	const struct pguard_transition *transitions = inference->cache->transitions, *transition;
	const struct pguard_noted_hit *hit, *last = run->hits;
	const struct pguard_profile *profile = inference->profile;
	u32 first = profile->noted->first, nr_guards = profile->nr_guards, guard;
	const u64 *keys = profile->noted->keys;
	u32 shift = inference->cache->shift;
	u64 frame = inference->frame, key, *nr_hits;

	preempt_disable_notrace();
	nr_hits = pguard_profile_this_cpu(profile)->noted;
	for (hit = last + run->nr; hit-- > last;) {
		guard = READ_ONCE(hit->what) - first;
		if (unlikely(guard >= nr_guards))
			continue;
		nr_hits[guard]++;
		key = keys[guard] + frame - READ_ONCE(hit->sp);
		if (likely(pguard_transitions_find(transitions, shift, inference->verdict, key,
						   &transition)))
			pguard_inference_follow(inference, transition);
		else
			meet_noted(thread, inference, guard, key);
	}
	preempt_enable_notrace();
}

/* The state of current, see pguard_guard_state(); NULL if it is of another target. */
static __always_inline struct pguard_thread *state_of_current(const struct pguard_site *site)
{
	struct pguard_thread *thread = pguard_thread_of_current();

	return thread && thread->image->target == site->target ? thread : NULL;
}

/**
 * pguard_guard_start() - current came by a start site, before that counts as a hit
 * @site: the guard's
 * @regs: its user registers
 *
 * A thread that starts with this has no state yet: no hooked call came before.
 *
 * Context: current, in the handler of a probe (probe.c); does not sleep or fault.
 */
void pguard_guard_start(const struct pguard_site *site, const struct pt_regs *regs)
{
	struct pguard_thread *thread = state_of_current(site);

	if (!thread && pguard_thread_first(site->target))
		thread = state_of_current(site);
	if (thread)
		pguard_unit_start(thread, site->profile, site->starts, regs->sp + site->sp_delta);
}

/**
 * pguard_guard_hit_slow() - current came by a guard, in whatever way
 * @site: the guard's
 * @regs: its user registers
 * @now: pguard_clock()
 *
 * Context: current, in the handler of a probe (probe.c); does not sleep or fault.
 * Return: true if current's memory needs the breakpoint no more.
 */
bool pguard_guard_hit_slow(const struct pguard_site *site, const struct pt_regs *regs, u64 now)
{
	struct pguard_thread *thread = state_of_current(site);

	/* A child that is no target's has the breakpoints its parent had. */
	if (!thread && !pguard_site_wants(site, current->mm))
		return true;
	count_hit(site);
	/* A thread that has been in no hooked call is in no unit. */
	if (!thread)
		count_stray(site->profile, now);
	else
		hit(site, thread, regs, now);
	return false;
}

/**
 * pguard_guard_check() - current came by a guard, and its unit may be late
 * @thread: of current
 * @now: pguard_clock() when it came
 *
 * The rest of a hit, after PGUARD_GUARD_BEYOND.
 *
 * Context: as pguard_guard_hit().
 */
noinline void pguard_guard_check(struct pguard_thread *thread, u64 now)
{
	struct pguard_inference *inference = pguard_thread_inference(thread);

	check(thread, inference, current_pt_regs(), now);
	inference->checks += pguard_clock() - now;
}
