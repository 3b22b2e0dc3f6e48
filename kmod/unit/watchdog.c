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
 * that a guard, or its end, told to be late first is not reported as new.
 */

#include "unit/watchdog.h"

#include "compat.h"
#include "report/alert-record.h"
#include "report/capture.h"
#include "report/rate-limit.h"
#include "report/stack-history.h"
#include "report/stack.h"
#include "target/image.h"
#include "target/thread.h"
#include "unit/unit.h"

#include <linux/hrtimer.h>
#include <linux/workqueue.h>

static enum hrtimer_restart watch_tick(struct hrtimer *timer);
static void watch_work(struct work_struct *work);

enum {
	MAX_LATE = 32,			/* units reported in one round */
	MAX_STILL = 16,			/* units sampled in one round */
	MAX_GLANCE = 32,		/* threads that the timer looks at by itself */
	MIN_NAP_NS = NSEC_PER_MSEC,
	/* For units that may become late but most of the time do not. */
	EASY_NAP_NS = 8 * NSEC_PER_MSEC,
	/* For units that may turn out to be of a type with less time. */
	OPEN_NAP_NS = 16 * NSEC_PER_MSEC,
	/* For late ones of which none may be told just now. */
	CLOSED_NAP_NS = 16 * NSEC_PER_MSEC,
	MAX_NAP_NS = NSEC_PER_SEC,
	MIN_STEP_NS = 2 * NSEC_PER_MSEC,	/* between two stacks of a unit */
	MAX_STEP_NS = NSEC_PER_SEC,
	/* Beyond this time of a round stacks have to wait: reports are first. */
	MAX_SAMPLING_NS = 4 * NSEC_PER_MSEC,
};

/* A late unit found in a round; @state is referenced. */
struct found {
	struct pguard_task *state;
	u64 unit;	/* as in pguard_task.unit */
};

struct haul {
	struct found late[MAX_LATE];	/* to be reported */
	struct found still[MAX_STILL];	/* to be sampled */
	u32 nr_late;
	u32 nr_still;
};

/* One look, and how long there is nothing to look for. */
struct round {
	struct haul *haul;	/* NULL: by the timer, which does nothing about it */
	bool is_due;		/* there would have been something to be done */
	ktime_t begun;
	u64 nap;		/* ns since then */
};

static struct workqueue_struct *watch_wq;
static struct hrtimer timer;
static DECLARE_WORK(work, watch_work);
static bool running;
/* The nap while no unit runs; the work tells the timer, which never runs beside it. */
static u64 longest_nap;

/* So that they can be looked at all at once. */
static bool are_few(void)
{
	return atomic_read(&pguard_nr_tasks) <= MAX_GLANCE;
}

static u64 unit_number(u64 unit)
{
	return unit >> PGUARD_PHASE_SHIFT;
}

/* Does the unit that was seen still run? */
static bool unit_runs(const struct pguard_task *state, u64 unit)
{
	u64 now = READ_ONCE(state->unit);

	return now & PGUARD_PHASE_RUNNING && unit_number(now) == unit_number(unit);
}

static void found_add(struct found *found, u32 *nr, u32 max, struct round *round,
		      struct pguard_task *state, u64 unit)
{
	if (*nr == max) {
		round->nap = 0;	/* it is its turn in the next one */
	} else if (pguard_task_get(state)) {
		found[*nr].state = state;
		found[(*nr)++].unit = unit;
	}
}

static void late_add(struct round *round, struct pguard_task *state, u64 unit)
{
	struct haul *haul = round->haul;

	if (haul)
		found_add(haul->late, &haul->nr_late, MAX_LATE, round, state, unit);
	else
		round->is_due = true;
}

static void still_add(struct round *round, struct pguard_task *state, u64 unit)
{
	struct haul *haul = round->haul;

	if (haul)
		found_add(haul->still, &haul->nr_still, MAX_STILL, round, state, unit);
	else
		round->is_due = true;
}

/*
 * How long a unit needs not be looked at that is in time.  One that has just
 * begun is most likely a short one that happened to run: it can wait a little.
 * Later the time is exact; and where guards may yet find a type with a smaller
 * threshold than it has now, it is looked at now and then.
 */
static u64 unit_nap(const struct pguard_task *state, u64 elapsed, u64 threshold)
{
	u64 left = threshold - elapsed, least;

	if (elapsed < threshold / 2)
		left = max_t(u64, left, EASY_NAP_NS);
	least = pguard_target_least(state->image->target);
	if (least >= threshold)
		return left;
	if (elapsed < least)
		return min(left, max_t(u64, least - elapsed, EASY_NAP_NS));
	return min_t(u64, left, OPEN_NAP_NS);
}

