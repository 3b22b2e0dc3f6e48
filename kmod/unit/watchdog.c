// SPDX-License-Identifier: GPL-2.0

/*
 * A unit that is stuck runs no code of ours, so somebody else has to look at
 * the clock.  A work looks at all watched threads, reports the units of which a
 * part of their time is beyond its limit, and sleeps until the next unit can
 * become late: the earliest end of a running unit's time, but at most the least
 * limit, since a unit that begins later cannot be late sooner.  While nothing is
 * late that is one scan a limit, however short the units are.
 *
 * Mostly there is nothing to be done, and waking a thread for that costs those
 * it scans more than the scan does.  So with few threads the timer scans first,
 * and calls the work only if something is due.
 *
 * While a unit stays late its stack is taken again and again, at times that
 * grow with it, and it is reported again when its time has doubled.  A unit
 * that a guard, or its end, reported late first is not reported as new.
 *
 * A scan also finds the threads that are stopped in mid-unit (stopped.c).
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
	MAX_FOUND = 32,			/* units reported in one scan, and sampled */
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
	/* Beyond this time of a scan stacks have to wait: reports are first. */
	MAX_SAMPLING_NS = 4 * NSEC_PER_MSEC,
};

/* A late unit found in a scan; @thread is referenced. */
struct late_thread {
	struct pguard_thread *thread;
	u64 unit; /* as in pguard_thread.unit */
};

struct found_list {
	struct late_thread found[MAX_FOUND];
	u32 nr;
};

