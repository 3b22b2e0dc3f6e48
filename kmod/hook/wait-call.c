// SPDX-License-Identifier: GPL-2.0

/*
 * The hooked wait calls.  There are three ways in: fast, where a place is settled and
 * nothing special is wanted of the thread; slow, which does for any; and none, where
 * the call does not matter.
 *
 * A wait belongs to an event loop if its place does: the same system call at
 * the same distance below the loop's return address, which is read from the
 * user's stack each time.  Such a wait is a boundary: its entry ends a unit,
 * its return begins one.  All others (a lock, a read in mid-unit) only matter
 * while the loops are being found: then they are recorded.
 */

#include "hook/hook.h"

#include "lib/clock.h"
#include "probe/noted-hits.h"
#include "report/alert-record.h"
#include "report/late-unit.h"
#include "report/stack.h"
#include "request/connection.h"
#include "target/image.h"
#include "target/thread.h"
#include "trainstream/stream.h"
#include "unit/unit.h"
#include "unit/wait-site.h"

#include <linux/io_uring.h>
#include <linux/sched/task_stack.h>
#include <linux/socket.h>
#include <asm/unistd.h>

/* futex and io_uring_enter are waits in some of their forms only. */
static __always_inline bool wait_waits(const struct pt_regs *regs, u32 syscall)
{
	switch (syscall) {
	case __NR_futex:
		return pguard_futex_waits(regs);
	case __NR_io_uring_enter:
		return regs->r10 & IORING_ENTER_GETEVENTS;
	}
	return true;
}

/* Returns true if this wait is to be recorded for those who look for the loops. */
static bool record_wanted(struct pguard_thread *thread, struct pguard_place *place)
{
	struct pguard_target *target = thread->image->target;

	if (!(READ_ONCE(target->flags) & PERFGUARD_TARGET_FLAGS_DISCOVER)) {
		/* Do not ask again at each wait. */
		thread->records_left = 0;
		thread->fresh &= ~pguard_place_bit(thread, place);
		return false;
	}
	return pguard_rate_limit_take(&target->wait_limit);
}

/* Number of an event of the stream: the call, and the loop whose wait it is. */
static u32 event_number(const struct pguard_place *place, u32 follow)
{
	u32 loop = follow & PGUARD_FOLLOW_BOUNDARY ? place->call_site->is.loop->id : 0;

	return (place->call_site->is.syscall & (BIT(PGUARD_SYSCALL_BITS) - 1)) |
	       (loop & (BIT(PGUARD_LOOP_BITS) - 1)) << PGUARD_SYSCALL_BITS;
}

static void stream_enter(struct pguard_thread *thread, const struct pt_regs *regs, u32 follow)
{
	pguard_stream_put(thread, PERFGUARD_EVENT_KIND_ENTER, event_number(thread->place, follow),
			  regs->sp, regs->ip);
}

static void stream_leave(struct pguard_thread *thread, long ret)
{
	/* Its begin was recorded for somebody else, or found no room. */
	if (!pguard_stream_knows(thread))
		return;
	pguard_stream_put(thread, PERFGUARD_EVENT_KIND_LEAVE,
			  event_number(thread->place, thread->follow), task_pt_regs(current)->di,
			  ret);
}

/* A call in a wait site. */
static u32 site_begin(struct pguard_thread *thread, bool may_sleep)
{
	switch (pguard_unit_enter(thread, may_sleep)) {
	case PGUARD_CALL_WAIT:
		return PGUARD_FOLLOW_BOUNDARY;
	case PGUARD_CALL_EVENT:
		return PGUARD_FOLLOW_EVENT;
	default:
		return 0;
	}
}

/* To be held up in a read for all it asks for, and woken by the drain, would cut it short. */
static bool reads_all(const struct pt_regs *regs)
{
	switch (pguard_place_syscall(regs)) {
	case __NR_recvfrom:
		return regs->r10 & MSG_WAITALL;
	case __NR_recvmsg:
		return regs->dx & MSG_WAITALL;
	}
	return false;
}

