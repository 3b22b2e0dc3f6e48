// SPDX-License-Identifier: GPL-2.0

/*
 * A unit that is stuck runs no code of ours, so somebody else has to look at
 * the clock.  A work looks at all watched threads, reports the units beyond
 * their threshold, and sleeps until the next unit can become late: the
 * earliest end of a running unit's time, but at most one threshold, since a
 * unit that begins later cannot be late sooner.  While nothing is late that
 * is one look a threshold, however short the units are.
 *
 * Mostly there is nothing to be done, and waking a thread for that costs those
 * it looks at more than the look.  So with few threads the timer looks first,
 * and calls the work only if something is due.
 *
 * While a unit stays late its stack is taken again and again, at times that
 * grow with it, and it is reported again when its time has doubled.  A unit
 * that a guard, or its end, reported late first is not reported as new.
 */

#include "unit/unit.h"

#include "report/late-unit.h"
#include "report/stack.h"
#include "target/image.h"
#include "target/thread.h"

#include <linux/hrtimer.h>
#include <linux/workqueue.h>

static enum hrtimer_restart watch_tick(struct hrtimer *timer);
static void watch_work(struct work_struct *work);

enum {
	MAX_FOUND = 32,			/* units reported in one round, and sampled */
	MAX_QUICK_SCAN = 32,		/* threads that the timer looks at by itself */
	MIN_DELAY_NS = NSEC_PER_MSEC,
	/* For units that may become late but most of the time do not. */
	EASY_DELAY_NS = 8 * NSEC_PER_MSEC,
	/* For units that may turn out to be of a type with less time. */
	OPEN_DELAY_NS = 16 * NSEC_PER_MSEC,
	/* For late ones of which none may be reported just now. */
	CLOSED_DELAY_NS = 16 * NSEC_PER_MSEC,
	MAX_DELAY_NS = NSEC_PER_SEC,
	MIN_STEP_NS = 2 * NSEC_PER_MSEC,	/* between two stacks of a unit */
	MAX_STEP_NS = NSEC_PER_SEC,
	/* Beyond this time of a round stacks have to wait: reports are first. */
	MAX_SAMPLING_NS = 4 * NSEC_PER_MSEC,
};

/* A late unit found in a round; @thread is referenced. */
struct found {
	struct pguard_thread *thread;
	u64 unit; /* as in pguard_thread.unit */
};

struct found_list {
	struct found found[MAX_FOUND];
	u32 nr;
};

/* One look, and how long there is nothing to look for. */
struct round {
	struct found_list *late;	/* to be reported; NULL: by the timer, which does nothing */
	struct found_list *still;	/* to be sampled; the same */
	bool is_due;		/* there would have been something to be done */
	ktime_t begun;
	u64 delay; /* ns since then */
};

static struct workqueue_struct *watch_wq;
static struct hrtimer timer;
static DECLARE_WORK(work, watch_work);
static bool running;
/* The delay while no unit runs; the work informs the timer, which never runs at the same time. */
static u64 longest_delay;

/* So that they can be looked at all at once. */
static bool are_few(void)
{
	return atomic_read(&pguard_nr_threads) <= MAX_QUICK_SCAN;
}

static void found_add(struct found_list *list, struct round *round, struct pguard_thread *thread,
		      u64 unit)
{
	if (!list)
		round->is_due = true;
	else if (list->nr == MAX_FOUND)
		round->delay = 0; /* it is due in the next one */
	else if (pguard_thread_get(thread))
		list->found[list->nr++] = (struct found){ thread, unit };
}

/*
 * How long a unit needs not be looked at that is in time.  One that has just
 * begun is most likely a short one that happened to run: it can wait a little.
 * Later the time is exact; and where guards may yet find a type with a smaller
 * threshold than it has now, the watchdog looks at it now and then.
 */
static u64 unit_delay(const struct pguard_thread *thread, u64 elapsed, u64 threshold)
{
	u64 left = threshold - elapsed, least;

	if (elapsed < threshold / 2)
		left = max_t(u64, left, EASY_DELAY_NS);
	least = pguard_target_least(thread->image->target);
	if (least >= threshold)
		return left;
	if (elapsed < least)
		return min(left, max_t(u64, least - elapsed, EASY_DELAY_NS));
	return min_t(u64, left, OPEN_DELAY_NS);
}

