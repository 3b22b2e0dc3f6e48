/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The state of a watched thread.
 *
 * Found by the task's address in an RCU hash.  Made by the thread itself in
 * its first hooked call, or at the first site it hits; taken out by the
 * thread's exit or exec, or when its target goes.  References: the hash's, and one for each user that holds on
 * to it outside of an RCU section (watch, queued task work).
 */
#ifndef _PGUARD_TASK_H
#define _PGUARD_TASK_H

#include "account.h"

#include <linux/hash.h>
#include <linux/rculist.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>

struct pguard_image;
struct pguard_loop;
struct pguard_target;

/*
 * A place where the thread waited.  Within one thread the loop's stack
 * pointer is the same each time round (FACTS: 0 deviations), so a place is
 * known again by three words; @loop is what the image's contexts say of it.
 */
struct pguard_place {
	u64 ip;
	u64 sp;
	u32 syscall;
	u32 generation;		/* of the contexts @loop was looked up in */
	struct pguard_loop *loop;
	u64 slot;		/* where the return address stands, and */
	u64 return_address;	/* which it must be */
	bool fresh;		/* never recorded for discovery */
};

enum { PGUARD_NR_PLACES = 4 };

/*
 * pguard_task.unit: the unit's number in the upper bits, its phase below.
 * The thread sets RUNNING when it begins a unit (release: start and mark are
 * in place) and takes all off with xchg at its end; the watch adds LATE with
 * cmpxchg.  So each late unit gets exactly one end.
 */
enum pguard_phase {
	PGUARD_PHASE_RUNNING = 1 << 0,
	PGUARD_PHASE_LATE = 1 << 1,	/* told to be late */
	PGUARD_PHASE_MARKED = 1 << 2,	/* the unit has a mark for its account */
	PGUARD_PHASE_MASK = 7,
	PGUARD_PHASE_SHIFT = 3,
};

/**
 * struct pguard_task - a watched thread
 * @node: in the hash; pguard_tasks_lock
 * @task: referenced; the key
 * @image: referenced
 * @target: the image's
 * @unit: number and phase of the unit, see above
 * @start: pguard_clock() when it began
 * @mark: its counters then, if the target asked for them
 * @loop: the event loop whose unit it is; the thread's own
 * @home: where its loop's return address stands on its stack, and
 * @home_ip: where the loop waited; both 0 if not known; the thread's own
 * @places: where it waited, the last one at @place, the next to
 *	go at @oldest; the thread's own
 * @follow: what the return of the hooked call it is in is wanted for; the
 *	thread's own
 * @entered: clock when that call began, for discovery
 * @switches: its voluntary switches then
 * @records_left: waits it may still record for discovery
 * @streams: its waits are told in the training stream; looked at anew in each
 *	call that is not the usual one
 * @curious: either of both, so that no call is the usual one
 * @inflight: hooked calls it is in (0 or 1), with our return address on its
 *	kernel stack; written by the thread, read by the drain
 * @dead: taken out of the hash; set before the grace period after which no
 *	new call finds the state
 * @gone: the thread's registers must not be read any more, its kernel stack
 *	may go; @lock
 * @lock: guards @gone while registers are read, and orders the records about
 *	one unit; inside pguard_tasks_lock
 * @looked_at: number of the unit the watch found late last, and
 * @next_report: when that one is to be reported again, ns from its start; both
 *	the watch's own
 * @captured: a request for its own stack is queued (capture.c)
 * @kick: task work of the drain; queued once
 * @kicked: it was queued; the drain's own
 * @drained: in the drain's list, once out of the hash
 * @tid: what the stream knows it by, whatever an exec makes of its id
 * @opening: of the stream, in which its first event was told; the thread's own
 * @told: time of its last event; the thread's own
 */
struct pguard_task {
	struct hlist_node node;
	struct task_struct *task;
	struct pguard_image *image;
	struct pguard_target *target;
	u64 unit;
	u64 start;
	struct pguard_mark mark;
	struct pguard_loop *loop;
	u64 home;
	u64 home_ip;
	struct pguard_place *place;
	u32 oldest;
	int inflight;
	struct pguard_place places[PGUARD_NR_PLACES];
	u32 follow;
	bool dead;
	bool gone;
	bool captured;
	union {
		struct {
			u16 records_left;
			bool streams;
		};
		u32 curious;
	};
	u64 entered;
	u64 switches;
	u64 nr_waits;
	spinlock_t lock;
	u64 looked_at;
	u64 next_report;
	struct callback_head kick;
	bool kicked;
	refcount_t refs;
	union {
		struct hlist_node drained;
		struct rcu_head rcu;
	};
	u32 tid;
	u32 opening;
	u64 told;
};

enum { PGUARD_TASKS_BITS = 12, PGUARD_MAX_TASKS = 65536 };

/* Guards changes of the hash; readers use RCU-sched or RCU. */
extern spinlock_t pguard_tasks_lock;
extern struct hlist_head pguard_tasks[1 << PGUARD_TASKS_BITS];
extern atomic_t pguard_nr_tasks;

/* Caller holds RCU, in whatever flavour. */
static __always_inline struct pguard_task *pguard_task_find(const struct task_struct *task)
{
	struct hlist_head *head = &pguard_tasks[hash_ptr(task, PGUARD_TASKS_BITS)];
	struct pguard_task *state;

	hlist_for_each_entry_rcu_notrace(state, head, node)
		if (state->task == task)
			return state;
	return NULL;
}

static inline bool pguard_task_get(struct pguard_task *state)
{
	return refcount_inc_not_zero(&state->refs);
}

void pguard_task_put(struct pguard_task *state);
struct pguard_task *pguard_task_new(struct pguard_image *image);
struct pguard_task *pguard_task_first(const struct pguard_target *target);
void pguard_task_unhash(struct pguard_task *state);
struct pguard_task *pguard_task_remove(struct task_struct *task);

#endif /* _PGUARD_TASK_H */
