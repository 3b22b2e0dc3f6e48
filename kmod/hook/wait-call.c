// SPDX-License-Identifier: GPL-2.0

/*
 * The hooked wait calls.  There are three ways in: fast, where a place is settled and
 * nothing unusual is wanted of the thread; slow, which does for any; and none, where
 * the call does not matter.
 *
 * A wait belongs to an event loop if its place does: the same system call at
 * the same distance below the loop's return address, which is read from the
 * user's stack each time.  Such a wait is a boundary: its entry ends a unit,
 * its return begins one.  All others (a lock, a read in mid-unit) only matter
 * while the loops are being found: then they are recorded.
 */

#include "hook/wait-call.h"

#include "compat.h"
#include "hook/drain.h"
#include "lib/clock.h"
#include "report/alert-record.h"
#include "report/late-unit.h"
#include "report/stack.h"
#include "target/image.h"
#include "target/thread.h"
#include "trainstream/stream.h"
#include "unit/unit.h"
#include "unit/wait-site.h"

#include <linux/futex.h>
#include <linux/io_uring.h>
#include <linux/sched/task_stack.h>
#include <asm/unistd.h>

/* pguard_task.follow */
enum {
	FOLLOW_BOUNDARY = 1 << 0,	/* it begins a unit */
	FOLLOW_RECORD = 1 << 1,		/* discovery wants to know of the wait */
	FOLLOW_STREAM = 1 << 2,		/* its begin was told in the stream */
	FOLLOW_EVENT = 1 << 3,		/* it begins an event, if it does not fail */
	FOLLOW_LONG = 1 << 4,		/* the clock is not the TSC */
};

/* futex and io_uring_enter are waits in some of their forms only. */
static __always_inline bool wait_waits(const struct pt_regs *regs, u32 syscall)
{
	switch (syscall) {
	case __NR_futex:
		switch (regs->si & FUTEX_CMD_MASK) {
		case FUTEX_WAIT:
		case FUTEX_WAIT_BITSET:
		case FUTEX_WAIT_REQUEUE_PI:
		case FUTEX_LOCK_PI:
		case FUTEX_LOCK_PI2:
			return true;
		}
		return false;
	case __NR_io_uring_enter:
		return regs->r10 & IORING_ENTER_GETEVENTS;
	}
	return true;
}

/* Should this wait be recorded for those who look for the loops? */
static bool record_wanted(struct pguard_task *state, struct pguard_place *place)
{
	struct pguard_target *target = state->image->target;

	if (!(READ_ONCE(target->flags) & PERFGUARD_TARGET_FLAGS_DISCOVER)) {
		/* Do not ask again at each wait. */
		state->records_left = 0;
		state->fresh &= ~pguard_place_bit(state, place);
		return false;
	}
	return pguard_rate_limit_take(&target->wait_limit);
}

/* Number of an event of the stream: the call, and the loop whose wait it is. */
static u32 event_number(const struct pguard_place *place, u32 follow)
{
	u32 loop = follow & FOLLOW_BOUNDARY ? place->spot->is.course->id : 0;

	return (place->spot->is.syscall & (BIT(PGUARD_SYSCALL_BITS) - 1)) |
	       (loop & (BIT(PGUARD_LOOP_BITS) - 1)) << PGUARD_SYSCALL_BITS;
}

static void stream_enter(struct pguard_task *state, const struct pt_regs *regs, u32 follow)
{
	pguard_stream_put(state, PERFGUARD_EVENT_KIND_ENTER, event_number(state->place, follow),
			  regs->sp, regs->ip);
}

static void stream_leave(struct pguard_task *state, long ret)
{
	/* Its begin was told to somebody else, or found no room. */
	if (!pguard_stream_knows(state))
		return;
	pguard_stream_put(state, PERFGUARD_EVENT_KIND_LEAVE,
			  event_number(state->place, state->follow),
			  task_pt_regs(current)->di, ret);
}

/* A call in a wait site. */
static u32 site_begin(struct pguard_task *state, bool may_sleep)
{
	switch (pguard_unit_enter(state, may_sleep)) {
	case PGUARD_CALL_WAIT:
		return FOLLOW_BOUNDARY;
	case PGUARD_CALL_EVENT:
		return FOLLOW_EVENT;
	default:
		return 0;
	}
}

