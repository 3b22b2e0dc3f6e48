/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Units of threads that a profile guards: cut per event, of an inferred type,
 * and late by that type's threshold.
 *
 * The rules by which they are cut are those of training (user/train/cutter.h):
 * a wait ends a unit and its return begins one; the second event without a wait
 * in between ends a unit and begins the next; and if the loop has empty spans,
 * what comes to a wait without an event was none.
 *
 * What a wait usually ends and begins is inline and makes no call, as in unit.h;
 * guarded.c has all the rest.  All functions are for the thread itself.
 */
#ifndef _KMOD_UNIT_GUARDED_H
#define _KMOD_UNIT_GUARDED_H

#include "lib/clock.h"
#include "profile/inference.h"
#include "target/thread.h"
#include "trainstream/stream.h"
#include "unit/unit.h"
#include "unit/wait-site.h"

/* What becomes of a call at a boundary: what its return means. */
enum pguard_guarded_call {
	PGUARD_GUARDED_NONE,
	PGUARD_GUARDED_WAIT,	/* it may begin a unit */
	PGUARD_GUARDED_EVENT,	/* an event began with the call, if it does not fail */
};

enum pguard_guarded_call pguard_guarded_enter(struct pguard_task *state, bool may_sleep);
struct pguard_task *pguard_guarded_enter_event(struct pguard_task *state);
bool pguard_guarded_end_empty(struct pguard_task *state);
bool pguard_guarded_end_excused(struct pguard_task *state);
struct pguard_task *pguard_guarded_close(struct pguard_task *state, u64 elapsed);
void pguard_guarded_forget(struct pguard_task *state);
void pguard_guarded_event_call(struct pguard_task *state);
void pguard_guarded_event_site(struct pguard_task *state, u64 now);
void pguard_guarded_count_longer(const struct pguard_profile *profile, u64 ticks);

/*
 * Was what ran no unit, for no event began in it?  It only brought the rest of what was
 * waited for.
 */
static __always_inline bool pguard_guarded_is_empty(const struct pguard_inference *inference)
{
	return inference->course->has_empty && !inference->is_marked;
}

/*
 * Is there nothing to do about a unit that takes so many @ticks, but to count it?
 * It is in time for its type, @within, and fits it, met the guards of the profile
 * that its target has, and nobody listens.
 */
static __always_inline bool pguard_guarded_is_usual(const struct pguard_task *state,
						    const struct pguard_inference *inference,
						    u64 ticks, u32 within)
{
	/* What took just its time goes the other way. */
	if (unlikely(ticks >= within))
		return false;
	if (pguard_guarded_is_empty(inference))
		return false;
	return likely(inference->profile == rcu_access_pointer(state->image->target->profile) &&
		      !inference->nr_unknown && !pguard_stream_is_open());
}

/* Count a usual unit of some seconds at most.  What it took was CPU time, if that is asked for. */
static __always_inline void pguard_guarded_count(const struct pguard_task *state,
						 const struct pguard_inference *inference,
						 u64 elapsed, bool is_marked)
{
	struct pguard_type_sums *sums;
	struct pguard_profile_cpu *cpu;
	struct pguard_loop_sums *loop;

	preempt_disable_notrace();
	cpu = pguard_profile_this_cpu(inference->profile);
	sums = &cpu->types[inference->verdict->type];
	loop = this_cpu_ptr(state->loop->sums);
	cpu->sums.units++;
	cpu->sums.checks += inference->checks;
	sums->units++;
	sums->elapsed += elapsed;
	loop->hist[pguard_unit_bucket_short(elapsed)]++;
	loop->elapsed += elapsed;
	loop->max = max(loop->max, elapsed);
	if (is_marked) {
		sums->cpu += elapsed;
		loop->cpu += elapsed;
	}
	preempt_enable_notrace();
}

/* Something took about as much as the two ends of a unit. */
static __always_inline void pguard_guarded_count_extra(const struct pguard_profile *profile)
{
	preempt_disable_notrace();
	pguard_profile_this_cpu(profile)->sums.unit_equivalents++;
	preempt_enable_notrace();
}

