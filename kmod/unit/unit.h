/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Units: their begin and their end.
 *
 * A unit runs from one boundary to the next: from the return of the loop's
 * wait call to the entry of the next one.  Begin and end are done by the
 * thread itself, in the hook on the wait call, without a lock; see enum
 * pguard_phase in task.h for how the overdue watch gets in between.  They are
 * inline because the hook is all they are called from, a million times a
 * second.
 */
#ifndef _KMOD_UNIT_UNIT_H
#define _KMOD_UNIT_UNIT_H

#include "lib/clock.h"
#include "target/image.h"
#include "target/thread.h"

#include <linux/bitops.h>

struct pguard_profile;

void pguard_unit_drop(struct pguard_task *state);
void pguard_unit_count_checks(struct pguard_profile *profile, s64 ticks);

struct pguard_task *pguard_unit_end(struct pguard_task *state);

/* The rest of pguard_unit_close(), where it is not the usual one. */
struct pguard_task *pguard_unit_end_late(struct pguard_task *state, u64 word, u64 elapsed);
struct pguard_task *pguard_unit_end_eventful(struct pguard_task *state, u64 word,
					     u64 elapsed);

/*
 * The bucket of a time in the histogram that the spec's hist-buckets tells; of
 * one that pguard_clock_ns_short() told, which is not beyond the last bucket:
 * two factors of 32 bits each, 30 of which are shifted out.
 */
static_assert(16 * (34 - 5) + 32 <= PERFGUARD_HIST_BUCKETS && PGUARD_CLOCK_SHIFT >= 30);

static __always_inline unsigned long pguard_unit_bucket_short(u64 ns)
{
	unsigned long shift = __fls(ns | 16) - 4;

	return (shift << 4) + (ns >> shift);
}

/* The same of any time. */
static __always_inline u32 pguard_unit_bucket(u64 ns)
{
	return min_t(u64, pguard_unit_bucket_short(ns), PERFGUARD_HIST_BUCKETS - 1);
}

/* The number and phase of the unit that begins; no unit runs. */
static __always_inline u64 pguard_unit_next(const struct pguard_task *state)
{
	return state->unit + BIT(PGUARD_PHASE_SHIFT) + PGUARD_PHASE_RUNNING;
}

/* Did the target want to know where the unit's time goes, or if none runs, the next one's? */
static __always_inline bool pguard_unit_has_account(const struct pguard_task *state)
{
	return state->unit & PGUARD_PHASE_MARKED;
}

/* Let the next unit have a mark, if the target wants to know.  No unit runs. */
static inline void pguard_unit_plan(struct pguard_task *state)
{
	u64 word = state->unit & ~(u64)PGUARD_PHASE_MARKED;

	if (READ_ONCE(state->image->target->flags) & PERFGUARD_TARGET_FLAGS_ACCOUNT)
		word |= PGUARD_PHASE_MARKED;
	WRITE_ONCE(state->unit, word);
}

/**
 * pguard_unit_run() - a unit begins
 * @state: of current; no unit runs, and the mark is in place if @word says so
 * @clock: pguard_clock() when it began
 * @word: of pguard_unit_next()
 *
 * Context: current, preemptible or not.
 */
static __always_inline void pguard_unit_run(struct pguard_task *state, u64 clock, u64 word)
{
	WRITE_ONCE(state->start, clock);
	/* Whoever sees the unit running sees its start, its mark and no hits. */
	smp_store_release(&state->unit, word);
}

/**
 * pguard_unit_start() - the loop's wait call has returned
 * @state: of current; no unit runs
 * @now: pguard_clock()
 *
 * Context: current, preemptible or not.
 */
static __always_inline void pguard_unit_start(struct pguard_task *state, u64 now)
{
	u64 word = pguard_unit_next(state);

	if (word & PGUARD_PHASE_MARKED)
		pguard_account_mark(&state->mark);
	pguard_unit_run(state, now, word);
}

/*
 * End a unit that took @elapsed ns, of this @bucket, which may be late by that.  The usual
 * case makes no call; what is rare is left to a function that does the rest and is called
 * last, so that the usual case saves no registers.  Returns @state.
 */
static __always_inline struct pguard_task *pguard_unit_close(struct pguard_task *state,
							     u64 elapsed, unsigned long bucket,
							     bool is_late)
{
	struct pguard_loop_sums __percpu *sums = state->loop->sums;
	u64 word = xchg(&state->unit, state->unit & ~(u64)PGUARD_PHASE_ENDS);

	this_cpu_inc(sums->hist[bucket]);
	this_cpu_add(sums->elapsed, elapsed);
	/* Seldom true, and then it does not matter if we move in between. */
	if (unlikely(elapsed > this_cpu_read(sums->max)))
		this_cpu_write(sums->max, elapsed);
	if (word & (PGUARD_PHASE_MARKED | PGUARD_PHASE_LATE)) {
		if (unlikely(word & PGUARD_PHASE_MARKED && !pguard_account_is_calm(&state->mark)))
			return pguard_unit_end_eventful(state, word, elapsed);
		/* All CPU if the task stayed on its one. */
		if (word & PGUARD_PHASE_MARKED)
			this_cpu_add(sums->cpu, elapsed);
		if (unlikely(word & PGUARD_PHASE_LATE))
			return pguard_unit_end_late(state, word, elapsed);
	}
	if (unlikely(is_late))
		return pguard_unit_end_late(state, word, elapsed);
	return state;
}

/* pguard_unit_end() of a unit that runs, where the clock is the TSC. */
static __always_inline struct pguard_task *pguard_unit_end_tsc(struct pguard_task *state)
{
	u64 ticks = rdtsc() - state->start, elapsed;

	/* What took just its time goes the other way. */
	if (unlikely(ticks > READ_ONCE(state->loop->within)))
		return pguard_unit_end(state);
	elapsed = pguard_clock_ns_short(ticks);
	return pguard_unit_close(state, elapsed, pguard_unit_bucket_short(elapsed), false);
}

#endif /* _KMOD_UNIT_UNIT_H */
