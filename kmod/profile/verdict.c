// SPDX-License-Identifier: GPL-2.0

#include "profile/verdict.h"

#include "compat.h"
#include "lib/clock.h"

#include <linux/mm.h>
#include <linux/slab.h>

/* What takes no more ticks is not too late for a type of the loop. */
static u64 ticks_of(const struct pguard_course *course, u16 type)
{
	u64 threshold = course->table.types[type].threshold_ns;

	return threshold ? pguard_clock_ticks(threshold) : U64_MAX;
}

/**
 * pguard_verdict_within() - in how many ticks a unit of a type is in time
 * @course: its loop
 * @type: of the loop
 *
 * Return: some seconds' worth at most.
 */
u32 pguard_verdict_within(const struct pguard_course *course, u16 type)
{
	return min_t(u64, ticks_of(course, type), U32_MAX);
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
		.fit = infer_fit(table, state),
	};
	if (!state->contexts)
		verdict->soon = ticks_of_any(course);
	else if (verdict->early != INFER_NO_TYPE)
		verdict->soon = ticks_of(course, verdict->early);
	if (verdict->final == INFER_NO_TYPE)
		return;
	verdict->type = course->first_type + verdict->final;
	/* By the paper's rule there is no usual way. */
	if (verdict->fit == INFER_FIT_WHOLE && !table->paper)
		verdict->within = pguard_verdict_within(course, verdict->final);
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

/* About units that met nothing yet. */
static int make_begin(struct pguard_known *known, const struct pguard_course *course)
{
	struct infer_state *state = kvzalloc(infer_state_size(&course->table),
					     GFP_KERNEL | __GFP_NOWARN);

	if (!state)
		return -ENOMEM;
	infer_begin(&course->table, state);
	pguard_verdict_make_known(known, course, state);
	kvfree(state);
	return 0;
}

/* It may be late when it is so for all types, and then it is of none. */
static void make_lost(struct pguard_course *course)
{
	course->lost.limit_ns = course->memo->known->limit_ns;
	course->lost.verdict = (struct pguard_verdict){
		.edges = PGUARD_MEMO_NOWHERE,
		.soon = course->memo->known->verdict.soon,
		.early = INFER_NO_TYPE,
		.final = INFER_NO_TYPE,
		.fit = INFER_FIT_WHOLE,
	};
}

/**
 * pguard_verdict_grow() - give a loop a larger memo, if its own is crowded
 * @course: with its table
 *
 * Units that run keep to the one in which they began.
 *
 * Context: may sleep; the profile is not armed yet, or its target's turn.
 * Return: bytes of it; 0 if there is no larger one, or no memory for it.
 */
size_t pguard_verdict_grow(struct pguard_course *course)
{
	u32 size = pguard_memo_next_size(course->memo, course->table.nr_contexts);
	struct pguard_memo *memo;

	if (!size)
		return 0;
	memo = pguard_profile_room(pguard_memo_bytes(size));
	if (!memo)
		return 0;
	pguard_memo_init(memo, size);
	if (make_begin(memo->known, course)) {
		kvfree(memo);
		return 0;
	}
	memo->known->verdict.edges = 0;
	memo->older = course->memo;
	/* Pairs with pguard_inference_begin(), by what depends on it. */
	smp_store_release(&course->memo, memo);
	return pguard_memo_bytes(size);
}

/**
 * pguard_verdict_make_first() - give a loop its first memo
 * @course: with its table, and no memo
 *
 * Context: may sleep.
 * Return: bytes of it; 0 for want of memory.
 */
size_t pguard_verdict_make_first(struct pguard_course *course)
{
	size_t bytes = pguard_verdict_grow(course);

	if (bytes)
		make_lost(course);
	return bytes;
}
