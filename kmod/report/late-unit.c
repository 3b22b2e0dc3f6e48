// SPDX-License-Identifier: GPL-2.0

#include "report/late-unit.h"

#include "profile/inference.h"
#include "report/alert-record.h"
#include "report/report-cost.h"
#include "report/stack.h"

#include <linux/slab.h>

enum { MAX_MET = 64 };

static void describe(const struct pguard_thread *thread, const struct pguard_inference *inference,
		     struct pguard_alert_record *record)
{
	const struct pguard_profile *profile = inference->profile;
	const struct pguard_verdict *verdict = pguard_unit_verdict(thread, inference);
	bool is_final = record->kind != PERFGUARD_RECORD_KIND_LATE;
	struct pguard_finding finding;
	u16 type = is_final ? verdict->final : READ_ONCE(verdict->early);

	record->profile_id = profile->id;
	record->type_id = pguard_inference_type_id(inference, type);
	if (!(profile->flags & PERFGUARD_PROFILE_FLAGS_PAPER))
		record->margin = pguard_inference_margin(inference, verdict, is_final);
	record->check_ns = pguard_clock_ns(READ_ONCE(inference->checks));
	if (is_final) {
		pguard_inference_judge_end(inference, &record->account, &finding);
		record->part = finding.part;
		record->threshold_ns = finding.limit_ns;
		/* A guard may have been put on since it was asked first. */
		record->is_novel = pguard_inference_is_novel(inference, thread->start) ||
				   record->kind == PERFGUARD_RECORD_KIND_NOVEL;
	}
	record->is_degraded = READ_ONCE(inference->loop->nr_shed);
	if (record->met)
		record->nr_met = pguard_inference_met(inference, verdict, record->met, MAX_MET);
}

/* Add to a record what the profile says of the unit, if one guards the thread. */
static void record_describe(const struct pguard_thread *thread, struct pguard_alert_record *record,
			    gfp_t gfp)
{
	const struct pguard_inference *inference;
	bool is_audit = true;

	rcu_read_lock();
	inference = rcu_dereference(thread->inference);
	if (inference) {
		record->loop_id = inference->loop->id;
		is_audit = pguard_profile_is_audit(inference->profile);
	}
	rcu_read_unlock();
	if (is_audit)
		return;
	/* Without memory it goes without them. */
	record->met = kcalloc(MAX_MET, sizeof(*record->met), gfp | __GFP_NOWARN);
	rcu_read_lock();
	inference = rcu_dereference(thread->inference);
	if (inference)
		describe(thread, inference, record);
	rcu_read_unlock();
}

/* Why the unit was stopped. */
static void record_stop(const struct pguard_thread *thread, struct pguard_alert_record *record)
{
	/* As in pguard_unit_take_stopped(). */
	const struct pguard_stopped *stopped = smp_load_acquire(&thread->stopped);

	if (!record->account.stopped || !stopped)
		return;
	record->stop_cause = READ_ONCE(stopped->cause);
	record->stopped_by = READ_ONCE(stopped->by);
	record->is_stopped = record->kind == PERFGUARD_RECORD_KIND_LATE &&
			     pguard_account_stop_cause(thread->task);
}

/**
 * pguard_late_unit_record() - a record about a unit, or about a wait
 * @thread: the thread, referenced or in an RCU section
 * @account: of the unit; NULL of a wait, of which the caller adds the times
 * @word: pguard_thread.unit, for the number of the unit
 * @kind: enum perfguard_record_kind
 * @found_by: enum perfguard_found_by, 0 if none
 * @gfp: as the caller's context allows
 *
 * Return: the record, or NULL (counted as lost).
 */
