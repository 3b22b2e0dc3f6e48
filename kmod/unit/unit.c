// SPDX-License-Identifier: GPL-2.0

#include "unit/unit.h"

#include "profile/inference.h"
#include "report/late-unit.h"
#include "report/report-cost.h"
#include "trainstream/stream.h"

#include <linux/sched/signal.h>

#include <perfguard/added-time.h>

/**
 * pguard_unit_count_checks() - what handlers of guards took counts for a profile
 * @profile: referenced, or current's
 * @ticks: of the clock; negative for what was counted elsewhere
 *
 * Context: any but interrupts.
 */
void pguard_unit_count_checks(struct pguard_profile *profile, s64 ticks)
{
	preempt_disable();
	pguard_profile_this_cpu(profile)->sums.checks += ticks;
	preempt_enable();
}

/**
 * pguard_unit_drop() - the thread leaves in mid-unit
 * @thread: of current
 *
 * The unit does not count; but if it was reported, its end is too.
 *
 * Context: current, preemptible or not.
 */
void pguard_unit_drop(struct pguard_thread *thread)
{
	const struct pguard_inference *inference = pguard_thread_inference(thread);
	u64 word = xchg(&thread->unit, thread->unit & ~(u64)PGUARD_PHASE_ENDS);
	struct pguard_account account = { };

	thread->counts = NULL;
	if (word & PGUARD_PHASE_RUNNING && inference)
		pguard_unit_count_checks(inference->profile, inference->checks);
	if (!(word & PGUARD_PHASE_LATE))
		return;
	account.elapsed = pguard_clock_ns(pguard_clock() - thread->start);
	if (word & PGUARD_PHASE_MARKED)
		pguard_account_current(&thread->mark, account.elapsed, &account);
	pguard_unit_take_stopped(thread, word, &account);
	pguard_late_unit_report_end(thread, word, &account);
}

/*
 * A moment of current: the clock, and its counters if the target wants them.  An account
 * without those is that of now, whatever the clock.
 */
struct moment {
	u64 clock;
	const struct pguard_mark *mark;
};

/* The account of the unit that @end ends, which has a mark. */
static void unit_account(const struct pguard_thread *thread, const struct moment *end, u64 elapsed,
			 struct pguard_account *ret)
{
	if (end->mark)
		pguard_account_between(&thread->mark, end->mark,
				       pguard_clock_ns(pguard_clock() - end->clock), elapsed, ret);
	else
		pguard_account_current(&thread->mark, elapsed, ret);
}

static void count_times(struct pguard_type_sums *sums, const struct pguard_account *account)
{
	sums->units++;
	sums->elapsed += account->elapsed;
	sums->cpu += account->cpu;
	sums->runqueue += account->runqueue;
	sums->block_io += account->block_io;
	sums->min_faults += account->min_faults;
	sums->maj_faults += account->maj_faults;
}

/* What a unit that ended was. */
struct unit_outcome {
	bool is_late;
	bool is_starved;
	bool is_stopped;
	bool is_novel;
};

static void count_in_audit(struct pguard_audit_sums *sums, const struct pguard_account *account,
			   struct unit_outcome outcome)
{
	sums->hist[pguard_bucket(account->elapsed)]++;
	sums->max = max(sums->max, account->elapsed);
	sums->stopped += account->stopped;
	sums->has_block_io |= account->has_block_io;
	sums->type.late += outcome.is_late;
	sums->type.stopped += outcome.is_stopped;
	count_times(&sums->type, account);
}

/* Of one late unit no more counts than eight times the limit, if there is one. */
static u64 capped(const struct pguard_limits *limits, u32 part, u64 ns)
{
	u64 limit = READ_ONCE(limits->ns[part - 1]);

	return limit && ns / 8 > limit ? 8 * limit : ns;
}

static noinline void count_late(struct pguard_type_sums *sums,
				const struct pguard_inference *inference,
				const struct pguard_account *account)
{
	const struct pguard_limits *limits =
		&inference->profile->limits[inference->verdict->type];

	sums->late++;
	sums->late_elapsed += account->elapsed;
	sums->late_cpu += capped(limits, PERFGUARD_PART_CPU, account->cpu);
	sums->late_blocked += capped(limits, PERFGUARD_PART_BLOCKED, account->blocked);
}

