// SPDX-License-Identifier: GPL-2.0

#include "verdict.h"

#include "clock.h"
#include "compat.h"

#include <linux/mm.h>
#include <linux/slab.h>

/* What takes no more ticks is not too late for a type of the loop. */
static u64 ticks_of(const struct pguard_course *course, u16 type)
{
	u64 threshold = course->table.types[type].threshold_ns;

	return threshold ? pguard_clock_ticks(threshold) : U64_MAX;
}

/* In how many ticks a unit of the loop is not late, of whatever type it is. */
static u64 ticks_of_any(const struct pguard_course *course)
{
	u64 ticks = 0;
	u32 i;

	for (i = 0; i < course->table.nr_types; i++)
		ticks = max(ticks, ticks_of(course, i));
	return ticks;
}

/**
 * pguard_verdict_make() - a verdict by the scores of a unit
 * @verdict: to be made; in no memo
 * @course: the loop
 * @state: of the unit
 *
 * Context: any; the thread itself.
 */
void pguard_verdict_make(struct pguard_verdict *verdict, const struct pguard_course *course,
			 const struct infer_state *state)
{
	const struct infer_table *table = &course->table;

	*verdict = (struct pguard_verdict){
		.edges = PGUARD_MEMO_NOWHERE,
		.early = infer_early(table, state),
		.final = infer_end(table, state),
		.fits = infer_fits(table, state),
	};
	if (!state->contexts)
		verdict->soon = ticks_of_any(course);
	else if (verdict->early != INFER_NO_TYPE)
		verdict->soon = ticks_of(course, verdict->early);
	if (verdict->final == INFER_NO_TYPE)
		return;
	verdict->type = course->first_type + verdict->final;
	/* By the paper's rule there is no usual way. */
	if (verdict->fits && !table->paper)
		verdict->within = min_t(u64, ticks_of(course, verdict->final), U32_MAX);
}

/* The same with what a memo keeps beside it. */
void pguard_verdict_make_known(struct pguard_known *known, const struct pguard_course *course,
			       const struct infer_state *state)
{
	const struct infer_table *table = &course->table;

	*known = (struct pguard_known){ .limit_ns = infer_limit(table, state) };
	if (!table->paper) {
		known->margin_early = infer_margin(table, state, 0);
		known->margin_final = infer_margin(table, state, 1);
	}
	pguard_verdict_make(&known->verdict, course, state);
}

/**
 * pguard_verdict_make_first() - the verdict about units that met nothing yet
 * @course: with its table, and with a memo that is empty
 *
 * Context: may sleep.
 * Return: 0, -ENOMEM.
 */
int pguard_verdict_make_first(struct pguard_course *course)
{
	struct infer_state *state = kvzalloc(infer_state_size(&course->table), GFP_KERNEL);

	if (!state)
		return -ENOMEM;
	infer_begin(&course->table, state);
	pguard_verdict_make_known(course->memo.known, course, state);
	course->memo.known->verdict.edges = 0;
	kvfree(state);
	return 0;
}