/* The common part of both ways in, the long one.  True if the return is of interest. */
static noinline bool wait_begin(struct pguard_task *state, const struct pt_regs *regs,
				bool may_sleep)
{
	u64 begun = pguard_clock();
	struct pguard_place *place;
	bool is_boundary;
	u32 follow = 0;

	state->nr_waits++;
	place = pguard_place_get(state, regs, may_sleep);
	pguard_unit_forget(state);
	is_boundary = pguard_place_is_boundary(state, place, may_sleep);
	/* From a kretprobe it is the usual way, and in the price. */
	if (may_sleep)
		pguard_unit_count_longer(state->profile, pguard_clock() - begun);
	if (is_boundary)
		follow = site_begin(state, may_sleep);
	/* For want of memory nothing is known of it. */
	if (unlikely(place->spot == &pguard_nowhere)) {
		state->follow = 0;
		return 0;
	}
	if (unlikely(state->records_left) && record_wanted(state, place)) {
		follow |= FOLLOW_RECORD;
		state->entered = pguard_clock();
		state->switches = current->nvcsw;
	}
	if (follow & FOLLOW_BOUNDARY)
		pguard_unit_plan(state);
	state->long_way = !pguard_clock_is_tsc();
	if (unlikely(state->long_way && follow))
		follow |= FOLLOW_LONG;
	if (unlikely(pguard_stream_wants_waits(state->image->target))) {
		state->long_way = true;
		follow |= FOLLOW_STREAM;
		stream_enter(state, regs, follow);
	}
	state->follow = follow;
	return follow;
}

/* Keep a wait for wait-get. */
static noinline void wait_record(struct pguard_task *state, long ret, bool may_sleep)
{
	struct pguard_place *place = state->place;
	struct pguard_record *record;

	state->records_left--;
	record = pguard_late_unit_record(state, state->unit, PERFGUARD_RECORD_KIND_WAIT, 0,
					 may_sleep ? GFP_KERNEL : GFP_NOWAIT);
	if (!record)
		return;
	record->account.elapsed = pguard_clock_ns(pguard_clock() - state->entered);
	record->account.voluntary = (u32)current->nvcsw - state->switches;
	record->enter_ns = ktime_get_ns() - record->account.elapsed;
	record->syscall = place->spot->is.syscall;
	record->wait_ip = place->spot->is.ip;
	record->wait_sp = place->sp;
	record->result = ret;
	if (state->fresh & pguard_place_bit(state, place) && may_sleep) {
		record->stack = pguard_stack_self(state, task_pt_regs(current));
		state->fresh &= ~pguard_place_bit(state, place);
	}
	pguard_ring_add(&pguard_waits, record);
}

/* Calls for which EAGAIN says that there is nothing to be had. */
static bool wait_reads(u32 syscall)
{
	switch (syscall) {
	case __NR_read:
	case __NR_readv:
	case __NR_recvfrom:
	case __NR_recvmsg:
	case __NR_recvmmsg:
	case __NR_accept:
	case __NR_accept4:
		return true;
	}
	return false;
}

/*
 * Does the return begin a unit?  Not if the kernel is about to restart the
 * call, nor if a look at an empty socket was all it was.  sigsuspend and pause
 * always end by a signal, which is what their loops wait for.
 */
static __always_inline bool wait_starts_unit(u32 syscall, long ret)
{
	if (likely(ret >= 0))
		return true;
	switch (ret) {
	case -ERESTARTSYS:
	case -ERESTARTNOINTR:
	case -ERESTARTNOHAND:
	case -ERESTART_RESTARTBLOCK:
		return syscall == __NR_rt_sigsuspend || syscall == __NR_pause;
	case -EAGAIN:
		return !wait_reads(syscall);
	}
	return true;
}

/* The common part of both ways out, the long one. */
static noinline void wait_finish(struct pguard_task *state, long ret, bool may_sleep)
{
	u32 follow = state->follow;

	if (unlikely(follow & FOLLOW_STREAM))
		stream_leave(state, ret);
	if (unlikely(follow & FOLLOW_RECORD))
		wait_record(state, ret, may_sleep);
	if (unlikely(follow & FOLLOW_EVENT && ret >= 0))
		pguard_unit_event_call(state);
	if (follow & FOLLOW_BOUNDARY && wait_starts_unit(state->place->spot->is.syscall, ret))
		pguard_unit_begin(state, pguard_clock());
}

