/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The state of a watched thread.
 *
 * Found by the task's address in an RCU hash.  Made by the thread itself in
 * its first hooked call, or at the first site it hits, or by the watchdog when
 * it holds a lock that a late unit waits for; taken out by the thread's exit or
 * exec, or when its target goes.  References: the hash's, and one for each user
 * that holds on to it outside of an RCU section (watchdog, queued task work).
 */
#ifndef _KMOD_TARGET_THREAD_H
#define _KMOD_TARGET_THREAD_H

#include "lib/account.h"
#include "target/call-site.h"

#include <linux/hash.h>
#include <linux/rculist.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>

struct pguard_finding;
struct pguard_hit_ring;
struct pguard_image;
struct pguard_inference;
struct pguard_profile;
struct pguard_stack;
struct pguard_target;
struct pguard_verdict;
struct pguard_wait_sites;
struct file;
struct pguard_connection;
struct sock;

/*
 * A place where the thread waited.  Within one thread the loop's stack pointer
 * is the same each time round, so a place is known again
 * by that and by its call site's call.  @call_site is referenced, or pguard_nowhere.
 */
struct pguard_place {
	u64 sp;
	struct pguard_call_site *call_site;
};

enum { PGUARD_NR_PLACES = 4 };	/* bits of @fresh */

/*
 * pguard_thread.unit: the unit's number in the upper bits, its phase below.
 * The thread sets RUNNING when it begins a unit (release: start and mark are
 * in place) and takes what an end takes off with xchg, or with cmpxchg as long
 * as it is not LATE; the watchdog, or a guard in the thread itself, adds LATE with
 * cmpxchg; the thread adds STOPPED in the same way.  So each late unit gets exactly one end, and is
 * reported as new one once.  MARKED stays: between units it says that the next one gets a mark.
 */
enum pguard_phase {
	PGUARD_PHASE_RUNNING = 1 << 0,
	PGUARD_PHASE_LATE = 1 << 1,	/* reported late */
	PGUARD_PHASE_MARKED = 1 << 2,	/* the unit has a mark for its account */
	PGUARD_PHASE_GUARD = 1 << 3,	/* with LATE: a guard reported it first */
	PGUARD_PHASE_STOPPED = 1 << 4,	/* it was stopped, see pguard_stopped */
	PGUARD_PHASE_ENDS = PGUARD_PHASE_RUNNING | PGUARD_PHASE_LATE | PGUARD_PHASE_GUARD |
			    PGUARD_PHASE_STOPPED,
	PGUARD_PHASE_SHIFT = 5,
};

/**
 * struct pguard_stack_history - stacks of a late unit that wait for its next record
 * @first: the oldest, or NULL; pguard_thread.lock
 * @unit: number of that unit; the same lock
 * @doublings: how often every second one went; the same lock
 * @next: when the next one is to be taken, ns from the unit's start; the
 *	watchdog's own
 */
struct pguard_stack_history {
	struct pguard_stack *first;
	u64 unit;
	u32 doublings;
	u64 next;
};

/**
 * struct pguard_lateness - what is kept of a thread once a unit of it was late
 * @history: see above
 * @looked_at: number of the unit the watchdog found late last, and
 * @next_report: when that one is to be reported again, ns from its start; both
 *	the watchdog's own
 */
struct pguard_lateness {
	struct pguard_stack_history history;
	u64 looked_at;
	u64 next_report;
};

/**
 * struct pguard_stopped - how long the thread was stopped in mid-unit; see unit/stopped.c
 * @work: queued while a stop is under way; the thread runs it when it goes on
 * @thread: whose it is; referenced while @is_pending
 * @mark: taken in the stop that is under way
 * @unit: number of the unit that this is of
 * @ns: how long its stops were that are over
 * @queued: what of @ns the kernel counts as a wait for a CPU
 * @cause: enum perfguard_stop_cause, of the last one
 * @by: the signal that stopped it, or the process that traces it; 0 if not known
 * @is_pending: a stop is under way.  While it is not, the watchdog writes; else the thread
 *	alone, in @work
 * @is_confirmed: the thread was still stopped when @work was queued
 * @is_between: it is on its way out of the wait before the unit, which a signal cut short
 */