static __always_inline void count_in_type(struct pguard_type_sums *sums,
					  const struct pguard_inference *inference,
					  const struct pguard_account *account,
					  struct unit_outcome outcome)
{
	sums->novel += outcome.is_novel;
	sums->starved += outcome.is_starved;
	sums->stopped += outcome.is_stopped;
	if (outcome.is_late)
		count_late(sums, inference, account);
	else if (!inference->nr_unknown)
		count_times(sums, account);
}

/* Count how long a unit was, or a part of it.  Preemption is off. */
static void count_time(const struct pguard_inference *inference,
		       const struct pguard_profile_cpu *cpu, enum perfguard_times kind, u64 ns)
{
	u32 type = inference->verdict->type;
	s32 bucket = (pguard_bucket(ns) >> 1) - inference->profile->ticks[type].first;
	u32 *nr = cpu->times[type].nr[kind - 1];

	nr += clamp_t(s32, bucket, 0, PERFGUARD_TIMES_BUCKETS - 1);
	WRITE_ONCE(*nr, READ_ONCE(*nr) + 1);
}

static noinline void count_parts(const struct pguard_inference *inference,
				 const struct pguard_profile_cpu *cpu,
				 const struct pguard_account *account)
{
	u64 added_ns = pguard_inference_added_ns(inference, account);
	u64 own = account->elapsed - account->runqueue;

	if (!cpu->times || !account->has_times)
		return;
	/* It says nothing of its type. */
	if (inference->nr_unknown || added_time_is_most(own, added_ns))
		return;
	count_time(inference, cpu, PERFGUARD_TIMES_OWN, added_time_take_off(own, added_ns));
	count_time(inference, cpu, PERFGUARD_TIMES_CPU,
		   added_time_take_off(account->cpu, added_ns));
	count_time(inference, cpu, PERFGUARD_TIMES_BLOCKED, account->blocked);
}

static __always_inline void unit_count(const struct pguard_thread *thread,
				       const struct pguard_account *account,
				       struct unit_outcome outcome)
{
	const struct pguard_inference *inference = pguard_thread_inference(thread);
	const struct pguard_verdict *verdict = inference->verdict;
	struct pguard_profile_cpu *cpu;

	preempt_disable();
	cpu = pguard_profile_this_cpu(inference->profile);
	cpu->sums.units++;
	cpu->sums.novel += outcome.is_novel;
	cpu->sums.unknown_hits += inference->nr_unknown;
	cpu->sums.checks += inference->checks;
	if (inference->loop->audit) {
		count_in_audit(this_cpu_ptr(inference->loop->audit), account, outcome);
	} else if (verdict->final != INFER_NO_TYPE) {
		count_in_type(&cpu->types[verdict->type], inference, account, outcome);
		if (unlikely(pguard_unit_is_sampled(thread->unit)))
			count_parts(inference, cpu, account);
	}
	preempt_enable();
}

/* What a unit that ended was, except for what guards say of it. */
static noinline struct unit_outcome unit_judge(const struct pguard_inference *inference,
					       const struct pguard_account *account)
{
	struct pguard_finding finding;
	struct unit_outcome outcome = {
		.is_starved = pguard_inference_judge_end(inference, account, &finding),
	};

	outcome.is_late = pguard_finding_is_late(&finding);
	outcome.is_stopped = finding.is_stopped;
	return outcome;
}

/*
 * Late ones take a longer way to their end, which is part of what it takes to report them,
 * also if they are not reported.  Should current have left its CPU since @begun, not for how
 * long.
 *
 * Return: the ticks that are charged.
 */
static u64 charge_late(const struct pguard_thread *thread, u64 begun)
{
	u64 ticks = pguard_clock() - begun;

	pguard_report_cost_add(thread->image->target,
			       min_t(u64, pguard_clock_ns(ticks), NSEC_PER_MSEC));
	return ticks;
}

/* A unit ended that was late, or would be by its stops; of which @word was the thread's. */
static void report_end(struct pguard_thread *thread, u64 word,
		       const struct pguard_account *account, bool is_late)
{
	if (is_late)
		atomic64_inc(&thread->image->target->late);
	pguard_late_unit_report_end(thread, word, account);
}

/* By the clock it is in time; but a part of its time may be beyond its own limit. */
static noinline u64 close_doubtful(struct pguard_thread *thread,
				   const struct pguard_account *account)
{
	const struct pguard_inference *inference = pguard_thread_inference(thread);
	struct unit_outcome outcome = unit_judge(inference, account);
	u64 begun = pguard_clock();

	unit_count(thread, account, outcome);
	if (likely(!outcome.is_late))
		return 0;
	report_end(thread, thread->unit, account, true);
	return charge_late(thread, begun);
}

