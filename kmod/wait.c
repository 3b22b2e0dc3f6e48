// SPDX-License-Identifier: GPL-2.0

/*
 * The hooked wait calls.
 *
 * A wait belongs to an event loop if its place does: the same system call at
 * the same distance below the loop's return address, which is read from the
 * user's stack each time.  Such a wait is a boundary: its entry ends a unit,
 * its return begins one.  All others (a lock, a read in mid-unit) only matter
 * while the loops are being found: then they are recorded.
 *
 * Coming and going.  A state is found under RCU-sched (preemption off), and
 * in the same section the thread marks itself inflight, because from then on
 * our return address is on its stack.  The drain takes the states out of the
 * hash, waits for a grace period, and then knows that inflight only falls.
 * It wakes the threads that sleep by a task work that signals (what livepatch
 * does); pguard_wait_leave() turns their EINTR into a restart, so that user
 * space sees nothing of it.
 */

#include "wait.h"

#include "clock.h"
#include "compat.h"
#include "image.h"
#include "process.h"
#include "record.h"
#include "stack.h"
#include "task.h"
#include "unit.h"

#include <linux/delay.h>
#include <linux/futex.h>
#include <linux/io_uring.h>
#include <linux/sched/signal.h>
#include <linux/sched/task_stack.h>
#include <linux/task_work.h>
#include <linux/uaccess.h>
#include <asm/unistd.h>

/* pguard_task.follow */
enum {
	FOLLOW_BOUNDARY = 1 << 0,	/* it begins a unit */
	FOLLOW_RECORD = 1 << 1,		/* discovery wants to know of the wait */
};

/* Task works of the drain that have not run. */
static atomic_t nr_kicks = ATOMIC_INIT(0);

static inline u32 wait_syscall(const struct pt_regs *regs)
{
	return regs->orig_ax;
}