/* What the watchdog keeps of a late unit that is reported now; NULL for lack of memory. */
static struct pguard_lateness *lateness_begin(struct pguard_thread *thread, u64 unit, u64 elapsed)
{
	struct pguard_lateness *late = pguard_stack_history_lateness(thread);

	if (!late)
		return NULL;
	if (late->looked_at != pguard_unit_number(unit))
		late->history.next = 0;
	late->looked_at = pguard_unit_number(unit);
	late->next_report = 2 * elapsed;
	return late;
}

/* Find out whether a late unit is to be reported, reported again, or sampled. */
static void late_look(struct pguard_thread *thread, u64 unit, u64 elapsed, struct round *round)
{
	struct pguard_lateness *late = thread->lateness;
	bool is_reported = unit & PGUARD_PHASE_LATE;
	u64 due;

	if (!late || late->looked_at != pguard_unit_number(unit)) {
		if (!is_reported && !pguard_late_unit_is_open(thread->image->target)) {
			round->delay = min_t(u64, round->delay, CLOSED_DELAY_NS);
			return;
		}
		if (!is_reported || !round->late)
			return found_add(round->late, round, thread, unit);
		/* A guard reported it: from now on it is the watchdog's. */
		late = lateness_begin(thread, unit, elapsed);
		if (!late) {
			round->delay = min_t(u64, round->delay, EASY_DELAY_NS);
			return;
		}
	}
	due = late->next_report;
	if (elapsed > due)
		return found_add(round->late, round, thread, unit);
	if (is_reported) {
		due = min(due, late->history.next);
		if (elapsed >= due)
			found_add(round->still, round, thread, unit);
	}
	if (elapsed < due)
		round->delay = min(round->delay, due - elapsed);
}

/* Look at one thread. */
static void state_look(struct pguard_thread *thread, struct round *round)
{
	u64 unit, elapsed, threshold;

	/* Pairs with pguard_unit_run(): start and mark are in place. */
	unit = smp_load_acquire(&thread->unit);
	/* The threads of a target that goes pass their boundaries unseen. */
	if (!(unit & PGUARD_PHASE_RUNNING) || READ_ONCE(thread->image->target->dying))
		return;
	elapsed = pguard_unit_elapsed(thread);
	threshold = pguard_unit_threshold(thread);
	if (!threshold || !pguard_unit_runs(thread, unit))
		return;
	if (elapsed <= threshold)
		round->delay = min(round->delay, unit_delay(thread, elapsed, threshold));
	else
		late_look(thread, unit, elapsed, round);
}

/* Find late units, where threads are few. */
static void look_at_few(struct round *round)
{
	struct pguard_thread *thread;

	rcu_read_lock();
	list_for_each_entry_rcu(thread, &pguard_all_threads, all) {
		state_look(thread, round);
		if (round->is_due)
			break;
	}
	rcu_read_unlock();
}

/* Find late units. */
static void look(struct round *round)
{
	struct pguard_thread *thread;
	u32 bucket;

	if (are_few())
		return look_at_few(round);
	for (bucket = 0; bucket < ARRAY_SIZE(pguard_threads); bucket++) {
		/* Most are; and what a look takes, it takes from those it looks at. */
		if (hlist_empty(&pguard_threads[bucket]))
			continue;
		rcu_read_lock();
		hlist_for_each_entry_rcu(thread, &pguard_threads[bucket], node)
			state_look(thread, round);
		rcu_read_unlock();
		cond_resched();
	}
}

/* A stack was just taken: when the unit is due again. */
static void sample_later(struct pguard_thread *thread, struct round *round)
{
	u64 elapsed = pguard_unit_elapsed(thread), next;
	struct pguard_lateness *late = thread->lateness;
	/* So that a record's room lasts until the next one: ln 2 / ln (17 / 16) are 12. */
	u64 step = clamp_t(u64, elapsed / 16, MIN_STEP_NS, MAX_STEP_NS);

	late->history.next = elapsed + (step << READ_ONCE(late->history.doublings));
	next = min(late->history.next, late->next_report);
	next = next > elapsed ? next - elapsed : 0;
	round->delay = min(round->delay, next + (ktime_get() - round->begun));
}

/*
 * Report a unit that is late or still late.  If that must not be done now we look again,
 * for that a second later, or its end comes first and reports it.
 */