/*
 * A unit of the fast path that left its CPU, or met page faults, has ended with this account.
 *
 * Return: the ticks that are charged.
 */
static __always_inline u64 unit_close(struct pguard_thread *thread,
				      const struct pguard_account *account)
{
	if (!pguard_inference_is_soon(pguard_thread_inference(thread), account->elapsed))
		return close_doubtful(thread, account);
	unit_count(thread, account, (struct unit_outcome){ });
	return 0;
}

/**
 * pguard_unit_close() - count a fast unit that left its CPU, or met page faults
 * @thread: of current; its unit has ended now, and is still that of its inference and mark
 * @elapsed: its time, ns
 *
 * The rest of its end, after PGUARD_UNIT_END_EVENTFUL.
 *
 * Context: current, preemptible or not.
 * Return: @thread
 */
struct pguard_thread *pguard_unit_close(struct pguard_thread *thread, u64 elapsed)
{
	struct pguard_account account;

	pguard_account_current(&thread->mark, elapsed, &account);
	unit_close(thread, &account);
	pguard_unit_count_extra(pguard_thread_inference(thread)->profile);
	return thread;
}

/* The same of one that has ended at @end. */
static noinline u64 unit_close_at(struct pguard_thread *thread, const struct moment *end,
				  u64 elapsed)
{
	struct pguard_account account;

	unit_account(thread, end, elapsed, &account);
	return unit_close(thread, &account);
}

/* In how many ticks the unit that runs is in time, if it ends now and fits its type. */
static __always_inline u32 unit_within(const struct pguard_thread *thread,
				       const struct pguard_inference *inference)
{
	u32 within = READ_ONCE(inference->verdict->within);

	if (unlikely(!within && pguard_inference_is_excused(inference, thread->start)))
		within = inference->loop->ticks[inference->verdict->final].within;
	return within;
}

/* The unit that runs ends, if it does so by the fast path; @ticks are charged for it then. */
static __always_inline bool unit_end_fast(struct pguard_thread *thread,
					   const struct pguard_inference *inference,
					   const struct moment *end, u64 *ticks)
{
	u32 within = unit_within(thread, inference);
	u64 elapsed;

	if (!pguard_clock_is_tsc())
		return false;
	switch (pguard_unit_end(thread, inference, within, end->clock, end->mark, &elapsed)) {
	case PGUARD_UNIT_END_DONE:
		return true;
	case PGUARD_UNIT_END_EVENTFUL:
		*ticks = unit_close_at(thread, end, elapsed);
		return true;
	case PGUARD_UNIT_END_SLOW:
		break;
	}
	return false;
}

/**
 * pguard_unit_end_excused() - the loop's wait is entered after a unit that lacks hits
 * @thread: of current, in a loop of its profile; the clock is the TSC
 *
 * Context: current, preemptible.
 * Return: false if guards that are shed are not why, or it goes the slow path; nothing was
 *	done then.
 */
bool pguard_unit_end_excused(struct pguard_thread *thread)
{
	const struct pguard_inference *inference = pguard_thread_inference(thread);
	const struct moment now = { .clock = pguard_clock() };
	u64 ticks;

	return pguard_inference_is_excused(inference, thread->start) &&
	       unit_end_fast(thread, inference, &now, &ticks);
}

/**
 * pguard_unit_count_longer() - a hooked call took the slow path
 * @profile: of current's unit or state
 * @ticks: of pguard_clock() that it took
 *
 * Should current have left its CPU meanwhile, not for how long.
 *
 * Context: any but interrupts.
 */
void pguard_unit_count_longer(const struct pguard_profile *profile, u64 ticks)
{
	/* By another clock all ways are this one, and have the price of it. */
	if (!pguard_clock_is_tsc())
		return;
	preempt_disable();
	pguard_profile_this_cpu(profile)->sums.longer +=
		min(ticks, pguard_clock_ticks(20 * NSEC_PER_USEC));
	preempt_enable();
}

/* Shifted by 48. */
enum {
	UNIT_IS_NOVEL = 1 << 15,
	UNIT_IS_NONE = 1 << 14,
	UNIT_HAS_ACCOUNT = 1 << 13,
	UNIT_WAS_INTERRUPTED = 1 << 12,
	UNIT_WAS_BATCHED = 1 << 11,
};