/* What runs is no more, unless the watch has found it late since its @word was read. */
static __always_inline bool pguard_guarded_stop(struct pguard_task *state, u64 word)
{
	if (unlikely(!try_cmpxchg(&state->unit, &word, word & ~(u64)PGUARD_PHASE_ENDS)))
		return false;
	state->counts = NULL;
	return true;
}

/* How far the end of a unit has come, and what does the rest. */
enum pguard_guarded_end {
	PGUARD_GUARDED_END_DONE,
	PGUARD_GUARDED_END_EVENTFUL,	/* it left its CPU or met faults: pguard_guarded_close() */
	PGUARD_GUARDED_END_UNUSUAL,	/* nothing was done */
};

/**
 * pguard_guarded_end() - the unit of a thread ends, the usual way
 * @state: of current; the clock is the TSC
 * @inference: of its loop
 * @within: in how many ticks it is in time, if it fits its type; else 0
 * @now: rdtsc() when it ended
 * @mark: taken then; NULL if that is now
 * @elapsed: set to its time, ns, if anything was done
 *
 * Context: current, preemptible or not.
 */
static __always_inline enum pguard_guarded_end
pguard_guarded_end(struct pguard_task *state, const struct pguard_inference *inference,
		   u32 within, u64 now, const struct pguard_mark *mark, u64 *elapsed)
{
	u64 ticks = now - state->start - inference->checks;
	u64 word = READ_ONCE(state->unit);
	bool is_marked = word & PGUARD_PHASE_MARKED;

	if (unlikely(!(word & PGUARD_PHASE_RUNNING) || word & PGUARD_PHASE_LATE ||
		     !pguard_guarded_is_usual(state, inference, ticks, within)))
		return PGUARD_GUARDED_END_UNUSUAL;
	if (unlikely(!pguard_guarded_stop(state, word)))
		return PGUARD_GUARDED_END_UNUSUAL;
	*elapsed = pguard_clock_ns_short(ticks);
	if (unlikely(is_marked && (mark ? mark->events != state->mark.events :
					  !pguard_account_is_calm(&state->mark))))
		return PGUARD_GUARDED_END_EVENTFUL;
	pguard_guarded_count(state, inference, *elapsed, is_marked);
	return PGUARD_GUARDED_END_DONE;
}

/* Is an event that begins now the first one of the unit that runs? */
static __always_inline bool pguard_guarded_is_first(const struct pguard_task *state,
						    const struct pguard_inference *inference)
{
	return state->unit & PGUARD_PHASE_RUNNING && !inference->is_marked;
}

/* An event begins: if it is the first one of the unit that runs, that is all. */
static __always_inline bool pguard_guarded_take_first(const struct pguard_task *state,
						      struct pguard_inference *inference)
{
	if (!pguard_guarded_is_first(state, inference))
		return false;
	inference->is_marked = true;
	return true;
}

/*
 * Is @place, a boundary, of the event loop that the thread is in, and of the profile by which
 * it is?  The image's contexts may have brought it into another loop by the same number.
 */
static __always_inline bool pguard_guarded_is_in(const struct pguard_task *state,
						 const struct pguard_inference *inference,
						 const struct pguard_place *place)
{
	const struct pguard_finding *is = &place->spot->is;

	return inference && inference->profile == state->profile && state->loop == is->loop &&
	       inference->boundary->loop == is->boundary->loop;
}

/* Where the loop's frame is, by the place of its wait, which has a boundary. */
static __always_inline void pguard_guarded_frame(struct pguard_inference *inference,
						 const struct pguard_place *place)
{
	s32 rise = place->spot->is.rise;

	if (likely(rise))
		inference->frame = place->sp + rise;
}

/**
 * pguard_guarded_wake() - the loop's wait returned something: a unit begins
 * @state: of current, after PGUARD_GUARDED_WAIT
 * @now: pguard_clock()
 *
 * Context: current.
 */
static __always_inline void pguard_guarded_wake(struct pguard_task *state, u64 now)
{
	struct pguard_inference *inference = pguard_task_inference(state);
	u64 word = pguard_unit_next(state);

	pguard_inference_begin(inference);
	if (word & PGUARD_PHASE_MARKED)
		pguard_account_mark(&state->mark);
	pguard_unit_run(state, now, word);
	state->counts = inference->profile;
}

#endif /* _KMOD_UNIT_GUARDED_H */
