// SPDX-License-Identifier: GPL-2.0

#include "profile/verdict-cache.h"

#include <linux/log2.h>
#include <linux/minmax.h>

/**
 * pguard_memo_next_size() - how many verdicts a loop's next memo has room for
 * @memo: the one it has; NULL for the first
 * @nr_contexts: of the loop
 *
 * Return: their number; 0 if there is to be no larger one.
 */
u32 pguard_memo_next_size(const struct pguard_memo *memo, u32 nr_contexts)
{
	u32 most = clamp_t(u32, roundup_pow_of_two(nr_contexts + 1) * PGUARD_MEMO_PER_CONTEXT,
			   PGUARD_MEMO_LEAST, PGUARD_MEMO_MOST);

	if (!memo)
		return PGUARD_MEMO_LEAST;
	return memo->max_known < most ? min_t(u32, memo->max_known * PGUARD_MEMO_GROWTH, most) : 0;
}

/* Places where a search may begin. */
static u32 nr_begins(u32 max_known)
{
	return PGUARD_MEMO_EDGES * roundup_pow_of_two(max_known);
}

/* Those that the last ones may step to are behind, and one more stays free. */
static u32 nr_places(u32 max_known)
{
	return nr_begins(max_known) + PGUARD_MEMO_STEPS;
}

static_assert(sizeof(struct pguard_known) == PGUARD_MEMO_ALIGN);

/* Bytes of a memo. */
size_t pguard_memo_bytes(u32 max_known)
{
	return sizeof(struct pguard_memo) + max_known * sizeof(struct pguard_known) +
	       nr_places(max_known) * sizeof(struct pguard_edge);
}

/**
 * pguard_memo_init() - a memo that knows nothing
 * @memo: zeroed, of pguard_memo_bytes(), at a multiple of PGUARD_MEMO_ALIGN
 * @max_known: of pguard_memo_next_size()
 *
 * The caller makes the first verdict.
 */
void pguard_memo_init(struct pguard_memo *memo, u32 max_known)
{
	u32 i;

	memo->max_known = max_known;
	memo->nr_known = 1;
	memo->edges = (void *)&memo->known[max_known];
	memo->shift = 64 - ilog2(nr_begins(max_known));
	spin_lock_init(&memo->lock);
	for (i = 0; i < nr_places(max_known); i++)
		memo->edges[i].key = INFER_NO_KEY;
}

/* One number for each context, without a pattern: Steele's and others' SplitMix. */
static u64 number_of(u32 context)
{
	u64 number = (context + 1) * INFER_GOLDEN;

	number = (number ^ number >> 30) * 0xbf58476d1ce4e5b9ull;
	number = (number ^ number >> 27) * 0x94d049bb133111ebull;
	return number ^ number >> 31;
}

/**
 * pguard_memo_has_met() - did units with a verdict meet a context?
 * @known: the verdict
 * @context: index
 *
 * Context: any.
 * Return: whether they did.
 */
bool pguard_memo_has_met(const struct pguard_known *known, u32 context)
{
	for (; known->before; known = known->before)
		if (known->context == context)
			return true;
	return false;
}

/* The place for an edge, NULL if there is none. */
static struct pguard_edge *find_place(const struct pguard_memo *memo, u64 key)
{
	struct pguard_edge *edge = &memo->edges[pguard_memo_place(memo, key)];
	u32 i;

	for (i = 0; i < PGUARD_MEMO_STEPS; i++)
		if (edge[i].key == INFER_NO_KEY || edge[i].key == key)
			return &edge[i];
	return NULL;
}

/* The number of what is known about a set, or of none. */
static u32 find_set(const struct pguard_memo *memo, u64 set)
{
	u32 i;

	for (i = 0; i < memo->nr_known; i++)
		if (memo->known[i].set == set)
			break;
	return i;
}

static void add_known(struct pguard_memo *memo, const struct pguard_known *before, u32 context,
		      const struct pguard_known *known)
{
	struct pguard_known *ret = &memo->known[memo->nr_known];

	*ret = *known;
	ret->verdict.edges = (u64)memo->nr_known << PGUARD_MEMO_SHIFT;
	ret->before = before;
	ret->set = before->set + number_of(context);
	ret->context = context;
	WRITE_ONCE(memo->nr_known, memo->nr_known + 1);
}

/* Where a new context leads to; max_known if there is no room for that. */
static u32 next(struct pguard_memo *memo, const struct pguard_known *from, u32 context,
		const struct pguard_known *known)
{
	u32 to = find_set(memo, from->set + number_of(context));

	if (to == memo->nr_known && to < memo->max_known)
		add_known(memo, from, context, known);
	return to;
}

static const struct pguard_edge *add(struct pguard_memo *memo, const struct pguard_verdict *verdict,
				     const struct infer_slot *slot, u32 seat,
				     const struct pguard_known *known)
{
	const struct pguard_known *from = pguard_memo_known(verdict);
	u64 key = verdict->edges + slot->key;
	struct pguard_edge *edge = find_place(memo, key);
	u32 to;

	/* Another thread may have come before. */
	if (!edge || edge->key == key)
		return edge;
	to = known ? next(memo, from, slot->context, known) : from - memo->known;
	if (to == memo->max_known)
		return NULL;
	edge->to = (const char *)&memo->known[to].verdict - (const char *)memo;
	edge->seat = seat;
	/* Pairs with pguard_memo_find(). */
	smp_store_release(&edge->key, key);
	return edge;
}

/**
 * pguard_memo_add() - keep what a hit means after a verdict
 * @memo: of the unit
 * @from: the verdict, in the memo
 * @slot: of the context that is hit
 * @seat: its seat
 * @known: what follows, but for its place and its set; NULL if the context was
 *	met before
 *
 * Two sets of contexts are taken for equal if the sums of their numbers of 64
 * bits are.
 *
 * Context: any but interrupts.
 * Return: what it means; NULL if the memo is full, or another thread adds to it.
 */
const struct pguard_edge *pguard_memo_add(struct pguard_memo *memo,
					  const struct pguard_verdict *from,
					  const struct infer_slot *slot, u32 seat,
					  const struct pguard_known *known)
{
	const struct pguard_edge *edge;

	if (READ_ONCE(memo->is_full) || !spin_trylock(&memo->lock))
		return NULL;
	edge = add(memo, from, slot, seat, known);
	if (!edge)
		WRITE_ONCE(memo->is_full, true);
	spin_unlock(&memo->lock);
	return edge;
}