struct pguard_stopped {
	struct callback_head work;
	struct pguard_thread *thread;
	struct pguard_stop_mark mark;
	u64 unit;
	u64 ns;
	u64 queued;
	u32 cause;
	u32 by;
	bool is_pending;
	bool is_confirmed;
	bool is_between;
};

/**
 * struct pguard_given - a request that a thread was given by a futex
 * @key: of the futex, see request/handover.h; kept, as the thread may wait there again
 * @at: when it was handed over, pguard_clock()
 * @taken: when the thread took it, the same
 * @id: of the client's connection
 * @by: the thread that handed it over; 0 once it is known whether this one had it
 */
struct pguard_given {
	u64 key;
	u64 at;
	u64 taken;
	u32 id;
	u32 by;
};

/**
 * struct pguard_returned - the request that was handed back to a thread last, by an eventfd or a pipe
 * @client: the client's socket, which may be gone
 * @id: of its connection
 * @tid: who is held to have had it
 * @by: who had handed it over to that one; 0: there is none, or it is known whether that is so
 * @at: when, and
 * @taken: when it was handed back, pguard_clock()
 * @owed: the connection of one that seemed to be handed back, and was not
 */
struct pguard_returned {
	const struct sock *client;
	u32 id;
	u32 tid;
	u32 by;
	u64 at;
	u64 taken;
	u32 owed;
};

/**
 * struct pguard_serves - which client a unit works for, see request/connection.h
 * @client: its socket, which may be gone
 * @id: of its connection
 * @is_handed: it was handed over by another thread, and is served until that is done
 * @is_done: it was handed on, or back
 * @timed: the low bits of the number of the last unit that a timer of the program's began, or in
 *	which one was read; 0: there was none
 * @unit: number of the unit otherwise; 0 if none did yet
 * @last: when the thread had a message of a connection last, pguard_clock()
 * @run_delay: how long it had waited for a CPU by then, as its task counts that, ns
 * @idle_delay: the same at the last one before the unit at hand
 * @back: when it handed back last what it was given, the same
 * @given: what it was given last, by a futex
 * @returned: what was handed back to it last
 */
struct pguard_serves {
	const struct sock *client;
	u32 id;
	bool is_handed;
	bool is_done;
	u16 timed;
	u64 unit;
	u64 last;
	u64 run_delay;
	u64 idle_delay;
	u64 back;
	struct pguard_given given;
	struct pguard_returned returned;
};

/**
 * struct pguard_talk - a connection by which the thread had a message, see request/connection.c
 * @file: its file; to be compared with alone
 * @connection: as long as none was taken out of the table since
 * @removed: how many had been
 */
struct pguard_talk {
	const struct file *file;
	struct pguard_connection *connection;
	u64 removed;
};

/**
 * struct pguard_arrival - of what a read is about to take, see request/connection.c
 * @talk: of the connection; NULL if nothing is known
 * @packet_us: when its last packet came or went, by TCP's clock; 0: there was nothing to read
 * @run_delay: how long the thread had waited for a CPU by then, ns
 */
struct pguard_arrival {
	const struct pguard_talk *talk;
	u64 packet_us;
	u64 run_delay;
};

enum { PGUARD_NR_TALKS = 4 };	/* by the low bits of a descriptor */