static void stream_account(struct pguard_thread *thread, const struct pguard_account *account)
{
	u32 block_io = min_t(u64, account->block_io / 256, (1 << 28) - 1);

	pguard_stream_put(thread, PERFGUARD_EVENT_KIND_ACCOUNT, block_io, account->runqueue,
			  account->cpu);
}

static void stream_unit(struct pguard_thread *thread, const struct pguard_inference *inference,
			const struct pguard_account *account, u64 flags)
{
	u64 about;

	if (pguard_profile_is_audit(inference->profile) ||
	    !pguard_stream_wants_units(thread->image->target))
		return;
	if (account->has_times)
		flags |= UNIT_HAS_ACCOUNT;
	if (account->interrupted)
		flags |= UNIT_WAS_INTERRUPTED;
	if (inference->is_batched)
		flags |= UNIT_WAS_BATCHED;
	if (account->has_times && account->cpu != account->elapsed)
		stream_account(thread, account);
	/* Its stops are left out: nothing is to be learnt of them. */
	about = min_t(u64, pguard_clock_ns(inference->checks), U32_MAX) |
		(u64)inference->loop->id << 32 | flags << 48;
	pguard_stream_put(thread, PERFGUARD_EVENT_KIND_UNIT,
			  pguard_inference_type_id(inference, inference->verdict->final), about,
			  account->elapsed - account->stopped);
}

/* What ran was no unit, which does not matter. */
static bool end_empty(struct pguard_thread *thread, const struct pguard_inference *inference,
		      u64 word, const struct pguard_account *account)
{
	pguard_unit_count_checks(inference->profile, inference->checks);
	stream_unit(thread, inference, account, UNIT_IS_NONE);
	if (word & PGUARD_PHASE_LATE)
		pguard_late_unit_report_end(thread, word, account);
	return word & PGUARD_PHASE_LATE;
}

/*
 * Count a unit that ended.  Where it was stopped, this is left out of what counts for its type;
 * an audit has it, as a part of its own.
 */
static noinline void count_stopped(const struct pguard_thread *thread,
				   const struct pguard_account *account,
				   struct unit_outcome outcome)
{
	struct pguard_account own = pguard_account_without_stops(account);

	unit_count(thread, pguard_thread_inference(thread)->loop->audit ? account : &own, outcome);
}

/* The unit that runs ends.  Whether it was reported, or late. */
static bool unit_finish(struct pguard_thread *thread, struct pguard_inference *inference,
			const struct moment *end)
{
	u64 elapsed = pguard_clock_ns(end->clock - thread->start - inference->checks);
	u64 word = xchg(&thread->unit, thread->unit & ~(u64)PGUARD_PHASE_ENDS);
	struct pguard_account account = { .elapsed = elapsed };
	struct unit_outcome outcome;

	thread->counts = NULL;
	if (word & PGUARD_PHASE_MARKED)
		unit_account(thread, end, elapsed, &account);
	if (unlikely(word & PGUARD_PHASE_STOPPED))
		pguard_unit_take_stopped(thread, word, &account);
	if (pguard_unit_is_empty(inference))
		return end_empty(thread, inference, word, &account);
	outcome = unit_judge(inference, &account);
	outcome.is_novel = pguard_inference_is_novel(inference, thread->start);
	/* What was stopped may have been reported for that alone. */
	if (word & PGUARD_PHASE_LATE && !account.stopped) {
		outcome.is_late = true;
		outcome.is_starved = false;
	}
	if (unlikely(account.stopped))
		count_stopped(thread, &account, outcome);
	else
		unit_count(thread, &account, outcome);
	stream_unit(thread, inference, &account, outcome.is_novel ? UNIT_IS_NOVEL : 0);
	if (unlikely(outcome.is_late || outcome.is_stopped || word & PGUARD_PHASE_LATE)) {
		report_end(thread, word, &account, outcome.is_late);
		return true;
	}
	return unlikely(outcome.is_novel) &&
	       pguard_late_unit_report_novel(thread, word, &account);
}

/*
 * The unit that runs ends, and what that takes is charged.
 *
 * Return: the ticks that are charged.
 */
static u64 unit_end(struct pguard_thread *thread, struct pguard_inference *inference,
		    const struct moment *at)
{
	u64 begun = pguard_clock(), ticks;

	if (unit_finish(thread, inference, at))
		return charge_late(thread, begun);
	ticks = pguard_clock() - begun;
	pguard_unit_count_longer(inference->profile, ticks);
	return ticks;
}