/* A counter that is waited for, as GLib's condition variables have one, may look like a lock once. */
static noinline bool waits_for_lock(struct pguard_thread *thread, const struct pt_regs *regs)
{
	return pguard_futex_locks(regs) && !pguard_connection_awaits(thread, regs->di);
}

/*
 * A call begins of which the target wants to know what it reads, or who wakes it.  Returns false if
 * its return is not to be followed for that alone: who waits for a lock waits for no work.
 */
static __always_inline bool message_expect(struct pguard_thread *thread, const struct pt_regs *regs,
					   bool is_followed)
{
	switch (pguard_place_syscall(regs)) {
	case __NR_accept:
	case __NR_accept4:
	case __NR_restart_syscall:
		return true;
	case __NR_futex:
		if (!is_followed && waits_for_lock(thread, regs))
			return false;
		if (thread->serves.is_handed && !thread->serves.is_done)
			pguard_connection_waits(thread, regs->di);
		return true;
	case __NR_recvfrom:
	case __NR_recvmsg:
		if (!is_followed && reads_all(regs))
			return false;
	}
	pguard_connection_expect(thread, regs->di);
	return true;
}

/*
 * Look a call up, and do what its begin means; returns what its return is wanted for.  It is
 * thread->place afterwards.
 */
static __always_inline u32 place_begin(struct pguard_thread *thread, const struct pt_regs *regs,
				       bool may_sleep)
{
	u64 begun = pguard_clock();
	const struct pguard_loop *was;
	struct pguard_place *place;
	bool is_boundary;
	u32 follow = 0;

	thread->nr_waits++;
	place = pguard_place_get(thread, regs, may_sleep, &was);
	pguard_unit_forget(thread);
	is_boundary = pguard_place_is_boundary(thread, place, may_sleep);
	/* From a kretprobe it is the fast path, and in the price. */
	if (may_sleep)
		pguard_unit_count_longer(thread->profile, pguard_clock() - begun);
	if (is_boundary)
		follow = site_begin(thread, may_sleep);
	else if (unlikely(was))
		pguard_unit_leave(thread, was);
	return follow;
}

/*
 * What the unit at hand met ends with this call.  If others of the process had its guards jump while
 * the thread had no ring, it may have met anything, and does not count.
 */
static void noted_take(struct pguard_thread *thread)
{
	if (thread->ring)
		pguard_noted_hits_take(thread);
	else if (unlikely(thread->image->areas && thread->counts && thread->counts->noted))
		pguard_unit_drop(thread);
}

/* The common part of both ways in, the long one.  True if the return is of interest. */
static noinline bool wait_begin(struct pguard_thread *thread, const struct pt_regs *regs,
				bool may_sleep)
{
	struct pguard_place *place;
	u32 follow;

	noted_take(thread);
	follow = place_begin(thread, regs, may_sleep);
	place = thread->place;
	/* For lack of memory nothing is known of it. */
	if (unlikely(place->call_site == &pguard_nowhere)) {
		thread->follow = 0;
		return 0;
	}
	pguard_noted_hits_look(thread, may_sleep);
	if (unlikely(thread->records_left) && record_wanted(thread, place)) {
		follow |= PGUARD_FOLLOW_RECORD;
		thread->entered = pguard_clock();
		thread->switches = current->nvcsw;
	}
	if (follow & PGUARD_FOLLOW_BOUNDARY)
		pguard_unit_plan(thread);
	if (place->call_site->is.follow & PGUARD_FOLLOW_MESSAGE &&
	    message_expect(thread, regs, false))
		follow |= PGUARD_FOLLOW_MESSAGE;
	thread->is_slow_only = !pguard_clock_is_tsc();
	if (unlikely(thread->is_slow_only && follow))
		follow |= PGUARD_FOLLOW_LONG;
	if (unlikely(pguard_stream_wants_waits(thread->image->target))) {
		thread->is_slow_only = true;
		follow |= PGUARD_FOLLOW_STREAM;
		stream_enter(thread, regs, follow);
	}
	thread->follow = follow;
	return follow;
}