/* One scan, and how long the next can wait. */
struct thread_scan {
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

/* They can be scanned all at once. */
static bool are_few(void)
{
	return atomic_read(&pguard_nr_threads) <= MAX_QUICK_SCAN;
}

static void found_add(struct found_list *list, struct thread_scan *scan,
		      struct pguard_thread *thread, u64 unit)
{
	if (!list)
		scan->is_due = true;
	else if (list->nr == MAX_FOUND)
		scan->delay = 0; /* it is due in the next one */
	else if (pguard_thread_get(thread))
		list->found[list->nr++] = (struct late_thread){ thread, unit };
}

/*
 * How long a unit needs not be looked at that is in time.  One that has just
 * begun is most likely a short one that happened to run: it can wait a little.
 * Later the time is exact; and where guards may yet find a type with a smaller
 * limit than it has now, the watchdog looks at it now and then.
 */
static u64 unit_delay(const struct pguard_thread *thread, u64 elapsed, u64 soon)
{
	u64 left = soon - elapsed, least;

	if (elapsed < soon / 2)
		left = max_t(u64, left, EASY_DELAY_NS);
	least = pguard_target_least(thread->image->target);
	if (least >= soon)
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
static void scan_late(struct pguard_thread *thread, u64 unit, u64 elapsed, struct thread_scan *scan)
{
	struct pguard_lateness *late = thread->lateness;
	bool is_reported = unit & PGUARD_PHASE_LATE;
	u64 due;

	if (!late || late->looked_at != pguard_unit_number(unit)) {
		if (!is_reported && !pguard_late_unit_is_open(thread)) {
			scan->delay = min_t(u64, scan->delay, CLOSED_DELAY_NS);
			return;
		}
		if (!is_reported || !scan->late)
			return found_add(scan->late, scan, thread, unit);
		/* A guard reported it: from now on it is the watchdog's. */
		late = lateness_begin(thread, unit, elapsed);
		if (!late) {
			scan->delay = min_t(u64, scan->delay, EASY_DELAY_NS);
			return;
		}
	}
	due = late->next_report;
	if (elapsed > due)
		return found_add(scan->late, scan, thread, unit);
	if (is_reported) {
		due = min(due, late->history.next);
		if (elapsed >= due)
			found_add(scan->still, scan, thread, unit);
	}
	if (elapsed < due)
		scan->delay = min(scan->delay, due - elapsed);
}

/* A unit may be late by the clock: it is so if its account says so. */
static void scan_account(struct pguard_thread *thread, u64 unit, u64 elapsed,
			 struct thread_scan *scan)
{
	struct pguard_account account = { .elapsed = elapsed };
	struct pguard_finding finding;

	if (unit & PGUARD_PHASE_MARKED)
		pguard_account_remote(&thread->mark, elapsed, thread->task, &account);
	pguard_unit_take_stopped(thread, unit, &account);
	pguard_unit_judge(thread, &account, &finding);
	/* Start, mark and verdict were its own. */
	if (!pguard_unit_runs(thread, unit))
		return;
	if (unit & PGUARD_PHASE_LATE || pguard_finding_is_late(&finding) || finding.is_stopped)
		scan_late(thread, unit, elapsed, scan);
	else
		scan->delay = min(scan->delay, finding.left_ns);
}

/* Returns true if the unit of a thread is left alone, for it only begins when that goes on. */
static bool scan_stopped(struct pguard_thread *thread, u64 unit, struct thread_scan *scan)
{
	if (unlikely(pguard_stopped_is_new(thread))) {
		/* The work notes it. */
		if (scan->late)
			pguard_stopped_look(thread, unit);
		else
			scan->is_due = true;
	}
	return pguard_stopped_is_between(thread, unit);
}

static void scan_thread(struct pguard_thread *thread, struct thread_scan *scan)
{
	u64 unit, elapsed, soon;

	/* Pairs with pguard_unit_run(): start and mark are in place. */
	unit = smp_load_acquire(&thread->unit);
	/* The threads of a target that goes pass their boundaries unseen. */
	if (!(unit & PGUARD_PHASE_RUNNING) || READ_ONCE(thread->image->target->dying))
		return;
	if (scan_stopped(thread, unit, scan))
		return;
	elapsed = pguard_unit_elapsed(thread);
	soon = pguard_unit_soon(thread);
	if (!soon || !pguard_unit_runs(thread, unit))
		return;
	if (elapsed <= soon)
		scan->delay = min(scan->delay, unit_delay(thread, elapsed, soon));
	else
		scan_account(thread, unit, elapsed, scan);
}

static void scan_few(struct thread_scan *scan)
{
	struct pguard_thread *thread;

	rcu_read_lock();
	list_for_each_entry_rcu(thread, &pguard_all_threads, all) {
		scan_thread(thread, scan);
		if (scan->is_due)
			break;
	}
	rcu_read_unlock();
}

static void scan_all(struct thread_scan *scan)
{
	struct pguard_thread *thread;
	u32 bucket;

	if (are_few())
		return scan_few(scan);
	for (bucket = 0; bucket < ARRAY_SIZE(pguard_threads); bucket++) {
		/* Most are; and a scan takes its time from the threads it scans. */
		if (hlist_empty(&pguard_threads[bucket]))
			continue;
		rcu_read_lock();
		hlist_for_each_entry_rcu(thread, &pguard_threads[bucket], node)
			scan_thread(thread, scan);
		rcu_read_unlock();
		cond_resched();
	}
}

/* A stack was just taken: when the unit is due again. */
static void sample_later(struct pguard_thread *thread, struct thread_scan *scan)
{
	u64 elapsed = pguard_unit_elapsed(thread), next;
	struct pguard_lateness *late = thread->lateness;
	/* So that a record's room lasts until the next one: ln 2 / ln (17 / 16) are 12. */
	u64 step = clamp_t(u64, elapsed / 16, MIN_STEP_NS, MAX_STEP_NS);

	late->history.next = elapsed + (step << READ_ONCE(late->history.doublings));
	next = min(late->history.next, late->next_report);
	next = next > elapsed ? next - elapsed : 0;
	scan->delay = min(scan->delay, next + (ktime_get() - scan->begun));
}

/*
 * Report a unit that is late or still late.  If that must not be done now we look again,
 * for that a second later, or its end comes first and reports it.
 */
static void report(const struct late_thread *found, struct thread_scan *scan)
{
	struct pguard_thread *thread = found->thread;
	u64 elapsed = pguard_unit_elapsed(thread), word = found->unit;
	struct pguard_lateness *late = lateness_begin(thread, word, elapsed);
	int ret = late ? pguard_late_unit_claim(thread, &word, 0) : -ENOMEM;

	if (ret == -EBUSY)
		late->next_report = elapsed + NSEC_PER_SEC;
	if (ret) {
		scan->delay = min_t(u64, scan->delay, EASY_DELAY_NS);
		return;
	}
	pguard_late_unit_report(thread, word, NULL, elapsed);
	sample_later(thread, scan);
}

static void found_handle(struct thread_scan *scan)
{
	const struct late_thread *found;
	ktime_t begun;
	u32 i;

	for (i = 0; i < scan->late->nr; i++) {
		report(&scan->late->found[i], scan);
		pguard_thread_put(scan->late->found[i].thread);
	}
	begun = ktime_get();
	for (i = 0; i < scan->still->nr; i++) {
		found = &scan->still->found[i];
		if (!i || ktime_get() - begun < MAX_SAMPLING_NS) {
			pguard_late_unit_sample(found->thread, found->unit);
			sample_later(found->thread, scan);
		} else {
			scan->delay = 0;
		}
		pguard_thread_put(found->thread);
	}
}

/* Look again when something can be due, but not before a time has passed from now. */
static void round_end(const struct thread_scan *scan, s64 least_ns)
{
	ktime_t next;

	if (!READ_ONCE(running) || scan->delay == U64_MAX)
		return;
	/* Taking stacks took time; the next unit is not late the later for it. */
	next = ktime_add_ns(scan->begun, min_t(u64, scan->delay, MAX_DELAY_NS));
	next = max(next, ktime_add_ns(ktime_get(), least_ns));
	hrtimer_start(&timer, next, HRTIMER_MODE_ABS);
}

static void watch_work(struct work_struct *unused)
{
	/* Of the one look at a time; too large for the stack. */
	static struct found_list late, still;
	struct thread_scan scan = { .late = &late, .still = &still };
	ktime_t looked;

	late.nr = 0;
	still.nr = 0;
	/* Who started this look may not have been the timer. */
	hrtimer_cancel(&timer);
	longest_delay = max_t(u64, pguard_targets_least(), EASY_DELAY_NS);
	scan.begun = ktime_get();
	scan.delay = longest_delay;
	scan_all(&scan);
	looked = ktime_get() - scan.begun;
	found_handle(&scan);
	/* With many threads a look takes time; then half of a CPU is enough. */
	round_end(&scan, clamp_t(s64, looked, MIN_DELAY_NS, EASY_DELAY_NS));
}

/* Interrupts are off. */
static enum hrtimer_restart watch_tick(struct hrtimer *unused)
{
	struct thread_scan scan = { .begun = ktime_get(), .delay = longest_delay };

	scan.is_due = !are_few();
	if (!scan.is_due)
		scan_few(&scan);
	if (scan.is_due)
		queue_work(watch_wq, &work);
	else
		round_end(&scan, MIN_DELAY_NS);
	return HRTIMER_NORESTART;
}

/**
 * pguard_watchdog_start() - look now, and from now on
 *
 * Also after a limit was lowered.
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