/**
 * struct pguard_thread - a watched thread
 * @node: in the hash; pguard_threads_lock
 * @all: in pguard_all_threads, as long as it is in the hash; the same
 * @task: referenced; the key
 * @image: referenced
 * @unit: number and phase of the unit, see above
 * @start: pguard_clock() when it began
 * @mark: its counters then, if the target asked for them
 * @return_slot: where its loop's return address stands on its stack, and
 * @return_slot_ip: where the loop waited; both 0 if not known; the thread's own
 * @places: where it waited; at @place that of the last call that its loop, or the slow
 *	path, was concerned with; slots are given away in @lock; the thread's own
 * @fresh: a bit for each of them that was never recorded for discovery
 * @follow: what the return of the hooked call it is in is wanted for; the
 *	thread's own
 * @entered: clock when that call began, for discovery or as an event's begin
 * @switches: its voluntary switches then
 * @records_left: waits it may still record for discovery
 * @is_slow_only: its waits are recorded in the training stream, or the clock is not the
 *	TSC; set again in each call not on the fast path
 * @takes_noted: its landings note hits of guards of its @profile, which hooked calls take
 * @no_fast_path: any of these, so that no call takes the fast path at once
 * @profile: that @places speak of, or an audit; referenced; the thread's own
 * @sites: the wait sites of that, referenced, or NULL; the thread's own
 * @inference: in the loop of that profile, or an older one, whose units it does;
 *	NULL if there is none; the thread writes it, others read it by RCU
 * @counts: the profile whose guards count: that of @inference while it does a
 *	unit, else NULL; the thread's own
 * @inflight: hooked calls it is in (0 or 1), with our return address on its
 *	kernel stack; written by the thread, read by the drain
 * @dead: taken out of the hash; set before the grace period after which no
 *	new call finds the state
 * @returns: both in one look: @follow as long as the thread is not @dead
 * @gone: the thread's registers must not be read any more, its kernel stack
 *	may go; @lock
 * @lock: guards @gone while registers are read and the history, and orders
 *	the records about one unit; inside pguard_threads_lock
 * @lateness: made by the watchdog, or NULL; gone with the state
 * @stopped: the same
 * @captured: a request for its own stack is queued (capture.c)
 * @is_expected: it sleeps, or slept, in a call whose entry the hook did not see; set
 *	under pguard_control, taken off by the thread when it has left it (hook/arrival.c)
 * @is_asleep: with that: it is certainly in that call; @lock
 * @kick: task work of the drain; queued once, a grace period after @dead
 * @kicked: it was queued; the drain's own
 * @drained: in the drain's list, once out of the hash
 * @tid: what the stream knows it by, whatever an exec makes of its id
 * @opening: of the stream, in which its first event was recorded; the thread's own
 * @event_time: time of its last event; the thread's own
 * @serves: the client whose message it had last; the thread's own
 * @talks: the connections it had messages by last; the same
 * @arrival: of what the call that it is in reads; the same
 * @ring: what its landings have noted, or NULL; the thread or the removal of its target takes
 *	it away, others read it by RCU
 * @inlined: the last inlining that it has seen, see probe/inlining.c; the same
 * @inline_due: from when on it may look for more, jiffies; the same
 */
struct pguard_thread {
	struct hlist_node node;
	struct task_struct *task;
	struct pguard_image *image;
	u64 unit;
	u64 start;
	struct pguard_mark mark;
	u64 return_slot;
	u64 return_slot_ip;
	struct pguard_place *place;
	struct pguard_place places[PGUARD_NR_PLACES];
	u8 inflight;
	bool gone;
	union {
		struct {
			u8 follow;
			bool dead;
		};
		u16 returns;
	};
	bool captured;
	bool kicked;
	bool is_expected;
	bool is_asleep;
	u8 fresh;
	u8 next_place;
	union {
		struct {
			u16 records_left;
			bool is_slow_only;
			bool takes_noted;
		};
		u32 no_fast_path;
	};
	u32 switches;
	struct pguard_profile *profile;
	struct pguard_wait_sites *sites;
	struct pguard_inference __rcu *inference;
	const struct pguard_profile *counts;
	u64 entered;
	u64 nr_waits;
	spinlock_t lock;
	refcount_t refs;
	struct pguard_lateness *lateness;
	struct pguard_stopped *stopped;
	union {
		struct hlist_node drained;
		struct rcu_head rcu;
	};
	union {
		struct list_head all;
		struct callback_head kick;
	};
	u32 tid;
	u32 opening;
	u64 event_time;
	struct pguard_serves serves;
	struct pguard_talk talks[PGUARD_NR_TALKS];
	struct pguard_arrival arrival;
	struct pguard_hit_ring *ring;
	u32 inlined;
	u32 inline_due;
};

/* pguard_thread.returns is .follow while .dead is false. */
static_assert(offsetof(struct pguard_thread, follow) == offsetof(struct pguard_thread, returns) &&
	      offsetof(struct pguard_thread, dead) == offsetof(struct pguard_thread, returns) + 1);