/* Another loop, or another profile, or the first: the unit at hand, if any, has ended before. */
static struct pguard_inference *change_loop(struct pguard_thread *thread,
					    struct pguard_profile *profile,
					    struct pguard_loop *loop, gfp_t gfp)
{
	struct pguard_inference *old = pguard_thread_inference(thread);
	struct pguard_inference *inference = pguard_inference_new(profile, loop, gfp);

	if (!inference)
		atomic64_inc(&thread->image->target->untracked);
	rcu_assign_pointer(thread->inference, inference);
	pguard_inference_free(old);
	return inference;
}

static enum pguard_call enter_wait(struct pguard_thread *thread, bool may_sleep)
{
	struct pguard_inference *inference = pguard_thread_inference(thread);
	struct pguard_loop *loop = thread->place->call_site->is.loop;
	struct moment now = { .clock = pguard_clock() };

	/* A thread that comes to a loop has another life. */
	if (unlikely(inference && inference->loop->is_life))
		pguard_unit_drop(thread);
	else if (thread->unit & PGUARD_PHASE_RUNNING)
		unit_end(thread, inference, &now);
	if (!inference || inference->loop != loop)
		inference = change_loop(thread, thread->profile, loop,
					may_sleep ? GFP_KERNEL : GFP_NOWAIT);
	if (!inference)
		return PGUARD_CALL_NONE;
	pguard_unit_frame(inference, thread->place);
	return PGUARD_CALL_WAIT;
}

/**
 * pguard_unit_enter_event() - a call begins that begins an event, if it does not fail
 * @thread: of current; the event is not the first one of a unit that runs
 *
 * Context: current.
 * Return: @thread
 */
struct pguard_thread *pguard_unit_enter_event(struct pguard_thread *thread)
{
	thread->entered = pguard_clock();
	if (pguard_unit_has_account(thread))
		pguard_account_mark(pguard_thread_inference(thread)->event);
	return thread;
}

static enum pguard_call enter_event(struct pguard_thread *thread)
{
	struct pguard_inference *inference = pguard_thread_inference(thread);

	/* Of another loop than the thread is in, or of a profile that comes just now. */
	if (!inference || inference->loop != thread->place->call_site->is.loop)
		return PGUARD_CALL_NONE;
	/* The first one ends no unit, so it does not matter when it was. */
	if (!pguard_unit_is_first(thread, inference))
		pguard_unit_enter_event(thread);
	return PGUARD_CALL_EVENT;
}

/**
 * pguard_unit_enter() - a hooked call begins in a wait site
 * @thread: of current; its place is one
 * @may_sleep: the context allows it
 *
 * Context: current.
 * Return: what its return means.
 */
enum pguard_call pguard_unit_enter(struct pguard_thread *thread, bool may_sleep)
{
	if (thread->place->call_site->is.role == PERFGUARD_BOUNDARY_ROLE_WAIT)
		return enter_wait(thread, may_sleep);
	return enter_event(thread);
}

static void leave_loop(struct pguard_thread *thread, struct pguard_inference *inference)
{
	rcu_assign_pointer(thread->inference, NULL);
	pguard_inference_free(inference);
}

/**
 * pguard_unit_leave() - current comes to where its loop waited, and that is no loop's wait any more
 * @thread: of current
 * @loop: that waited there; nothing happens if current is not in it
 *
 * The unit at hand ends.
 *
 * Context: current.
 */
void pguard_unit_leave(struct pguard_thread *thread, const struct pguard_loop *loop)
{
	struct pguard_inference *inference = pguard_thread_inference(thread);
	struct moment now = { .clock = pguard_clock() };

	if (!inference || inference->loop != loop)
		return;
	if (thread->unit & PGUARD_PHASE_RUNNING)
		unit_end(thread, inference, &now);
	leave_loop(thread, inference);
}

/**
 * pguard_unit_forget() - leave a loop if the target is guarded now, or no longer
 * @thread: of current
 *
 * The unit at hand, if any, does not count.
 *
 * Context: current.
 */
void pguard_unit_forget(struct pguard_thread *thread)
{
	struct pguard_inference *inference = pguard_thread_inference(thread);

	if (!inference ||
	    pguard_profile_is_audit(inference->profile) == pguard_profile_is_audit(thread->profile))
		return;
	pguard_unit_drop(thread);
	leave_loop(thread, inference);
}