/* Of current. */
static __always_inline struct pguard_task *state_get(const struct task_struct *task)
{
	struct pguard_task *state;

	preempt_disable_notrace();
	state = pguard_task_find(task);
	if (likely(state))
		WRITE_ONCE(state->inflight, 1);
	preempt_enable_notrace();
	return state;
}

static __always_inline void state_release(struct pguard_task *state)
{
	/* All we did to the state comes before the drain sees us gone. */
	smp_store_release(&state->inflight, 0);
}

/* pguard_wait_enter() on the slow path; @state is NULL for a thread that is new. */
static noinline struct pguard_task *enter_slow(struct pguard_task *state,
					       const struct pt_regs *regs)
{
	/* One that is made is gone again if the target goes just now. */
	if (!state && pguard_task_first(NULL))
		state = state_get(current);
	if (!state || wait_begin(state, regs, true))
		return state;
	state_release(state);
	return NULL;
}

/* A call that is no boundary. */
static __always_inline struct pguard_task *enter_none(struct pguard_task *state)
{
	state->nr_waits++;
	state_release(state);
	return NULL;
}

/* The thread has entered its loop's wait, and what ran has ended. */
static __always_inline struct pguard_task *enter_ended(struct pguard_task *state,
						       const struct pguard_place *place)
{
	pguard_unit_frame(pguard_task_inference(state), place);
	state->nr_waits++;
	state->follow = FOLLOW_BOUNDARY;
	return state;
}

/* The wait of the loop that the thread is in, where no unit ended on the fast path. */
static noinline notrace struct pguard_task *enter_rare(struct pguard_task *state,
						       const struct pguard_place *place,
						       const struct pt_regs *regs)
{
	const struct pguard_inference *inference = pguard_task_inference(state);

	pguard_unit_count_extra(inference->profile);
	if (pguard_unit_end_empty(state, inference) || pguard_unit_end_excused(state))
		return enter_ended(state, place);
	return enter_slow(state, regs);
}

/* The wait of the loop that the thread is in: a unit ends there. */
static noinline notrace struct pguard_task *enter_fast(struct pguard_task *state,
						       const struct pguard_place *place,
						       const struct pt_regs *regs)
{
	const struct pguard_inference *inference = pguard_task_inference(state);
	enum pguard_unit_end end;
	u64 elapsed;

	end = pguard_unit_end(state, inference, READ_ONCE(inference->verdict->within), rdtsc(),
			      NULL, &elapsed);
	if (unlikely(end == PGUARD_UNIT_END_SLOW))
		return enter_rare(state, place, regs);
	enter_ended(state, place);
	if (unlikely(end == PGUARD_UNIT_END_EVENTFUL))
		return pguard_unit_close(state, elapsed);
	return state;
}

/*
 * A settled place that is not the wait of the thread's loop: an event begins there, or
 * another chain of calls led there.
 */
static noinline notrace struct pguard_task *enter_elsewhere(struct pguard_task *state,
							    const struct pguard_place *place,
							    const struct pt_regs *regs)
{
	const struct pguard_inference *inference = pguard_task_inference(state);
	const struct pguard_finding *is = &place->spot->is;

	if (pguard_stream_is_open() || (!is->course && is->fit != PGUARD_SPOT_SEVERAL))
		return enter_slow(state, regs);
	if (!is->course || !pguard_place_returns(place)) {
		if (!pguard_place_is_refused(state, place))
			return enter_slow(state, regs);
		pguard_unit_count_extra(state->profile);
		return enter_none(state);
	}
	if (!inference || inference->course != is->course ||
	    is->role == PERFGUARD_BOUNDARY_ROLE_WAIT)
		return enter_slow(state, regs);
	state->nr_waits++;
	state->follow = FOLLOW_EVENT;
	pguard_unit_count_extra(inference->profile);
	if (pguard_unit_is_first(state, inference))
		return state;
	return pguard_unit_enter_event(state);
}