/* Keep a wait for wait-get. */
static noinline void wait_record(struct pguard_thread *thread, long ret, bool may_sleep)
{
	struct pguard_place *place = thread->place;
	struct pguard_alert_record *record;

	thread->records_left--;
	record = pguard_late_unit_record(thread, NULL, thread->unit, PERFGUARD_RECORD_KIND_WAIT, 0,
					 may_sleep ? GFP_KERNEL : GFP_NOWAIT);
	if (!record)
		return;
	record->account.elapsed = pguard_clock_ns(pguard_clock() - thread->entered);
	record->account.voluntary = (u32)current->nvcsw - thread->switches;
	record->enter_ns = ktime_get_ns() - record->account.elapsed;
	record->syscall = place->call_site->is.syscall;
	record->wait_ip = place->call_site->is.ip;
	record->wait_sp = place->sp;
	record->result = ret;
	if (thread->fresh & pguard_place_bit(thread, place) && may_sleep) {
		record->stack = pguard_stack_self(thread, task_pt_regs(current));
		thread->fresh &= ~pguard_place_bit(thread, place);
	}
	pguard_ring_add(&pguard_waits, record);
}

/*
 * Returns true if the return begins a unit.  Not if the kernel is about to restart the
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
		return !pguard_place_reads(syscall);
	}
	return true;
}

/* The call has returned of which the target wants to know what it read. */
static __always_inline void message_read(struct pguard_thread *thread, long ret)
{
	const struct pt_regs *regs = task_pt_regs(current);
	u32 syscall = pguard_place_syscall(regs);

	switch (syscall) {
	case __NR_accept:
	case __NR_accept4:
		if (ret >= 0)
			pguard_connection_accept(thread, ret);
		break;
	case __NR_futex:
		if (!ret && !waits_for_lock(thread, regs))
			pguard_connection_woken(thread, regs->di);
		break;
	case __NR_recvmmsg:
		if (ret > 0)
			pguard_connection_read_all(thread, regs->di, ret);
		break;
	default:
		if (ret > 0)
			pguard_connection_read(thread, regs->di);
	}
}

/* How a wait of a loop ended that brought nothing. */
enum wait_end {
	WAIT_END_OTHER,
	WAIT_END_LOOK,	/* it was not to wait */
	WAIT_END_TIME,	/* the time that the program had given it is over */
};

/* Of the timeout of a call that has returned nothing: a number, or where the time stands. */
static __always_inline enum wait_end wait_timeout(u64 timeout, long ret)
{
	if (ret)
		return WAIT_END_OTHER;
	return timeout ? WAIT_END_TIME : WAIT_END_LOOK;
}

/* Most kernels overwrite the time of select and ppoll: a look by these is taken for a wait. */
static enum wait_end wait_end_of(const struct pt_regs *regs, long ret)
{
	switch (pguard_place_syscall(regs)) {
	case __NR_epoll_wait:
	case __NR_epoll_pwait:
		return wait_timeout((u32)regs->r10, ret);
	case __NR_epoll_pwait2:
		return wait_timeout(regs->r10, ret);
	case __NR_poll:
	case __NR_ppoll:
		return wait_timeout((u32)regs->dx, ret);
	case __NR_select:
	case __NR_pselect6:
		return wait_timeout(regs->r8, ret);
	case __NR_nanosleep:
	case __NR_clock_nanosleep:
		return ret ? WAIT_END_OTHER : WAIT_END_TIME;
	case __NR_futex:
		return ret == -ETIMEDOUT ? WAIT_END_TIME : WAIT_END_OTHER;
	case __NR_rt_sigtimedwait:
		return ret == -EAGAIN ? WAIT_END_TIME : WAIT_END_OTHER;
	case __NR_io_uring_enter:
		return ret == -ETIME ? WAIT_END_TIME : WAIT_END_OTHER;
	}
	return WAIT_END_OTHER;
}

