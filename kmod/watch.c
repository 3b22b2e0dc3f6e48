// SPDX-License-Identifier: GPL-2.0

/*
 * A unit that is stuck runs no code of ours, so somebody else has to look at
 * the clock.  A work looks at all watched threads, reports the units beyond
 * their threshold, and sleeps until the next unit can become late: the
 * earliest end of a running unit's time, but at most one threshold, since a
 * unit that begins later cannot be late sooner.  While nothing is late that
 * is one look a threshold, however short the units are.
 *
 * A unit that stays late is reported again when its time has doubled.
 */

#include "watch.h"

#include "capture.h"
#include "clock.h"
#include "compat.h"
#include "image.h"
#include "record.h"
#include "stack.h"
#include "task.h"
#include "unit.h"

#include <linux/hrtimer.h>
#include <linux/workqueue.h>

static enum hrtimer_restart watch_tick(struct hrtimer *timer);
static void watch_work(struct work_struct *work);

enum {
	MAX_FOUND = 32,			/* late units handled in one round */
	MIN_NAP_NS = NSEC_PER_MSEC,
	MAX_NAP_NS = NSEC_PER_SEC,
};

/* A late unit found in a round; @state is referenced. */
struct found {
	struct pguard_task *state;
	u64 unit;	/* as in pguard_task.unit */
};

static struct workqueue_struct *watch_wq;
static struct hrtimer timer;
static DECLARE_WORK(work, watch_work);
static bool running;

static u64 unit_number(u64 unit)
{
	return unit >> PGUARD_PHASE_SHIFT;
}

/* From what time on the unit is to be reported, ns; 0 if never. */
static u64 state_due(const struct pguard_task *state, u64 unit)
{
	u64 threshold = pguard_target_threshold(state->target);

	if (threshold && state->looked_at == unit_number(unit))
		return max(state->next_report, threshold);
	return threshold;
}

/* Look at one thread; true if its unit is to be reported now. */
static bool state_look(struct pguard_task *state, struct found *found, u64 *nap)
{
	u64 unit, elapsed, due;

	/* Pairs with pguard_unit_start(): start and mark are in place. */
	unit = smp_load_acquire(&state->unit);
	/* The threads of a target that goes pass their boundaries unseen. */
	if (!(unit & PGUARD_PHASE_RUNNING) || READ_ONCE(state->target->dying))
		return false;
	elapsed = pguard_clock_ns(pguard_clock() - READ_ONCE(state->start));
	due = state_due(state, unit);
	if (!due || unit_number(unit) != unit_number(READ_ONCE(state->unit)))
		return false;
	if (elapsed <= due) {
		*nap = min(*nap, due - elapsed);
		return false;
	}
	found->state = state;
	found->unit = unit;
	return pguard_task_get(state);
}

/*
 * Find late units.  Returns their number and lowers @nap to the time until the
 * first of those that run can become late.
 */
static u32 look(struct found found[MAX_FOUND], u64 *nap)
{
	struct pguard_task *state;
	u32 bucket, nr = 0;

	for (bucket = 0; bucket < ARRAY_SIZE(pguard_tasks); bucket++) {
		rcu_read_lock();
		hlist_for_each_entry_rcu(state, &pguard_tasks[bucket], node) {
			if (nr < MAX_FOUND && state_look(state, &found[nr], nap))
				nr++;
		}
		rcu_read_unlock();
		cond_resched();
	}
	return nr;
}

/*
 * Turn a running unit into a late one.  False if it ended meanwhile, or if
 * the rate limit is against it: then we look again a second later, or its end
 * comes first and tells it.
 */
static bool mark_late(const struct found *found, u64 elapsed)
{
	struct pguard_task *state = found->state;
	u64 unit = found->unit;

	state->looked_at = unit_number(unit);
	if (!__ratelimit(&state->target->alert_limit)) {
		state->next_report = elapsed + NSEC_PER_SEC;
		return false;
	}
	state->next_report = 2 * elapsed;
	if (unit & PGUARD_PHASE_LATE)
		return READ_ONCE(state->unit) == unit;
	return cmpxchg(&state->unit, unit, unit | PGUARD_PHASE_LATE) == unit;
}