struct pguard_alert_record *pguard_late_unit_record(struct pguard_thread *thread,
						    const struct pguard_account *account,
						    u64 word, u32 kind, u32 found_by, gfp_t gfp)
{
	struct pguard_alert_record *record = pguard_alert_record_alloc(kind, gfp);
	struct pguard_finding finding;

	if (!record)
		return NULL;
	record->found_by = found_by;
	record->target_id = thread->image->target->id;
	record->image_id = thread->image->id;
	record->pid = thread->task->tgid;
	record->tid = thread->task->pid;
	record->inner = pguard_inner_ids_of(thread->task);
	get_task_comm(record->comm, thread->task);
	record->unit = pguard_unit_number(word);
	if (account) {
		record->account = *account;
		pguard_unit_judge(thread, account, &finding);
		record->part = finding.part;
		record->threshold_ns = finding.limit_ns;
		record_stop(thread, record);
	}
	record_describe(thread, record, gfp);
	return record;
}

/*
 * Take the tokens for a report.  Where the target's share of a budget is used up
 * a unit that was not reported yet has to be among its tenant's few in any budget.
 */
static bool may_report(const struct pguard_image *image, bool is_known)
{
	struct pguard_tenant *tenant = image->tenant;

	return pguard_rate_limit_has(&tenant->alert_limit) &&
	       (is_known || atomic64_read(&image->target->report_left) > 0 ||
		pguard_rate_limit_take(&tenant->least_limit)) &&
	       pguard_rate_limit_take(&tenant->alert_limit);
}

/*
 * Add a record to the ring, with the stacks that wait for it; the caller keeps its
 * reference.  One about a unit that runs is added only if that has not ended: then
 * start and mark were its own.  The lock keeps the record of its end behind it.
 */
static bool record_add(struct pguard_thread *thread, u64 word, struct pguard_alert_record *record)
{
	bool ret;

	spin_lock(&thread->lock);
	/* It may have gone on from a stop. */
	ret = record->kind != PERFGUARD_RECORD_KIND_LATE ||
	      !((READ_ONCE(thread->unit) ^ word) & ~(u64)PGUARD_PHASE_STOPPED);
	if (ret) {
		pguard_stack_history_take(thread, pguard_unit_number(word), record);
		refcount_inc(&record->refs);
		record->tenant = pguard_tenant_get(thread->image->tenant);
		pguard_ring_add(&pguard_alerts, record);
	}
	spin_unlock(&thread->lock);
	return ret;
}

/**
 * pguard_late_unit_stack() - copy the stack of a unit of another thread
 * @thread: its thread, referenced
 * @word: pguard_thread.unit, as it was seen
 *
 * Context: may sleep.
 * Return: as pguard_capture_stack(); NULL as well if the unit has ended.
 */
struct pguard_stack *pguard_late_unit_stack(struct pguard_thread *thread, u64 word)
{
	struct pguard_stack *stack = pguard_capture_stack(thread);

	if (pguard_unit_runs(thread, word))
		return stack;
	pguard_stack_free(stack);
	return NULL;
}

static void report_late(struct pguard_thread *thread, u64 word, const struct pt_regs *regs,
			u64 elapsed)
{
	struct pguard_account account = { .elapsed = elapsed };
	bool has_mark = word & PGUARD_PHASE_MARKED;
	struct pguard_alert_record *record;

	if (has_mark && regs)
		pguard_account_current(&thread->mark, elapsed, &account);
	else if (has_mark)
		pguard_account_remote(&thread->mark, elapsed, thread->task, &account);
	pguard_unit_take_stopped(thread, word, &account);
	record = pguard_late_unit_record(
		thread, &account, word, PERFGUARD_RECORD_KIND_LATE,
		regs ? PERFGUARD_FOUND_BY_GUARD : PERFGUARD_FOUND_BY_OVERDUE, GFP_KERNEL);
	if (!record)
		return;
	if (regs)
		record->stack = pguard_stack_self(thread, regs);
	else
		/* It is added first: the unit may end while its stack is taken. */
		record->ready = false;
	if (record_add(thread, word, record) && !regs)
		pguard_ring_complete(&pguard_alerts, record,
				     pguard_late_unit_stack(thread, word));
	pguard_alert_record_put(record);
}