/* futex and io_uring_enter are waits in some of their forms only. */
static __always_inline bool wait_waits(const struct pt_regs *regs)
{
	switch (wait_syscall(regs)) {
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

/* Is this the word at an address of current's user memory?  May fault. */
static __always_inline bool user_word_is(u64 address, u64 wanted)
{
	u64 word;

	return !get_user(word, (const u64 __user *)address) && word == wanted;
}

/* The same without faulting: -EFAULT if the page is not mapped just now. */
static int user_word_peek(u64 address, u64 wanted)
{
	u64 word;
	int ret;

	pagefault_disable();
	ret = get_user(word, (const u64 __user *)address);
	pagefault_enable();
	return ret ?: word == wanted;
}

enum {
	/* How far two paths of one library function lie apart. */
	PATHS_CODE = 512,
	PATHS_STACK = 256,
};

static bool is_near(u64 a, u64 b, u64 distance)
{
	return a - b + distance <= 2 * distance;
}

/*
 * Does the place belong to the context?  The call must be the same, and the
 * return address stand at the context's distance.  Or, if this is the library
 * function in which the thread's loop waited before, on another path: where
 * the return address stood then, for a loop frame does not move.  (A wait call
 * goes deeper once the process has a second thread.)
 */
static int context_fits(struct pguard_task *state, struct pguard_place *place,
			const struct pguard_context *context)
{
	int ret;

	if (context->syscall != place->syscall)
		return 0;
	place->slot = place->sp + context->distance;
	/* Within an RCU section it must not fault. */
	ret = user_word_peek(place->slot, context->return_address);
	if (ret)
		return ret;
	if (!is_near(place->ip, state->home_ip, PATHS_CODE) ||
	    !is_near(place->slot, state->home, PATHS_STACK))
		return 0;
	place->slot = state->home;
	return user_word_peek(place->slot, context->return_address);
}

/*
 * Look a place up in the image's contexts.  -EFAULT if the page at place->slot
 * is not mapped just now; then it is to be looked up again.
 */
static int place_look_up(struct pguard_task *state, struct pguard_place *place)
{
	struct pguard_contexts *contexts;
	int ret = 0;
	u32 i;

	/* Pairs with the store in pguard_image_set_contexts(). */
	place->generation = smp_load_acquire(&state->image->generation);
	place->loop = NULL;
	rcu_read_lock();
	contexts = rcu_dereference(state->image->contexts);
	for (i = 0; contexts && i < contexts->nr && !ret; i++) {
		const struct pguard_context *context = &contexts->context[i];

		ret = context_fits(state, place, context);
		if (ret <= 0)
			continue;
		place->loop = context->loop;
		place->return_address = context->return_address;
		state->home = place->slot;
		state->home_ip = place->ip;
	}
	rcu_read_unlock();
	return min(ret, 0);
}

/*
 * Settle what a place is.  Its stack may be swapped out, or unmapped for a
 * moment by NUMA balancing: that says nothing about the place.
 */
static noinline void place_classify(struct pguard_task *state, struct pguard_place *place,
				    bool may_sleep)
{
	enum { TRIES = 8 };
	u64 word;
	int tries;

	for (tries = 0; tries < TRIES && place_look_up(state, place); tries++) {
		if (!may_sleep) {
			place->generation--; /* ask again next time */
			return;
		}
		if (get_user(word, (const u64 __user *)place->slot))
			return; /* a context that points nowhere here */
	}
}

enum {
	/* Waits to record after a new place was seen. */
	MORE_RECORDS = 16,
};

/* A place not seen lately takes the slot that was used longest ago. */
static noinline struct pguard_place *place_new(struct pguard_task *state,
					       const struct pt_regs *regs, bool may_sleep)
{
	struct pguard_place *place;

	state->oldest = (state->oldest + 1) % PGUARD_NR_PLACES;
	place = &state->places[state->oldest];
	place->ip = regs->ip;
	place->sp = regs->sp;
	place->syscall = wait_syscall(regs);
	place->fresh = true;
	/* Some more records show how the place stands to the others. */
	state->records_left = max_t(u32, state->records_left, MORE_RECORDS);
	place_classify(state, place, may_sleep);
	return place;
}

/*
 * A restarted call (after a stop, or a drain) is the one before it under
 * another number.
 */
static __always_inline bool place_is(const struct pguard_place *place,
				     const struct pt_regs *regs)
{
	return place->ip == regs->ip && place->sp == regs->sp &&
	       (place->syscall == wait_syscall(regs) ||
		wait_syscall(regs) == __NR_restart_syscall);
}

static __always_inline struct pguard_place *place_get(struct pguard_task *state,
						      const struct pt_regs *regs,
						      bool may_sleep)
{
	struct pguard_place *place = state->place;
	u32 i;

	if (likely(place_is(place, regs)))
		goto found;
	for (i = 0; i < PGUARD_NR_PLACES; i++) {
		place = &state->places[i];
		if (place_is(place, regs))
			goto found;
	}
	place = place_new(state, regs, may_sleep);
found:
	state->place = place;
	if (unlikely(place->generation != READ_ONCE(state->image->generation)))
		place_classify(state, place, may_sleep);
	return place;
}

/* Is this wait a boundary?  The stack is asked each time. */
static __always_inline bool place_is_boundary(struct pguard_task *state,
					      struct pguard_place *place, bool may_sleep)
{
	int ret;

	if (!place->loop)
		return false;
	if (may_sleep)
		ret = user_word_is(place->slot, place->return_address);
	else
		ret = user_word_peek(place->slot, place->return_address);
	if (likely(ret > 0))
		return true;
	/* Another chain of calls led here this time. */
	if (!ret)
		place_classify(state, place, may_sleep);
	return !ret && place->loop;
}

static void loop_enter(struct pguard_task *state, struct pguard_loop *loop)
{
	if (state->loop)
		atomic_dec(&state->loop->nr_threads);
	atomic_inc(&loop->nr_threads);
	WRITE_ONCE(state->loop, loop);
}

/* Should this wait be recorded for those who look for the loops? */
static bool record_wanted(struct pguard_task *state, struct pguard_place *place)
{
	struct pguard_target *target = state->target;

	if (!(READ_ONCE(target->flags) & PERFGUARD_TARGET_FLAGS_DISCOVER)) {
		/* Do not ask again at each wait. */
		state->records_left = 0;
		place->fresh = false;
		return false;
	}
	return __ratelimit(&target->wait_limit);
}

/* The common part of both ways in.  True if the return is of interest. */
static __always_inline bool wait_begin(struct pguard_task *state,
				       const struct pt_regs *regs, bool may_sleep)
{
	struct pguard_place *place;
	u32 follow = 0;

	state->nr_waits++;
	place = place_get(state, regs, may_sleep);
	if (place_is_boundary(state, place, may_sleep)) {
		follow = FOLLOW_BOUNDARY;
		pguard_unit_end(state);
		if (unlikely(state->loop != place->loop))
			loop_enter(state, place->loop);
	}
	if (unlikely(state->records_left) && record_wanted(state, place)) {
		follow |= FOLLOW_RECORD;
		state->entered = pguard_clock();
		state->switches = current->nvcsw;
	}
	state->follow = follow;
	return follow;
}

/* Keep a wait for wait-get. */
static noinline void wait_record(struct pguard_task *state, bool may_sleep)
{
	struct pguard_place *place = state->place;
	struct pguard_record *record;

	state->records_left--;
	record = pguard_unit_record(state, state->unit >> PGUARD_PHASE_SHIFT,
				    PERFGUARD_RECORD_KIND_WAIT, 0,
				    may_sleep ? GFP_KERNEL : GFP_NOWAIT);
	if (!record)
		return;
	record->account.elapsed = pguard_clock_ns(pguard_clock() - state->entered);
	record->account.voluntary = current->nvcsw - state->switches;
	record->enter_ns = ktime_get_ns() - record->account.elapsed;
	record->syscall = place->syscall;
	record->wait_ip = place->ip;
	record->wait_sp = place->sp;
	if (place->fresh && may_sleep) {
		record->stack = pguard_stack_self(task_pt_regs(current));
		place->fresh = false;
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

/* The common part of both ways out. */
static __always_inline void wait_finish(struct pguard_task *state, long ret, bool may_sleep)
{
	u32 follow = state->follow;

	if (unlikely(follow & FOLLOW_RECORD))
		wait_record(state, may_sleep);
	if (follow & FOLLOW_BOUNDARY && wait_starts_unit(state->place->syscall, ret))
		pguard_unit_start(state, pguard_clock());
}

static __always_inline struct pguard_task *state_get(void)
{
	struct pguard_task *state;

	preempt_disable_notrace();
	state = pguard_task_find(current);
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

/*
 * The first hooked call of a thread: make its state.  Without sleeping, for
 * the thread is not inflight yet and nobody would wait for it; if there is no
 * memory now, the next call tries again.
 */
static noinline struct pguard_task *wait_first(void)
{
	struct pguard_image *image = pguard_process_image_get(current->tgid);

	if (!image)
		return NULL;
	return pguard_task_new(image);
}

/* pguard_wait_enter() for a known thread, whatever the case. */
static noinline struct pguard_task *enter_any(struct pguard_task *state,
					      const struct pt_regs *regs)
{
	if (wait_begin(state, regs, true))
		return state;
	state_release(state);
	return NULL;
}

static noinline struct pguard_task *enter_first(const struct pt_regs *regs)
{
	struct pguard_task *state;

	if (!wait_first())
		return NULL;
	/* Gone again if the target goes just now. */
	state = state_get();
	return state ? enter_any(state, regs) : NULL;
}

/* The loop waits where it waited last time, and nobody is curious. */
static __always_inline bool wait_is_usual(struct pguard_task *state, const struct pt_regs *regs)
{
	struct pguard_place *place = state->place;

	return pguard_clock_is_tsc() && place_is(place, regs) &&
	       place->generation == READ_ONCE(state->image->generation) &&
	       place->loop && place->loop == state->loop && !state->records_left &&
	       user_word_is(place->slot, place->return_address);
}

/**
 * pguard_wait_enter() - a thread of a watched process enters a hooked call
 * @regs: its user registers
 *
 * Context: current, may sleep; called by the stub.
 * Return: the thread's state if the return of the call is of interest, and
 * then the thread is inflight; NULL to let the call pass.
 */
__visible notrace struct pguard_task *pguard_wait_enter(const struct pt_regs *regs)
{
	struct pguard_task *state;

	if (!wait_waits(regs))
		return NULL;
	state = state_get();
	if (unlikely(!state))
		return enter_first(regs);
	if (unlikely(!wait_is_usual(state, regs)))
		return enter_any(state, regs);
	state->nr_waits++;
	state->follow = FOLLOW_BOUNDARY;
	return pguard_unit_end_tsc(state);
}

/*
 * Was it the drain that woke this thread, and nothing else?  Then it begins
 * the call again, which the way to user mode sees to if a flag sends it there:
 * the drain's own, or, where a wait ran its task work and took that flag off
 * (io_uring), the one that kick_run() put in its place.
 */
static bool woken_by_drain(void)
{
	if (test_thread_flag(TIF_NOTIFY_SIGNAL) && !task_sigpending(current))
		return true;
	spin_lock_irq(&current->sighand->siglock);
	recalc_sigpending();
	spin_unlock_irq(&current->sighand->siglock);
	if (task_sigpending(current))
		return false;
	set_thread_flag(TIF_SIGPENDING);
	return true;
}

static noinline long leave_any(struct pguard_task *state, long ret)
{
	if (READ_ONCE(state->dead)) {
		if (ret == -EINTR && woken_by_drain())
			ret = -ERESTARTNOHAND;
	} else {
		wait_finish(state, ret, true);
	}
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
__visible notrace long pguard_wait_leave(struct pguard_task *state, long ret)
{
	if (unlikely(!pguard_clock_is_tsc() || READ_ONCE(state->dead) ||
		     state->follow != FOLLOW_BOUNDARY || ret < 0))
		return leave_any(state, ret);
	pguard_unit_start(state, rdtsc());
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

	if (!wait_waits(regs))
		return false;
	state = pguard_task_find(current);
	if (unlikely(!state))
		state = wait_first();
	return state && wait_begin(state, regs, false);
}

/* Context: current, preemption off. */
void pguard_wait_leave_atomic(long ret)
{
	struct pguard_task *state = pguard_task_find(current);

	if (state)
		wait_finish(state, ret, false);
}

static void kick_run(struct callback_head *work)
{
	struct pguard_task *state = container_of(work, struct pguard_task, kick);

	/* Still in the call: its wait runs task work and sleeps again. */
	if (READ_ONCE(state->inflight))
		set_thread_flag(TIF_SIGPENDING);
	pguard_task_put(state);
	atomic_dec(&nr_kicks);
}

/* Wake a thread that sleeps in a hooked call, once. */
static void kick(struct pguard_task *state)
{
	if (state->kicked)
		return;
	state->kicked = true;
	refcount_inc(&state->refs);
	atomic_inc(&nr_kicks);
	init_task_work(&state->kick, kick_run);
	if (task_work_add(state->task, &state->kick, TWA_SIGNAL)) {
		atomic_dec(&nr_kicks);
		pguard_task_put(state);
	}
}

/* Take the states of a target out of the hash; they come in its list. */
static void drain_collect(struct pguard_target *target)
{
	struct pguard_task *state;
	struct hlist_node *next;
	u32 bucket;

	for (bucket = 0; bucket < ARRAY_SIZE(pguard_tasks); bucket++) {
		spin_lock(&pguard_tasks_lock);
		hlist_for_each_entry_safe(state, next, &pguard_tasks[bucket], node) {
			if (state->target != target)
				continue;
			pguard_task_unhash(state);
			hlist_add_head(&state->drained, &target->leaving);
		}
		spin_unlock(&pguard_tasks_lock);
		cond_resched();
	}
}

/**
 * pguard_wait_drain() - keep a target's threads from following hooked calls
 * @target: dying, and without processes, so that no new state is made
 *
 * Those in a call leave it with its end; pguard_wait_kick() makes them, and
 * pguard_wait_drained() tells when they have.
 *
 * Context: may sleep.
 */
void pguard_wait_drain(struct pguard_target *target)
{
	drain_collect(target);
	/* RCU covers sched sections: now nobody enters with these any more. */
	synchronize_rcu();
}

/**
 * pguard_wait_kick() - wake those of a drained target's threads that sleep
 *
 * Context: may sleep; nobody queues captures for them any more.
 */
void pguard_wait_kick(struct pguard_target *target)
{
	struct pguard_task *state;

	hlist_for_each_entry(state, &target->leaving, drained)
		if (READ_ONCE(state->inflight) || READ_ONCE(state->captured))
			kick(state);
}

/**
 * pguard_wait_drained() - have a target's threads left the hooked calls
 *
 * A thread in uninterruptible sleep stays until it wakes.
 *
 * Context: may sleep; one caller at a time.
 */
bool pguard_wait_drained(struct pguard_target *target)
{
	struct pguard_task *state;
	struct hlist_node *next;

	hlist_for_each_entry_safe(state, next, &target->leaving, drained) {
		/* Pairs with state_release(). */
		if (smp_load_acquire(&state->inflight))
			continue;
		hlist_del(&state->drained);
		pguard_task_put(state);
	}
	return hlist_empty(&target->leaving);
}

/* Hooks are off and targets gone: wait until no thread runs our text. */
void pguard_wait_deinit(void)
{
	while (atomic_read(&nr_kicks))
		usleep_range(1000, 2000);
	synchronize_rcu_tasks();
}