/*
 * A unit has begun, with what the wait returned: note if it is a timer's.  So is one after it if the
 * loop has only looked for more in between, as those do that queue what a timer calls.
 */
static noinline notrace void note_timer(struct pguard_thread *thread, long ret)
{
	enum wait_end end = wait_end_of(task_pt_regs(current), ret);

	if (end == WAIT_END_TIME || (end == WAIT_END_LOOK && pguard_serves_timer_before(thread)))
		pguard_serves_timer(thread);
}

/* The common part of both ways out, the long one. */
static noinline void wait_finish(struct pguard_thread *thread, long ret, bool may_sleep)
{
	u32 follow = thread->follow;

	if (unlikely(follow & PGUARD_FOLLOW_STREAM))
		stream_leave(thread, ret);
	if (unlikely(follow & PGUARD_FOLLOW_RECORD))
		wait_record(thread, ret, may_sleep);
	if (unlikely(follow & PGUARD_FOLLOW_EVENT && ret >= 0))
		pguard_unit_event_call(thread);
	if (follow & PGUARD_FOLLOW_BOUNDARY &&
	    wait_starts_unit(thread->place->call_site->is.syscall, ret)) {
		pguard_unit_begin(thread, pguard_clock());
		if (static_branch_unlikely(&pguard_requests_followed) && ret <= 0)
			note_timer(thread, ret);
	}
	/* The unit that it begins is the one that has the message. */
	if (follow & PGUARD_FOLLOW_MESSAGE)
		message_read(thread, ret);
	if (follow & PGUARD_FOLLOW_WAKE && ret <= 0)
		pguard_connection_woke_none(thread, task_pt_regs(current)->di);
}

/* Of current. */
static __always_inline struct pguard_thread *state_get(const struct task_struct *task)
{
	struct pguard_thread *thread;

	preempt_disable_notrace();
	thread = pguard_thread_find(task);
	if (likely(thread))
		WRITE_ONCE(thread->inflight, 1);
	preempt_enable_notrace();
	return thread;
}

static __always_inline void state_release(struct pguard_thread *thread)
{
	/* All we did to the state comes before the drain sees us gone. */
	smp_store_release(&thread->inflight, 0);
}

/* pguard_wait_enter() on the slow path; @thread is NULL for a thread that is new. */
static noinline struct pguard_thread *enter_slow(struct pguard_thread *thread,
						 const struct pt_regs *regs)
{
	/* One that is made is gone again if the target goes just now. */
	if (!thread && pguard_thread_first(NULL))
		thread = state_get(current);
	if (!thread || wait_begin(thread, regs, true))
		return thread;
	state_release(thread);
	return NULL;
}

/* A call that is no boundary. */
static __always_inline struct pguard_thread *enter_none(struct pguard_thread *thread)
{
	thread->nr_waits++;
	state_release(thread);
	return NULL;
}

/* The thread has entered its loop's wait, and what ran has ended. */
static __always_inline struct pguard_thread *enter_ended(struct pguard_thread *thread,
							 const struct pguard_place *place)
{
	pguard_unit_frame(pguard_thread_inference(thread), place);
	thread->nr_waits++;
	thread->follow = place->call_site->is.follow;
	return thread;
}

/* The wait of the loop that the thread is in, where no unit ended on the fast path. */
static noinline notrace struct pguard_thread *enter_rare(struct pguard_thread *thread,
							 const struct pguard_place *place,
							 const struct pt_regs *regs)
{
	const struct pguard_inference *inference = pguard_thread_inference(thread);

	pguard_unit_count_extra(inference->profile);
	if (pguard_unit_end_empty(thread, inference) || pguard_unit_end_excused(thread))
		return enter_ended(thread, place);
	return enter_slow(thread, regs);
}

