// SPDX-License-Identifier: GPL-2.0

#include "memo.h"

#include <linux/log2.h>
#include <linux/minmax.h>

static u32 max_known(u32 nr_contexts)
{
	return clamp_t(u32, roundup_pow_of_two(nr_contexts + 1) * PGUARD_MEMO_PER_CONTEXT,
		       PGUARD_MEMO_LEAST, PGUARD_MEMO_MOST);
}

/* Half of the places stay free, and those that the last ones may step to. */
static u32 nr_places(u32 nr_known)
{
	return 2 * nr_known + PGUARD_MEMO_STEPS;
}

/* Bytes of a memo for a loop with so many contexts, a multiple of 8. */
size_t pguard_memo_room(u32 nr_contexts)
{
	u32 nr = max_known(nr_contexts);

	return nr * sizeof(struct pguard_known) + nr_places(nr) * sizeof(struct pguard_edge);
}

/**
 * pguard_memo_init() - a memo that knows nothing
 * @memo: of a loop
 * @nr_contexts: it has
 * @room: of pguard_memo_room()
 *
 * The caller makes the first verdict.
 */
void pguard_memo_init(struct pguard_memo *memo, u32 nr_contexts, void *room)
{
	u32 i;

	memo->max_known = max_known(nr_contexts);
	memo->known = room;
	memo->nr_known = 1;
	memo->edges = (void *)&memo->known[memo->max_known];
	memo->nr_edges = 2 * memo->max_known;
	memo->shift = 64 - ilog2(memo->nr_edges);
	memo->is_full = false;
	spin_lock_init(&memo->lock);
	for (i = 0; i < nr_places(memo->max_known); i++)
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

static struct pguard_known *find_set(const struct pguard_memo *memo, u64 set)
{
	u32 i;

	for (i = 0; i < memo->nr_known; i++)
		if (memo->known[i].set == set)
			return &memo->known[i];
	return NULL;
}

/* The free place for an edge, or NULL. */
static struct pguard_edge *find_place(const struct pguard_memo *memo, u64 key)
{
	struct pguard_edge *edge = &memo->edges[key * INFER_GOLDEN >> memo->shift];
	u32 i;

	for (i = 0; i < PGUARD_MEMO_STEPS; i++)
		if (edge[i].key == INFER_NO_KEY || edge[i].key == key)
			return &edge[i];
	return NULL;
}

static struct pguard_known *add_known(struct pguard_memo *memo, const struct pguard_known *known,
				      u64 set)
{
	struct pguard_known *ret = &memo->known[memo->nr_known];

	if (memo->nr_known == memo->max_known)
		return NULL;
	*ret = *known;
	ret->verdict.edges = (u64)memo->nr_known << PGUARD_MEMO_BITS;
	ret->set = set;
	memo->nr_known++;
	return ret;
}

static const struct pguard_verdict *add(struct pguard_memo *memo,
					const struct pguard_verdict *from, u32 context,
					const struct pguard_known *known)
{
	u64 set = container_of(from, const struct pguard_known, verdict)->set +
		  number_of(context);
	u64 key = from->edges + context;
	struct pguard_edge *edge = find_place(memo, key);
	struct pguard_known *to;

	if (!edge)
		return NULL;
	to = find_set(memo, set) ?: add_known(memo, known, set);
	if (!to)
		return NULL;
	edge->to = &to->verdict;
	/* Pairs with pguard_memo_next(). */
	smp_store_release(&edge->key, key);
	return edge->to;
}

/**
 * pguard_memo_add() - keep what follows from a verdict by a context
 * @memo: of the loop
 * @from: the verdict, in the memo
 * @context: index, new to the unit
 * @known: what follows, but for its place and its set
 *
 * Two sets of contexts are taken for equal if the sums of their numbers of 64
 * bits are.
 *
 * Context: any but interrupts.
 * Return: the next verdict, in the memo; NULL if it is full, or another thread
 * adds to it.
 */
const struct pguard_verdict *pguard_memo_add(struct pguard_memo *memo,
					     const struct pguard_verdict *from, u32 context,
					     const struct pguard_known *known)
{
	const struct pguard_verdict *to;

	if (READ_ONCE(memo->is_full) || !spin_trylock(&memo->lock))
		return NULL;
	to = add(memo, from, context, known);
	if (!to)
		WRITE_ONCE(memo->is_full, true);
	spin_unlock(&memo->lock);
	return to;
}
