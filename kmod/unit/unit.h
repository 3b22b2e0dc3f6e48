/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Units: their begin and their end.
 *
 * A unit runs from one boundary to the next: from the return of the loop's
 * wait call to the entry of the next one.  Begin and end are done by the
 * thread itself, in the hook on the wait call, without a lock; see enum
 * pguard_phase in thread.h for how the watchdog gets in between.
 *
 * Of a loop without a wait, a unit is the life of a thread: it begins in the function that
 * the thread starts with, and ends with the thread's exit.
 *
 * A unit is of a type of the thread's profile, and late by that type's threshold.
 * Where there is no profile it is audited: that is a profile with one type and
 * no guards (audit-profile.c).
 *
 * The rules by which units are cut are those of training (user/train/cutter.h):
 * a wait ends a unit and its return begins one; the second event without a wait
 * in between ends a unit and begins the next; and if the loop has empty spans,
 * what comes to a wait without an event was none.
 *
 * What a wait ends and begins on the fast path is inline and makes no call, because
 * the hook is all it is called from, a million times a second; unit.c has all the
 * rest.  All functions are for the thread itself, but those that say otherwise.
 */
#ifndef _KMOD_UNIT_UNIT_H
#define _KMOD_UNIT_UNIT_H

#include "lib/clock.h"
#include "profile/inference.h"
#include "target/image.h"
#include "target/thread.h"
#include "trainstream/stream.h"
#include "unit/wait-site.h"

#include <linux/bitops.h>

struct pguard_profile;

/* What becomes of a call at a wait site: what its return means. */
enum pguard_call {
	PGUARD_CALL_NONE,
	PGUARD_CALL_WAIT,	/* it may begin a unit */
	PGUARD_CALL_EVENT,	/* an event began with the call, if it does not fail */
};

enum pguard_call pguard_unit_enter(struct pguard_thread *thread, bool may_sleep);
struct pguard_thread *pguard_unit_enter_event(struct pguard_thread *thread);
bool pguard_unit_end_excused(struct pguard_thread *thread);
struct pguard_thread *pguard_unit_close(struct pguard_thread *thread, u64 elapsed);
void pguard_unit_leave(struct pguard_thread *thread, const struct pguard_loop *loop);
void pguard_unit_forget(struct pguard_thread *thread);
void pguard_unit_drop(struct pguard_thread *thread);
void pguard_unit_start(struct pguard_thread *thread, struct pguard_profile *profile,
		       struct pguard_loop *loop, u64 sp);
void pguard_unit_exit(struct pguard_thread *thread);
void pguard_unit_event_call(struct pguard_thread *thread);
void pguard_unit_event_site(struct pguard_thread *thread, u64 now);
void pguard_unit_count_longer(const struct pguard_profile *profile, u64 ticks);
void pguard_unit_count_checks(struct pguard_profile *profile, s64 ticks);

/* Threads that are stopped in mid-unit, which the watchdog finds (stopped.c). */
bool pguard_stopped_is_new(const struct pguard_thread *thread);
void pguard_stopped_look(struct pguard_thread *thread, u64 word);
bool pguard_stopped_is_between(const struct pguard_thread *thread, u64 word);

/* The watchdog: finds late units from outside, while they last (watchdog.c). */
int pguard_watchdog_init(void);
void pguard_watchdog_start(void);
void pguard_watchdog_flush(void);
void pguard_watchdog_stop(void);
void pguard_watchdog_deinit(void);

/* The number and phase of the unit that begins; no unit runs. */
static __always_inline u64 pguard_unit_next(const struct pguard_thread *thread)
{
	return thread->unit + BIT(PGUARD_PHASE_SHIFT) + PGUARD_PHASE_RUNNING;
}

/* Returns true if the target wants to know where the time of the unit goes, or of the next one. */
static __always_inline bool pguard_unit_has_account(const struct pguard_thread *thread)
{
	return thread->unit & PGUARD_PHASE_MARKED;
}