enum {
	PGUARD_THREADS_BITS = 12,
	PGUARD_MAX_THREADS = 65536
};

/* Guards changes of the hash; readers use RCU-sched or RCU. */
extern spinlock_t pguard_threads_lock;
extern struct hlist_head pguard_threads[1 << PGUARD_THREADS_BITS];
extern struct list_head pguard_all_threads;
extern atomic_t pguard_nr_threads;

/* Caller holds RCU, in whatever flavour. */
static __always_inline struct pguard_thread *pguard_thread_find(const struct task_struct *task)
{
	struct hlist_head *head = &pguard_threads[hash_ptr(task, PGUARD_THREADS_BITS)];
	struct pguard_thread *thread;

	hlist_for_each_entry_rcu_notrace(thread, head, node)
		if (thread->task == task)
			return thread;
	return NULL;
}

/*
 * That of current, or NULL.  Only current itself takes it away, or the removal of its target, which
 * waits for handlers of probes and hooked calls first.
 */
static __always_inline struct pguard_thread *pguard_thread_of_current(void)
{
	struct pguard_thread *thread;

	preempt_disable_notrace();
	thread = pguard_thread_find(current);
	preempt_enable_notrace();
	return thread;
}

/* Of current. */
static __always_inline struct pguard_inference *
pguard_thread_inference(const struct pguard_thread *thread)
{
	return rcu_dereference_protected(thread->inference, thread->task == current);
}

static inline bool pguard_thread_get(struct pguard_thread *thread)
{
	return refcount_inc_not_zero(&thread->refs);
}

/*
 * Add its units and hooked calls to those of the threads that were, which its
 * target has, see pguard_thread_unhash().  Caller holds RCU.
 */
static inline void pguard_thread_count(const struct pguard_thread *thread, u64 *units, u64 *calls)
{
	*units += READ_ONCE(thread->unit) >> PGUARD_PHASE_SHIFT;
	*calls += READ_ONCE(thread->nr_waits);
}

static inline u64 pguard_unit_number(u64 word)
{
	return word >> PGUARD_PHASE_SHIFT;
}

/* Current's unit does what a timer of the program's has called for. */
static inline void pguard_serves_timer(struct pguard_thread *thread)
{
	thread->serves.timed = pguard_unit_number(READ_ONCE(thread->unit));
}

/* Return: true if the one before current's unit did. */
static inline bool pguard_serves_timer_before(const struct pguard_thread *thread)
{
	return thread->serves.timed == (u16)(pguard_unit_number(READ_ONCE(thread->unit)) - 1);
}

/* Return: true if the unit still runs that was seen as pguard_thread.unit.  Context: any. */
static inline bool pguard_unit_runs(const struct pguard_thread *thread, u64 word)
{
	u64 now = READ_ONCE(thread->unit);

	return now & PGUARD_PHASE_RUNNING && pguard_unit_number(now) == pguard_unit_number(word);
}

u64 pguard_unit_elapsed(const struct pguard_thread *thread);
const struct pguard_verdict *pguard_unit_verdict(const struct pguard_thread *thread,
						 const struct pguard_inference *inference);
u64 pguard_unit_soon(const struct pguard_thread *thread);
void pguard_unit_judge(const struct pguard_thread *thread, const struct pguard_account *account,
		       struct pguard_finding *ret);
void pguard_unit_take_stopped(const struct pguard_thread *thread, u64 word,
			      struct pguard_account *account);

void pguard_thread_put(struct pguard_thread *thread);
struct pguard_thread *pguard_thread_first(const struct pguard_target *target);
struct pguard_thread *pguard_thread_sibling(const struct pguard_thread *thread,
					    struct task_struct *task);
struct pguard_thread *pguard_thread_other(struct pguard_image *image, struct task_struct *task);
void pguard_thread_unhash(struct pguard_thread *thread);
struct pguard_thread *pguard_thread_remove(struct task_struct *task);

int pguard_thread_init(void);
void pguard_thread_deinit(void);

#endif /* _KMOD_TARGET_THREAD_H */