/**
 * pguard_unit_start() - current comes by a start site
 * @thread: of current
 * @profile: that is armed, of which @loop is one without a wait
 * @loop: whose unit begins, unless the thread does units already, or has made hooked calls:
 *	then it does not start here
 * @sp: at the entry of the function that the thread starts with
 *
 * Its calls are entered below the loop's frame, which is where that function returns.
 *
 * Context: current, in the handler of a probe; does not sleep.
 */
void pguard_unit_start(struct pguard_thread *thread, struct pguard_profile *profile,
		       struct pguard_loop *loop, u64 sp)
{
	struct pguard_inference *inference;

	if (pguard_thread_inference(thread) || thread->nr_waits)
		return;
	inference = change_loop(thread, profile, loop, GFP_NOWAIT);
	if (!inference)
		return;
	inference->frame = sp + sizeof(u64);
	pguard_unit_plan(thread);
	pguard_unit_begin(thread, pguard_clock());
}

/* Returns true if current exits by itself, alone, or with its process that has no other thread. */
static bool ends_by_itself(void)
{
	const struct signal_struct *signal = current->signal;

	return !(signal->flags & SIGNAL_GROUP_EXIT) ||
	       (get_nr_threads(current) == 1 && !(current->exit_code & 0x7f));
}

/**
 * pguard_unit_exit() - current exits
 * @thread: of current
 *
 * A unit that is the thread's life ends by that; another one does not count, nor does
 * one that is ended from outside.
 *
 * Context: current, preemptible or not.
 */
void pguard_unit_exit(struct pguard_thread *thread)
{
	struct pguard_inference *inference = pguard_thread_inference(thread);
	struct moment now = { .clock = pguard_clock() };

	if (inference && inference->loop->is_life && thread->unit & PGUARD_PHASE_RUNNING &&
	    ends_by_itself())
		unit_end(thread, inference, &now);
	else
		pguard_unit_drop(thread);
}

/*
 * An event begins that is not the first of its unit.  The thread may have waited
 * unseen.
 *
 * Return: ticks that are charged to the unit that it ends, if that takes the slow path or is
 * late.
 */
static u64 event_begin(struct pguard_thread *thread, struct pguard_inference *inference,
		       const struct moment *at)
{
	bool is_batched = thread->unit & PGUARD_PHASE_RUNNING;
	u64 ticks = 0, word;

	if (is_batched && !unit_end_fast(thread, inference, at, &ticks))
		ticks = unit_end(thread, inference, at);
	word = pguard_unit_next(thread);
	pguard_inference_begin(inference);
	if (at->mark)
		thread->mark = *at->mark;
	pguard_unit_run(thread, at->clock, word);
	thread->counts = inference->profile;
	inference->is_marked = true;
	WRITE_ONCE(inference->is_batched, is_batched);
	return ticks;
}

/**
 * pguard_unit_event_call() - the call that begins an event has not failed
 * @thread: of current, after PGUARD_CALL_EVENT
 *
 * The event began when the call did.
 *
 * Context: current.
 */
void pguard_unit_event_call(struct pguard_thread *thread)
{
	struct pguard_inference *inference = pguard_thread_inference(thread);
	struct moment at = { .clock = thread->entered };
	u64 ticks;

	if (pguard_unit_take_first(thread, inference))
		return;
	if (pguard_unit_has_account(thread))
		at.mark = inference->event;
	ticks = event_begin(thread, inference, &at);
	if (likely(!ticks))
		return;
	/* Charged already; it lies within the new unit, and is not its own. */
	inference->checks += ticks;
	pguard_unit_count_checks(inference->profile, -ticks);
}

/**
 * pguard_unit_event_site() - current came by an event site of its loop
 * @thread: of current, which has an inference
 * @now: pguard_clock()
 *
 * Context: current.
 */
void pguard_unit_event_site(struct pguard_thread *thread, u64 now)
{
	struct pguard_inference *inference = pguard_thread_inference(thread);
	struct moment at = { .clock = now };
	struct pguard_mark mark;
	u64 ticks;

	if (pguard_unit_take_first(thread, inference))
		return;
	if (pguard_unit_has_account(thread)) {
		pguard_account_mark(&mark);
		at.mark = &mark;
	}
	ticks = event_begin(thread, inference, &at);
	/* The new unit's handlers take it for theirs, since it is in none of its time. */
	if (unlikely(ticks))
		pguard_unit_count_checks(inference->profile, -ticks);
}