/*
 * Add a record, if the unit has not ended: then start and mark were its own.
 * The lock keeps the record of its end behind this one.
 */
static bool tell(const struct found *found, struct pguard_record *record)
{
	struct pguard_task *state = found->state;
	bool running;

	spin_lock(&state->lock);
	running = READ_ONCE(state->unit) == (found->unit | PGUARD_PHASE_LATE);
	if (running) {
		refcount_inc(&record->refs);
		pguard_ring_add(&pguard_alerts, record);
	}
	spin_unlock(&state->lock);
	return running;
}

/* The stack of a unit; not of what the thread did after it. */
static struct pguard_stack *unit_stack(const struct found *found)
{
	struct pguard_stack *stack = pguard_capture_stack(found->state);

	if (unit_number(READ_ONCE(found->state->unit)) == unit_number(found->unit))
		return stack;
	pguard_stack_free(stack);
	return NULL;
}

static void report(const struct found *found)
{
	struct pguard_task *state = found->state;
	struct pguard_record *record;
	u64 elapsed;

	elapsed = pguard_clock_ns(pguard_clock() - READ_ONCE(state->start));
	if (!mark_late(found, elapsed))
		return;
	record = pguard_unit_record(state, unit_number(found->unit),
				    PERFGUARD_RECORD_KIND_LATE,
				    PERFGUARD_FOUND_BY_OVERDUE, GFP_KERNEL);
	if (!record)
		return;
	record->ready = false;
	record->account.elapsed = elapsed;
	if (found->unit & PGUARD_PHASE_MARKED)
		pguard_account_remote(&state->mark, elapsed, state->task,
				      &record->account);
	/* Its place is taken first: the unit may end while we take the stack. */
	if (tell(found, record))
		pguard_ring_complete(&pguard_alerts, record, unit_stack(found));
	pguard_record_put(record);
}

static void watch_work(struct work_struct *unused)
{
	struct found found[MAX_FOUND];
	u64 nap = pguard_targets_threshold();
	ktime_t begun = ktime_get(), next;
	u32 i, nr;

	nr = look(found, &nap);
	for (i = 0; i < nr; i++) {
		report(&found[i]);
		pguard_task_put(found[i].state);
	}
	if (nr == MAX_FOUND)
		nap = 0;
	if (!READ_ONCE(running) || nap == U64_MAX)
		return;
	/* Taking stacks took time; the next unit is not late the later for it. */
	next = ktime_add_ns(begun, min_t(u64, nap, MAX_NAP_NS));
	next = max(next, ktime_add_ns(ktime_get(), MIN_NAP_NS));
	hrtimer_start(&timer, next, HRTIMER_MODE_ABS);
}

static enum hrtimer_restart watch_tick(struct hrtimer *unused)
{
	queue_work(watch_wq, &work);
	return HRTIMER_NORESTART;
}

/**
 * pguard_watch_start() - look now, and from now on
 *
 * Also after a threshold was lowered.
 *
 * Context: may sleep; pguard_control held.
 */
void pguard_watch_start(void)
{
	WRITE_ONCE(running, true);
	queue_work(watch_wq, &work);
}

/**
 * pguard_watch_flush() - wait until a look that is under way is over
 *
 * Context: may sleep.
 */
void pguard_watch_flush(void)
{
	flush_work(&work);
}

/**
 * pguard_watch_stop() - look no more
 *
 * Context: may sleep; pguard_control held.
 */
void pguard_watch_stop(void)
{
	WRITE_ONCE(running, false);
	/* A work that still saw it running may have started the timer. */
	flush_work(&work);
	hrtimer_cancel(&timer);
	/* And that may have queued the work again, for the last time. */
	flush_work(&work);
}

int __init pguard_watch_init(void)
{
	pguard_hrtimer_setup(&timer, watch_tick);
	/* Unbound and of high priority: a busy target must not delay it. */
	watch_wq = alloc_workqueue("perfguard_watch", WQ_UNBOUND | WQ_HIGHPRI, 1);
	return watch_wq ? 0 : -ENOMEM;
}

void pguard_watch_deinit(void)
{
	destroy_workqueue(watch_wq);
}