static void report(const struct found *found, struct round *round)
{
	struct pguard_thread *thread = found->thread;
	u64 elapsed = pguard_unit_elapsed(thread);
	struct pguard_lateness *late = lateness_begin(thread, found->unit, elapsed);
	int ret = late ? pguard_late_unit_report(thread, found->unit, NULL, elapsed) : -ENOMEM;

	if (ret == -EBUSY)
		late->next_report = elapsed + NSEC_PER_SEC;
	if (ret)
		round->delay = min_t(u64, round->delay, EASY_DELAY_NS);
	else
		sample_later(thread, round);
}

static void found_handle(struct round *round)
{
	const struct found *found;
	ktime_t begun;
	u32 i;

	for (i = 0; i < round->late->nr; i++) {
		report(&round->late->found[i], round);
		pguard_thread_put(round->late->found[i].thread);
	}
	begun = ktime_get();
	for (i = 0; i < round->still->nr; i++) {
		found = &round->still->found[i];
		if (!i || ktime_get() - begun < MAX_SAMPLING_NS) {
			pguard_late_unit_sample(found->thread, found->unit);
			sample_later(found->thread, round);
		} else {
			round->delay = 0;
		}
		pguard_thread_put(found->thread);
	}
}

/* Look again when something can be due, but not before a time has passed from now. */
static void round_end(const struct round *round, s64 least_ns)
{
	ktime_t next;

	if (!READ_ONCE(running) || round->delay == U64_MAX)
		return;
	/* Taking stacks took time; the next unit is not late the later for it. */
	next = ktime_add_ns(round->begun, min_t(u64, round->delay, MAX_DELAY_NS));
	next = max(next, ktime_add_ns(ktime_get(), least_ns));
	hrtimer_start(&timer, next, HRTIMER_MODE_ABS);
}

static void watch_work(struct work_struct *unused)
{
	/* Of the one look at a time; too large for the stack. */
	static struct found_list late, still;
	struct round round = { .late = &late, .still = &still };
	ktime_t looked;

	late.nr = 0;
	still.nr = 0;
	/* Who started this look may not have been the timer. */
	hrtimer_cancel(&timer);
	longest_delay = max_t(u64, pguard_targets_least(), EASY_DELAY_NS);
	round.begun = ktime_get();
	round.delay = longest_delay;
	look(&round);
	looked = ktime_get() - round.begun;
	found_handle(&round);
	/* With many threads a look takes time; then half of a CPU is enough. */
	round_end(&round, clamp_t(s64, looked, MIN_DELAY_NS, EASY_DELAY_NS));
}

/* Interrupts are off. */
static enum hrtimer_restart watch_tick(struct hrtimer *unused)
{
	struct round round = { .begun = ktime_get(), .delay = longest_delay };

	round.is_due = !are_few();
	if (!round.is_due)
		look_at_few(&round);
	if (round.is_due)
		queue_work(watch_wq, &work);
	else
		round_end(&round, MIN_DELAY_NS);
	return HRTIMER_NORESTART;
}

/**
 * pguard_watchdog_start() - look now, and from now on
 *
 * Also after a threshold was lowered.
 *
 * Context: may sleep; pguard_control held.
 */
void pguard_watchdog_start(void)
{
	WRITE_ONCE(running, true);
	queue_work(watch_wq, &work);
}

/**
 * pguard_watchdog_flush() - wait until a look that is under way is over
 *
 * Context: may sleep.
 */
void pguard_watchdog_flush(void)
{
	flush_work(&work);
}

/**
 * pguard_watchdog_stop() - look no more
 *
 * Context: may sleep; pguard_control held.
 */
void pguard_watchdog_stop(void)
{
	WRITE_ONCE(running, false);
	/* A work that still saw it running may have started the timer. */
	flush_work(&work);
	hrtimer_cancel(&timer);
	/* And that may have queued the work again, for the last time. */
	flush_work(&work);
}

int __init pguard_watchdog_init(void)
{
	pguard_hrtimer_setup(&timer, watch_tick);
	/* Unbound and of high priority: a busy target must not delay it. */
	watch_wq = alloc_workqueue("perfguard_watch", WQ_UNBOUND | WQ_HIGHPRI, 1);
	return watch_wq ? 0 : -ENOMEM;
}

void pguard_watchdog_deinit(void)
{
	destroy_workqueue(watch_wq);
}