/* Let the next unit have a mark, if the target wants to know.  No unit runs. */
static inline void pguard_unit_plan(struct pguard_thread *thread)
{
	u64 word = thread->unit & ~(u64)PGUARD_PHASE_MARKED;

	if (READ_ONCE(thread->image->target->flags) & PERFGUARD_TARGET_FLAGS_ACCOUNT)
		word |= PGUARD_PHASE_MARKED;
	WRITE_ONCE(thread->unit, word);
}

/**
 * pguard_unit_run() - a unit begins
 * @thread: of current; no unit runs, and the mark is in place if @word says so
 * @clock: pguard_clock() when it began
 * @word: of pguard_unit_next()
 *
 * Context: current, preemptible or not.
 */
static __always_inline void pguard_unit_run(struct pguard_thread *thread, u64 clock, u64 word)
{
	WRITE_ONCE(thread->start, clock);
	/* Whoever sees the unit running sees its start, its mark and no hits. */
	smp_store_release(&thread->unit, word);
}

/*
 * Returns true if what ran was no unit, for no event began in it.  It only brought the rest
 * of what was waited for.
 */
static __always_inline bool pguard_unit_is_empty(const struct pguard_inference *inference)
{
	return inference->loop->has_empty && !inference->is_marked;
}

/*
 * Returns true if a unit that takes so many @ticks just has to be counted.
 * It is in time for its type, @within, and fits it, met the guards of a profile that
 * is armed, and nobody listens.
 */
static __always_inline bool pguard_unit_is_plain(const struct pguard_inference *inference,
						 u64 ticks, u32 within)
{
	/* What took just its time goes the other way. */
	if (unlikely(ticks >= within))
		return false;
	if (pguard_unit_is_empty(inference))
		return false;
	return likely(pguard_profile_is_armed(inference->profile) && !inference->nr_unknown &&
		      !pguard_stream_is_open());
}

/*
 * How long it was is counted of one unit of 128 of a thread: by its number, spread so that no
 * load that goes round in turns meets the same ones (multiplicative hashing).
 */
static __always_inline bool pguard_unit_is_sampled(u64 word)
{
	return (u32)(word >> PGUARD_PHASE_SHIFT) * 0x9e3779b1u < 1u << 25;
}

/* Count a plain unit of some seconds at most.  What it took is CPU time, if wanted. */
static __always_inline void pguard_unit_count(const struct pguard_inference *inference,
					      u64 elapsed, bool is_marked)
{
	struct pguard_audit_sums __percpu *audits = inference->loop->audit;
	struct pguard_audit_sums *audit;
	struct pguard_type_sums *sums;
	struct pguard_profile_cpu *cpu;

	preempt_disable_notrace();
	cpu = pguard_profile_this_cpu(inference->profile);
	sums = &cpu->types[inference->verdict->type];
	if (audits) {
		audit = this_cpu_ptr(audits);
		audit->hist[pguard_bucket_short(elapsed)]++;
		audit->max = max(audit->max, elapsed);
		sums = &audit->type;
	}
	cpu->sums.units++;
	cpu->sums.checks += inference->checks;
	sums->units++;
	sums->elapsed += elapsed;
	if (is_marked)
		sums->cpu += elapsed;
	preempt_enable_notrace();
}

/* Something took about as much as the two ends of a unit. */
static __always_inline void pguard_unit_count_extra(const struct pguard_profile *profile)
{
	preempt_disable_notrace();
	pguard_profile_this_cpu(profile)->sums.unit_equivalents++;
	preempt_enable_notrace();
}

/* What runs is no more, unless the watchdog has found it late since its @word was read. */
static __always_inline bool pguard_unit_stop(struct pguard_thread *thread, u64 word)
{
	if (unlikely(!try_cmpxchg(&thread->unit, &word, word & ~(u64)PGUARD_PHASE_ENDS)))
		return false;
	thread->counts = NULL;
	return true;
}