/* The wait of the loop that the thread is in: a unit ends there. */
static noinline notrace struct pguard_thread *enter_fast(struct pguard_thread *thread,
							 const struct pguard_place *place,
							 const struct pt_regs *regs)
{
	const struct pguard_inference *inference = pguard_thread_inference(thread);
	enum pguard_unit_end end;
	u64 elapsed;

	end = pguard_unit_end(thread, inference, READ_ONCE(inference->verdict->within), rdtsc(),
			      NULL, &elapsed);
	if (unlikely(end == PGUARD_UNIT_END_SLOW))
		return enter_rare(thread, place, regs);
	enter_ended(thread, place);
	if (unlikely(end == PGUARD_UNIT_END_EVENTFUL))
		return pguard_unit_close(thread, elapsed);
	return thread;
}

/* No boundary, but what it reads is of interest. */
static noinline notrace struct pguard_thread *enter_reads(struct pguard_thread *thread,
							  const struct pt_regs *regs)
{
	if (pguard_stream_is_open())
		return enter_slow(thread, regs);
	if (!message_expect(thread, regs, false))
		return enter_none(thread);
	thread->nr_waits++;
	thread->follow = PGUARD_FOLLOW_MESSAGE;
	return thread;
}

/* An event begins, if the call does not fail. */
static __always_inline struct pguard_thread *enter_event(struct pguard_thread *thread,
							 const struct pguard_inference *inference,
							 u8 follow)
{
	thread->nr_waits++;
	thread->follow = follow;
	pguard_unit_count_extra(inference->profile);
	if (pguard_unit_is_first(thread, inference))
		return thread;
	return pguard_unit_enter_event(thread);
}

/* An event begins there, or the loop waits, and what the call reads is of interest. */
static noinline notrace struct pguard_thread *
enter_loop_reads(struct pguard_thread *thread, const struct pguard_inference *inference,
		 const struct pguard_call_site_info *is, const struct pt_regs *regs)
{
	if (!inference || inference->loop != is->loop || !(is->follow & PGUARD_FOLLOW_MESSAGE))
		return enter_slow(thread, regs);
	message_expect(thread, regs, true);
	return is->follow & PGUARD_FOLLOW_EVENT ? enter_event(thread, inference, is->follow)
						: enter_fast(thread, thread->place, regs);
}

/*
 * A settled place that is not the wait of the thread's loop: an event begins there, or
 * another chain of calls led there.
 */
static noinline notrace struct pguard_thread *enter_elsewhere(struct pguard_thread *thread,
							      const struct pguard_place *place,
							      const struct pt_regs *regs)
{
	const struct pguard_inference *inference = pguard_thread_inference(thread);
	const struct pguard_call_site_info *is = &place->call_site->is;

	if (pguard_stream_is_open() || (!is->loop && is->fit != PGUARD_CALL_SITE_SEVERAL))
		return enter_slow(thread, regs);
	if (!is->loop || !pguard_place_returns(place)) {
		if (!pguard_place_is_refused(thread, place))
			return enter_slow(thread, regs);
		pguard_unit_count_extra(thread->profile);
		return is->follow & PGUARD_FOLLOW_MESSAGE ? enter_reads(thread, regs)
							  : enter_none(thread);
	}
	if (!inference || inference->loop != is->loop || is->follow != PGUARD_FOLLOW_EVENT)
		return enter_loop_reads(thread, inference, is, regs);
	return enter_event(thread, inference, PGUARD_FOLLOW_EVENT);
}

/* A call that waits for nothing: it may wake another thread, and hand work over to it. */
static noinline notrace struct pguard_thread *enter_wake(const struct pt_regs *regs,
							 const struct task_struct *task)
{
	struct pguard_thread *thread;

	if (pguard_place_syscall(regs) != __NR_futex || !pguard_futex_wakes(regs))
		return NULL;
	thread = state_get(task);
	if (!thread)
		return NULL;
	if (!pguard_connection_wake(thread, regs->di)) {
		state_release(thread);
		return NULL;
	}
	thread->follow = PGUARD_FOLLOW_WAKE;
	return thread;
}

