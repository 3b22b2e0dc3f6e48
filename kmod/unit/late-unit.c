// SPDX-License-Identifier: GPL-2.0

#include "unit/late-unit.h"

#include "profile/inference.h"
#include "report/alert-record.h"
#include "report/rate-limit.h"
#include "report/stack.h"
#include "unit/unit.h"

/**
 * pguard_alert_novel() - tell one of the units that fit no type, now and then
 * @state: of current
 * @word: its unit, as it was when it ended
 * @account: of this unit
 *
 * Context: current; does not sleep.
 * Return: whether this was one.
 */
bool pguard_alert_novel(struct pguard_task *state, u64 word, const struct pguard_account *account)
{
	struct pguard_record *record;

	if (!__ratelimit(&state->image->target->novel_limit))
		return false;
	record = pguard_unit_record(state, word >> PGUARD_PHASE_SHIFT,
				    PERFGUARD_RECORD_KIND_NOVEL, 0, GFP_NOWAIT);
	if (!record)
		return true;
	record->account = *account;
	pguard_ring_add(&pguard_alerts, record);
	return true;
}

static void tell_late(struct pguard_task *state, u64 word, const struct pt_regs *regs,
		      u64 elapsed)
{
	struct pguard_record *record;

	record = pguard_unit_record(state, word >> PGUARD_PHASE_SHIFT,
				    PERFGUARD_RECORD_KIND_LATE, PERFGUARD_FOUND_BY_GUARD,
				    GFP_KERNEL);
	if (!record)
		return;
	record->account.elapsed = elapsed;
	if (word & PGUARD_PHASE_MARKED)
		pguard_account_current(&state->mark, elapsed, &record->account);
	record->stack = pguard_stack_self(state, regs);
	spin_lock(&state->lock);
	pguard_ring_add(&pguard_alerts, record);
	spin_unlock(&state->lock);
}

/**
 * pguard_alert_late() - a guard found that the unit is late
 * @state: of current, in a unit that was not told yet
 * @regs: current's user registers
 * @elapsed: its time, ns
 *
 * If the watch comes first, it tells it.
 *
 * Context: current, may sleep.
 */
void pguard_alert_late(struct pguard_task *state, const struct pt_regs *regs, u64 elapsed)
{
	u64 word = READ_ONCE(state->unit);
	struct pguard_telling telling;

	/* What is held back is counted at the unit's end. */
	if (!pguard_telling_may(state->image->target)) {
		pguard_task_inference(state)->is_quiet = true;
		return;
	}
	if (cmpxchg(&state->unit, word,
		    word | PGUARD_PHASE_LATE | PGUARD_PHASE_GUARD) != word)
		return;
	pguard_telling_begin(&telling);
	tell_late(state, word, regs, elapsed);
	pguard_telling_end(&telling, state->image->target);
	/* It is in the handler's time, too, which is not the unit's. */
	pguard_unit_count_checks(pguard_task_inference(state)->profile,
				 telling.begun - pguard_clock());
}