/* A unit that is late and known to be: report it again, or take its stack? */
static void look_again(struct pguard_task *state, u64 unit, u64 elapsed, struct round *round)
{
	const struct pguard_lateness *late = state->lateness;
	u64 due = late->next_report;

	if (elapsed > due) {
		late_add(round, state, unit);
		return;
	}
	if (unit & PGUARD_PHASE_LATE) {
		due = min(due, late->samples.next);
		if (elapsed >= due)
			still_add(round, state, unit);
	}
	if (elapsed < due)
		round->nap = min(round->nap, due - elapsed);
}

/* A unit that the thread itself told to be late: from now on it is the watch's. */
static void look_at_told(struct pguard_task *state, u64 unit, u64 elapsed, struct round *round)
{
	struct pguard_lateness *late = pguard_samples_lateness(state);

	if (!late) {
		round->nap = min_t(u64, round->nap, EASY_NAP_NS);
		return;
	}
	late->looked_at = unit_number(unit);
	late->next_report = 2 * elapsed;
	late->samples.next = 0;
	look_again(state, unit, elapsed, round);
}

/* Was the unit found late before? */
static bool is_known(const struct pguard_task *state, u64 unit)
{
	return state->lateness && state->lateness->looked_at == unit_number(unit);
}

/* Look at one thread. */
static void state_look(struct pguard_task *state, struct round *round)
{
	u64 unit, elapsed, threshold;

	/* Pairs with pguard_unit_run(): start and mark are in place. */
	unit = smp_load_acquire(&state->unit);
	/* The threads of a target that goes pass their boundaries unseen. */
	if (!(unit & PGUARD_PHASE_RUNNING) || READ_ONCE(state->image->target->dying))
		return;
	elapsed = pguard_unit_elapsed(state);
	threshold = pguard_unit_threshold(state);
	if (!threshold || !unit_runs(state, unit))
		return;
	if (elapsed <= threshold)
		round->nap = min(round->nap, unit_nap(state, elapsed, threshold));
	else if (is_known(state, unit))
		look_again(state, unit, elapsed, round);
	else if (!(unit & PGUARD_PHASE_LATE) && !pguard_telling_is_open(state->image->target))
		round->nap = min_t(u64, round->nap, CLOSED_NAP_NS);
	else if (!round->haul)
		round->is_due = true;
	else if (unit & PGUARD_PHASE_LATE)
		look_at_told(state, unit, elapsed, round);
	else
		late_add(round, state, unit);
}

/* Find late units, where threads are few. */
static void look_at_few(struct round *round)
{
	struct pguard_task *state;

	rcu_read_lock();
	list_for_each_entry_rcu(state, &pguard_all_tasks, all) {
		state_look(state, round);
		if (round->is_due)
			break;
	}
	rcu_read_unlock();
}

/* Find late units. */
static void look(struct round *round)
{
	struct pguard_task *state;
	u32 bucket;

	if (are_few())
		return look_at_few(round);
	for (bucket = 0; bucket < ARRAY_SIZE(pguard_tasks); bucket++) {
		/* Most are; and what a look takes, it takes from those it looks at. */
		if (hlist_empty(&pguard_tasks[bucket]))
			continue;
		rcu_read_lock();
		hlist_for_each_entry_rcu(state, &pguard_tasks[bucket], node)
			state_look(state, round);
		rcu_read_unlock();
		cond_resched();
	}
}

/*
 * Turn a running unit into a late one.  False if it ended meanwhile, if there is no memory,
 * or if it must not be told now: then we look again, for that a second later, or its end comes
 * first and tells it.
 */
static bool mark_late(const struct found *found, u64 elapsed)
{
	struct pguard_task *state = found->state;
	struct pguard_lateness *late = pguard_samples_lateness(state);
	u64 unit = found->unit;
	bool may;

	if (!late)
		return false;
	/* If a guard is first now, then this is the first look at what it told. */
	if (late->looked_at != unit_number(unit))
		late->samples.next = 0;
	late->looked_at = unit_number(unit);
	may = unit & PGUARD_PHASE_LATE ? pguard_telling_may_again(state->image->target) :
					 pguard_telling_may(state->image->target);
	if (!may) {
		late->next_report = elapsed + NSEC_PER_SEC;
		return false;
	}
	late->next_report = 2 * elapsed;
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
		pguard_samples_take(state, unit_number(found->unit), record);
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

	if (unit_runs(found->state, found->unit))
		return stack;
	pguard_stack_free(stack);
	return NULL;
}