/**
 * pguard_late_unit_claim() - a unit that runs is late, or is still late: may it be reported
 * @thread: its thread: current, or referenced by the watchdog
 * @word: pguard_thread.unit, as it was seen: of a unit that is reported for the first
 *	time, or with LATE again; takes what it is now
 * @phase: PGUARD_PHASE_GUARD if one of current's guards found it; else 0
 *
 * Context: any but interrupts.
 * Return: 0 if the caller has to report it; -EBUSY if the rate limit holds it back, which is
 *	counted at the unit's end; -EAGAIN if it ended or was found late by somebody else
 *	meanwhile.
 */
int pguard_late_unit_claim(struct pguard_thread *thread, u64 *word, u64 phase)
{
	u64 late = *word | PGUARD_PHASE_LATE | phase;

	if (!may_report(thread->image, *word & PGUARD_PHASE_LATE))
		return -EBUSY;
	if (cmpxchg(&thread->unit, *word, late) != *word)
		return -EAGAIN;
	*word = late;
	return 0;
}

/**
 * pguard_late_unit_report() - report a unit that runs and was claimed
 * @thread: as in pguard_late_unit_claim()
 * @word: what that left in its @word
 * @regs: current's user registers, if one of its guards found it; else NULL
 * @elapsed: its time, ns
 *
 * Context: may sleep, so not in the handler of a probe.
 */
void pguard_late_unit_report(struct pguard_thread *thread, u64 word, const struct pt_regs *regs,
			     u64 elapsed)
{
	struct pguard_report_cost cost;

	pguard_report_cost_begin(&cost);
	report_late(thread, word, regs, elapsed);
	pguard_report_cost_end(&cost, thread->image->target);
}

/**
 * pguard_late_unit_sample() - keep a stack of a unit that stays late, for its next record
 * @thread: its thread, referenced by the watchdog, with its lateness
 * @word: pguard_thread.unit, as it was seen, LATE
 *
 * Context: may sleep.
 */
void pguard_late_unit_sample(struct pguard_thread *thread, u64 word)
{
	struct pguard_report_cost cost;
	struct pguard_stack *stack;

	pguard_report_cost_begin(&cost);
	stack = pguard_late_unit_stack(thread, word);
	if (stack)
		pguard_stack_history_add(thread, word, stack);
	pguard_report_cost_end(&cost, thread->image->target);
}

static void report_ended(struct pguard_thread *thread, u64 word, u32 kind, u32 found_by,
			 const struct pguard_account *account)
{
	struct pguard_alert_record *record =
		pguard_late_unit_record(thread, account, word, kind, found_by, GFP_NOWAIT);

	if (!record) {
		pguard_stack_history_drop(thread);
		return;
	}
	record_add(thread, word, record);
	pguard_alert_record_put(record);
}

static u32 found_by(u64 word)
{
	if (!(word & PGUARD_PHASE_LATE))
		return PERFGUARD_FOUND_BY_END;
	return word & PGUARD_PHASE_GUARD ? PERFGUARD_FOUND_BY_GUARD : PERFGUARD_FOUND_BY_OVERDUE;
}

/**
 * pguard_late_unit_report_end() - a late unit has ended
 * @thread: of current
 * @word: what state->unit was
 * @account: its times
 *
 * One that was not reported while it ran may be held back, which is counted.
 *
 * Context: current, preemptible or not.
 */
void pguard_late_unit_report_end(struct pguard_thread *thread, u64 word,
				 const struct pguard_account *account)
{
	if (word & PGUARD_PHASE_LATE || may_report(thread->image, false))
		report_ended(thread, word, PERFGUARD_RECORD_KIND_ENDED, found_by(word), account);
	else
		atomic64_inc(&thread->image->target->suppressed);
}

/**
 * pguard_late_unit_report_novel() - a unit has ended that fits no type
 * @thread: of current
 * @word: what state->unit was
 * @account: its times
 *
 * Context: current, preemptible or not.
 * Return: true if it was reported; a few each second are.
 */
bool pguard_late_unit_report_novel(struct pguard_thread *thread, u64 word,
				   const struct pguard_account *account)
{
	if (!pguard_rate_limit_take(&thread->image->tenant->novel_limit))
		return false;
	report_ended(thread, word, PERFGUARD_RECORD_KIND_NOVEL, 0, account);
	return true;
}