/* How far the end of a unit has come, and what does the rest. */
enum pguard_unit_end {
	PGUARD_UNIT_END_DONE,
	/* It left its CPU, met faults, or its times are counted: pguard_unit_close(). */
	PGUARD_UNIT_END_EVENTFUL,
	PGUARD_UNIT_END_SLOW,		/* nothing was done */
};

/**
 * pguard_unit_end() - the unit of a thread ends, on the fast path
 * @thread: of current; the clock is the TSC
 * @inference: of its loop
 * @within: in how many ticks it is in time, if it fits its type; else 0
 * @now: rdtsc() when it ended
 * @mark: taken then; NULL if that is now
 * @elapsed: set to its time, ns, if anything was done
 *
 * Context: current, preemptible or not.
 */
static __always_inline enum pguard_unit_end
pguard_unit_end(struct pguard_thread *thread, const struct pguard_inference *inference, u32 within,
		u64 now, const struct pguard_mark *mark, u64 *elapsed)
{
	u64 ticks = now - thread->start - inference->checks;
	u64 word = READ_ONCE(thread->unit);
	bool is_marked = word & PGUARD_PHASE_MARKED;

	if (unlikely(!(word & PGUARD_PHASE_RUNNING) ||
		     word & (PGUARD_PHASE_LATE | PGUARD_PHASE_STOPPED) ||
		     !pguard_unit_is_plain(inference, ticks, within)))
		return PGUARD_UNIT_END_SLOW;
	if (unlikely(!pguard_unit_stop(thread, word)))
		return PGUARD_UNIT_END_SLOW;
	*elapsed = pguard_clock_ns_short(ticks);
	if (unlikely(is_marked && (pguard_unit_is_sampled(word) ||
				   (mark ? mark->events != thread->mark.events
					 : !pguard_account_is_calm(&thread->mark)))))
		return PGUARD_UNIT_END_EVENTFUL;
	pguard_unit_count(inference, *elapsed, is_marked);
	return PGUARD_UNIT_END_DONE;
}

/* What ran was no unit, and ends on the fast path; else nothing is done. */
static __always_inline bool pguard_unit_end_empty(struct pguard_thread *thread,
						  const struct pguard_inference *inference)
{
	u64 word = READ_ONCE(thread->unit);

	return word & PGUARD_PHASE_RUNNING && !(word & PGUARD_PHASE_LATE) &&
	       pguard_unit_is_empty(inference) && !inference->checks && !pguard_stream_is_open() &&
	       pguard_unit_stop(thread, word);
}

/* Returns true if an event that begins now is the first one of the unit that runs. */
static __always_inline bool pguard_unit_is_first(const struct pguard_thread *thread,
						 const struct pguard_inference *inference)
{
	return thread->unit & PGUARD_PHASE_RUNNING && !inference->is_marked;
}

/* An event begins: if it is the first one of the unit that runs, that is all. */
static __always_inline bool pguard_unit_take_first(const struct pguard_thread *thread,
						   struct pguard_inference *inference)
{
	if (!pguard_unit_is_first(thread, inference))
		return false;
	inference->is_marked = true;
	return true;
}

/* Where the loop's frame is, by the place of its wait. */
static __always_inline void pguard_unit_frame(struct pguard_inference *inference,
				const struct pguard_place *place)
{
	s32 rise = place->call_site->is.rise;

	if (likely(rise))
		inference->frame = place->sp + rise;
}

/**
 * pguard_unit_begin() - the loop's wait returned something: a unit begins
 * @thread: of current, after PGUARD_CALL_WAIT
 * @now: pguard_clock()
 *
 * Context: current.
 */
static __always_inline void pguard_unit_begin(struct pguard_thread *thread, u64 now)
{
	struct pguard_inference *inference = pguard_thread_inference(thread);
	u64 word = pguard_unit_next(thread);

	pguard_inference_begin(inference);
	if (word & PGUARD_PHASE_MARKED)
		pguard_account_mark(&thread->mark);
	pguard_unit_run(thread, now, word);
	thread->counts = inference->profile;
}

#endif /* _KMOD_UNIT_UNIT_H */