/**
 * pguard_wait_enter() - a thread of a watched process enters a hooked call
 * @regs: its user registers
 * @task: current
 *
 * Context: current, may sleep; called by the stub.
 * Return: the thread's state if the return of the call is of interest, and
 * then the thread is inflight; NULL to let the call pass.
 */
__visible notrace struct pguard_task *__noendbr
pguard_wait_enter(const struct pt_regs *regs, const struct task_struct *task)
{
	const struct pguard_inference *inference;
	const struct pguard_finding *is;
	struct pguard_task *state;
	struct pguard_place *place;
	/* Read but once, whatever is written in between. */
	u32 syscall = pguard_place_syscall(regs);

	if (!wait_waits(regs, syscall))
		return NULL;
	state = state_get(task);
	if (unlikely(!state))
		return enter_slow(NULL, regs);
	place = state->place;
	if (unlikely(!pguard_place_is(place, regs, syscall))) {
		place = pguard_place_find(state, regs);
		if (!place)
			return enter_slow(state, regs);
		/* Where a loop waits it waits most often; others would push it out. */
		if (place->spot->is.course)
			state->place = place;
	}
	if (unlikely(!pguard_place_is_settled(state, place) || state->curious))
		return enter_slow(state, regs);
	is = &place->spot->is;
	if (!is->course)
		return likely(pguard_place_is_none(place)) ? enter_none(state) :
							     enter_elsewhere(state, place, regs);
	inference = pguard_task_inference(state);
	if (unlikely(!inference || inference->course != is->course ||
		     is->role != PERFGUARD_BOUNDARY_ROLE_WAIT || !pguard_place_returns(place)))
		return enter_elsewhere(state, place, regs);
	return enter_fast(state, place, regs);
}

static noinline long leave_slow(struct pguard_task *state, long ret)
{
	if (READ_ONCE(state->dead)) {
		if (ret == -EINTR && pguard_drain_woke())
			ret = -ERESTARTNOHAND;
	} else {
		wait_finish(state, ret, true);
	}
	state_release(state);
	return ret;
}

/* Is this all that the call's return is wanted for, in a thread that goes on? */
static __always_inline bool leave_is(const struct pguard_task *state, u16 follow)
{
	/* The compare is the load. */
	return data_race(state->returns) == follow;
}

/* pguard_wait_leave() of a call other than the loop's wait. */
static noinline notrace long leave_elsewhere(struct pguard_task *state, long ret)
{
	if (unlikely(!leave_is(state, FOLLOW_EVENT) || ret < 0))
		return leave_slow(state, ret);
	if (!pguard_unit_take_first(state, pguard_task_inference(state)))
		pguard_unit_event_call(state);
	state_release(state);
	return ret;
}

/**
 * pguard_wait_leave() - the hooked call has returned
 * @state: from pguard_wait_enter()
 * @ret: what the call returned
 *
 * Context: current, may sleep; called by the stub.
 * Return: what the system call returns.
 */
__visible notrace long __noendbr pguard_wait_leave(struct pguard_task *state, long ret)
{
	if (!leave_is(state, FOLLOW_BOUNDARY))
		return leave_elsewhere(state, ret);
	if (unlikely(ret < 0))
		return leave_slow(state, ret);
	pguard_unit_begin(state, rdtsc());
	state_release(state);
	return ret;
}

/**
 * pguard_wait_enter_atomic() - the same from a kretprobe
 * @regs: the user registers
 *
 * No stack is taken here.  The thread is not inflight: a kretprobe can be
 * taken off while it sleeps.
 *
 * Context: current, preemption off.
 * Return: whether the return of the call is of interest.
 */
bool pguard_wait_enter_atomic(const struct pt_regs *regs)
{
	struct pguard_task *state;

	if (!wait_waits(regs, pguard_place_syscall(regs)))
		return false;
	state = pguard_task_find(current);
	if (unlikely(!state))
		state = pguard_task_first(NULL);
	return state && wait_begin(state, regs, false);
}

/* Context: current, preemption off. */
void pguard_wait_leave_atomic(long ret)
{
	struct pguard_task *state = pguard_task_find(current);

	if (state)
		wait_finish(state, ret, false);
}