/* A stack was just taken; when is the unit's turn again? */
static void sample_later(struct pguard_task *state, struct round *round)
{
	u64 elapsed = pguard_unit_elapsed(state), next;
	struct pguard_lateness *late = state->lateness;
	/* So that a record's room lasts until the next one: ln 2 / ln (17 / 16) are 12. */
	u64 step = clamp_t(u64, elapsed / 16, MIN_STEP_NS, MAX_STEP_NS);

	late->samples.next = elapsed + (step << READ_ONCE(late->samples.doublings));
	next = min(late->samples.next, late->next_report);
	next = next > elapsed ? next - elapsed : 0;
	round->nap = min(round->nap, next + (ktime_get() - round->begun));
}

static void tell_late(const struct found *found, u64 elapsed)
{
	struct pguard_task *state = found->state;
	struct pguard_record *record;

	record = pguard_unit_record(state, unit_number(found->unit),
				    PERFGUARD_RECORD_KIND_LATE,
				    PERFGUARD_FOUND_BY_OVERDUE, GFP_KERNEL);
	if (!record)
		return;
	record->ready = false;
	record->account.elapsed = elapsed;
	if (found->unit & PGUARD_PHASE_MARKED)
		pguard_account_remote(&state->mark, elapsed, state->task, &record->account);
	/* Its place is taken first: the unit may end while we take the stack. */
	if (tell(found, record))
		pguard_ring_complete(&pguard_alerts, record, unit_stack(found));
	pguard_record_put(record);
}

static void report(const struct found *found, struct round *round)
{
	struct pguard_task *state = found->state;
	u64 elapsed = pguard_unit_elapsed(state);
	struct pguard_telling telling;

	if (!mark_late(found, elapsed)) {
		round->nap = min_t(u64, round->nap, EASY_NAP_NS);
		return;
	}
	pguard_telling_begin(&telling);
	tell_late(found, elapsed);
	pguard_telling_end(&telling, state->image->target);
	sample_later(state, round);
}

static void sample(const struct found *found, struct round *round)
{
	struct pguard_telling telling;
	struct pguard_stack *stack;

	pguard_telling_begin(&telling);
	stack = unit_stack(found);
	if (stack)
		pguard_samples_add(found->state, unit_number(found->unit), stack);
	pguard_telling_end(&telling, found->state->image->target);
	sample_later(found->state, round);
}

static void haul_handle(struct haul *haul, struct round *round)
{
	ktime_t begun;
	u32 i;

	for (i = 0; i < haul->nr_late; i++) {
		report(&haul->late[i], round);
		pguard_task_put(haul->late[i].state);
	}
	begun = ktime_get();
	for (i = 0; i < haul->nr_still; i++) {
		if (!i || ktime_get() - begun < MAX_SAMPLING_NS)
			sample(&haul->still[i], round);
		else
			round->nap = 0;
		pguard_task_put(haul->still[i].state);
	}
}

/* Look again when something can be due, but not before a time has passed from now. */
static void round_end(const struct round *round, s64 least_ns)
{
	ktime_t next;

	if (!READ_ONCE(running) || round->nap == U64_MAX)
		return;
	/* Taking stacks took time; the next unit is not late the later for it. */
	next = ktime_add_ns(round->begun, min_t(u64, round->nap, MAX_NAP_NS));
	next = max(next, ktime_add_ns(ktime_get(), least_ns));
	hrtimer_start(&timer, next, HRTIMER_MODE_ABS);
}

static void watch_work(struct work_struct *unused)
{
	/* Of the one look at a time; too large for the stack. */
	static struct haul haul;
	struct round round = { .haul = &haul };
	ktime_t looked;

	haul.nr_late = 0;
	haul.nr_still = 0;
	/* Who started this look may not have been the timer. */
	hrtimer_cancel(&timer);
	longest_nap = max_t(u64, pguard_targets_least(), EASY_NAP_NS);
	round.begun = ktime_get();
	round.nap = longest_nap;
	look(&round);
	looked = ktime_get() - round.begun;
	haul_handle(&haul, &round);
	/* With many threads a look takes time; then half of a CPU is enough. */
	round_end(&round, clamp_t(s64, looked, MIN_NAP_NS, EASY_NAP_NS));
}

/* Is there something to be done?  Interrupts are off. */
static bool glance(void)
{
	struct round round = { .begun = ktime_get(), .nap = longest_nap };

	look_at_few(&round);
	if (!round.is_due)
		round_end(&round, MIN_NAP_NS);
	return round.is_due;
}

static enum hrtimer_restart watch_tick(struct hrtimer *unused)
{
	if (!are_few() || glance())
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