/* A settled place, and nothing special is wanted. */
static __always_inline struct pguard_thread *enter_settled(struct pguard_thread *thread,
							   const struct pguard_place *place,
							   const struct pt_regs *regs)
{
	const struct pguard_call_site_info *is = &place->call_site->is;
	const struct pguard_inference *inference;

	if (!is->loop) {
		if (likely(pguard_place_is_none(place)))
			return enter_none(thread);
		if (is->fit == PGUARD_CALL_SITE_READS)
			return enter_reads(thread, regs);
		return enter_elsewhere(thread, place, regs);
	}
	inference = pguard_thread_inference(thread);
	if (unlikely(!inference || inference->loop != is->loop ||
		     is->follow != PGUARD_FOLLOW_BOUNDARY || !pguard_place_returns(place)))
		return enter_elsewhere(thread, place, regs);
	return enter_fast(thread, place, regs);
}

/* Something special is wanted: all is done, or just what landings have noted is taken before. */
static noinline notrace struct pguard_thread *enter_special(struct pguard_thread *thread,
							    const struct pguard_place *place,
							    const struct pt_regs *regs)
{
	if (!pguard_place_is_settled(thread, place) || thread->records_left ||
	    thread->is_slow_only)
		return enter_slow(thread, regs);
	pguard_noted_hits_take(thread);
	return enter_settled(thread, place, regs);
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
__visible notrace struct pguard_thread *__noendbr
pguard_wait_enter(const struct pt_regs *regs, const struct task_struct *task)
{
	struct pguard_thread *thread;
	struct pguard_place *place;
	/* Read but once, whatever is written in between. */
	u32 syscall = pguard_place_syscall(regs);

	if (!wait_waits(regs, syscall))
		return static_branch_unlikely(&pguard_requests_followed) ? enter_wake(regs, task)
									 : NULL;
	thread = state_get(task);
	if (unlikely(!thread))
		return enter_slow(NULL, regs);
	place = thread->place;
	if (unlikely(!pguard_place_is(place, regs, syscall))) {
		place = pguard_place_find(thread, regs);
		if (!place)
			return enter_slow(thread, regs);
		/* Where a loop waits it waits most often; others would push it out. */
		if (place->call_site->is.loop)
			thread->place = place;
	}
	if (unlikely(!pguard_place_is_settled(thread, place) || thread->no_fast_path))
		return enter_special(thread, place, regs);
	return enter_settled(thread, place, regs);
}

/**
 * pguard_write_enter() - a thread of a watched process enters a hooked call that writes
 * @regs: its user registers
 * @task: current
 *
 * Context: current, preemptible or not; called by the stub, or from a kretprobe.
 */
__visible notrace void __noendbr pguard_write_enter(const struct pt_regs *regs,
						    const struct task_struct *task)
{
	struct pguard_thread *thread;

	preempt_disable_notrace();
	thread = pguard_thread_find(task);
	/* A child may answer by its first call. */
	if (unlikely(!thread) && static_branch_unlikely(&pguard_requests_followed))
		thread = pguard_thread_first(NULL);
	if (thread)
		pguard_connection_write(thread, pguard_place_syscall(regs) == __NR_splice ?
						regs->dx : regs->di);
	preempt_enable_notrace();
}

static noinline long leave_slow(struct pguard_thread *thread, long ret)
{
	if (READ_ONCE(thread->dead)) {
		if (ret == -EINTR && pguard_drain_woke())
			ret = -ERESTARTNOHAND;
		pguard_drain_leave(thread);
		return ret;
	}
	/* Of most calls that return here that is all that is of interest. */
	if (thread->follow == PGUARD_FOLLOW_MESSAGE)
		message_read(thread, ret);
	else
		wait_finish(thread, ret, true);
	state_release(thread);
	return ret;
}

/* Returns true if this is all that the call's return is wanted for, in a thread that goes on. */
static __always_inline bool leave_is(const struct pguard_thread *thread, u16 follow)
{
	/* The compare is the load. */
	return data_race(thread->returns) == follow;
}

/* pguard_wait_leave() of a call other than the loop's wait. */
static noinline notrace long leave_elsewhere(struct pguard_thread *thread, long ret)
{
	if (unlikely(!leave_is(thread, PGUARD_FOLLOW_EVENT) || ret < 0))
		return leave_slow(thread, ret);
	if (!pguard_unit_take_first(thread, pguard_thread_inference(thread)))
		pguard_unit_event_call(thread);
	state_release(thread);
	return ret;
}

/* The same of the loop's wait that brought nothing. */
static noinline notrace long leave_empty(struct pguard_thread *thread, long ret)
{
	if (ret < 0)
		return leave_slow(thread, ret);
	pguard_unit_begin(thread, rdtsc());
	if (static_branch_unlikely(&pguard_requests_followed))
		note_timer(thread, ret);
	state_release(thread);
	return ret;
}

/**
 * pguard_wait_leave() - the hooked call has returned
 * @thread: from pguard_wait_enter()
 * @ret: what the call returned
 *
 * Context: current, may sleep; called by the stub.
 * Return: what the system call returns.
 */
__visible notrace long __noendbr pguard_wait_leave(struct pguard_thread *thread, long ret)
{
	if (!leave_is(thread, PGUARD_FOLLOW_BOUNDARY))
		return leave_elsewhere(thread, ret);
	if (unlikely(ret <= 0))
		return leave_empty(thread, ret);
	pguard_unit_begin(thread, rdtsc());
	state_release(thread);
	return ret;
}

/*
 * Returns true if somebody else may have a thread leave the call that it waits in, and begin
 * it again.
 */
bool pguard_wait_may_end(const struct pt_regs *regs)
{
	u32 syscall = pguard_place_syscall(regs);

	/* io_uring runs works of its threads while they wait. */
	return syscall != __NR_io_uring_enter && wait_waits(regs, syscall) && !reads_all(regs);
}

/**
 * pguard_wait_return() - a call returns of which the hook did not see the entry
 * @thread: of current
 * @regs: its user registers, with what the call returned
 *
 * It may begin a unit, which ran into nothing before, and bring a message.  What is recorded of
 * waits has their begin, so it is not recorded.
 *
 * Context: current, on its way to user mode; may sleep.
 */
void pguard_wait_return(struct pguard_thread *thread, const struct pt_regs *regs)
{
	u32 follow;

	if (pguard_stream_wants_waits(thread->image->target))
		return;
	follow = place_begin(thread, regs, true) & PGUARD_FOLLOW_BOUNDARY;
	if (thread->place->call_site == &pguard_nowhere)
		return;
	if (follow)
		pguard_unit_plan(thread);
	follow |= thread->place->call_site->is.follow & PGUARD_FOLLOW_MESSAGE;
	thread->follow = follow;
	thread->arrival.talk = NULL;
	wait_finish(thread, regs->ax, true);
}

/**
 * pguard_wait_enter_atomic() - the same from a kretprobe
 * @regs: the user registers
 *
 * No stack is taken here.  The thread is not inflight: a kretprobe can be
 * taken off while it sleeps.
 *
 * Context: current, preemption off.
 * Return: true if the return of the call is of interest.
 */
bool pguard_wait_enter_atomic(const struct pt_regs *regs)
{
	struct pguard_thread *thread;

	if (!wait_waits(regs, pguard_place_syscall(regs)))
		return false;
	thread = pguard_thread_find(current);
	if (unlikely(!thread))
		thread = pguard_thread_first(NULL);
	return thread && wait_begin(thread, regs, false);
}

/* Context: current, preemption off. */
void pguard_wait_leave_atomic(long ret)
{
	struct pguard_thread *thread = pguard_thread_find(current);

	if (thread)
		wait_finish(thread, ret, false);
}
