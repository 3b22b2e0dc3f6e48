/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What was once found out about a unit from the contexts it met, kept for the
 * units that meet the same.
 *
 * All that is inferred of a unit depends on which contexts it met, and on
 * nothing else.  So each set of contexts that occurs has one verdict, and a
 * context that comes leads from a verdict to the next: an automaton, whose
 * states and edges are made when units come to them for the first time, as in
 * lazily made automata of regular expressions.  A hit then costs one look-up,
 * however many candidates its context has.
 *
 * What is in a memo does not change, and goes with it.  Looking up takes no
 * lock.  Who adds holds the memo's lock; an edge's key is written last.
 */
#ifndef _PGUARD_MEMO_H
#define _PGUARD_MEMO_H

#include <linux/build_bug.h>
#include <linux/compiler.h>
#include <linux/spinlock.h>
#include <linux/types.h>

#include <perfguard/infer.h>

enum {
	PGUARD_MEMO_LEAST = 32,		/* verdicts of a memo */
	PGUARD_MEMO_MOST = 1024,
	PGUARD_MEMO_PER_CONTEXT = 4,
	PGUARD_MEMO_STEPS = 8,		/* that an edge may be from its place */
	PGUARD_MEMO_BITS = 20,		/* of a context in an edge's key */
};

static_assert(INFER_MAX_CONTEXTS <= 1 << PGUARD_MEMO_BITS);

/* Of a verdict that is in no memo: no edge leads from it. */
#define PGUARD_MEMO_NOWHERE (1ull << 62)

/**
 * struct pguard_verdict - what the contexts that a unit met say about it
 * @edges: keys of the edges from it, less the context
 * @soon: until it has run for so many ticks of pguard_clock(), it is not late
 * @within: if it ends in fewer ticks it is in time and fits its type; of some
 *	seconds at most, 0 if it does not fit
 * @type: if it ends now, index in the profile; means nothing without @final
 * @early: type of the loop while it runs, or INFER_NO_TYPE
 * @final: the same if it ends now
 * @fits: if it ends now it is like those that training saw of its type
 */
struct pguard_verdict {
	u64 edges;
	u64 soon;
	u32 within;
	u32 type;
	u16 early;
	u16 final;
	bool fits;
};

/**
 * struct pguard_known - a verdict of a memo, and what is seldom asked
 * @verdict: the same as that of @set
 * @set: sum of numbers for the contexts, by which equal sets are told
 * @limit_ns: infer_limit()
 * @margin_early: infer_margin(), 0 by the paper's rule
 * @margin_final: the same
 */
struct pguard_known {
	struct pguard_verdict verdict;
	u64 set;
	u64 limit_ns;
	u32 margin_early;
	u32 margin_final;
};

/* From a verdict by a context to the next one. */
struct pguard_edge {
	u64 key;		/* INFER_NO_KEY if there is none */
	const struct pguard_verdict *to;
};

/**
 * struct pguard_memo - of an event loop
 * @edges: hash table
 * @shift: of a hashed key
 * @nr_edges: places, a power of two; behind them are those of the last ones' steps
 * @known: verdicts; the first one is of units that met nothing
 * @nr_known: how many are there; @lock
 * @max_known: how many there is room for
 * @is_full: nothing is added any more; READ_ONCE
 * @lock: innermost; threads only try to take it
 */
struct pguard_memo {
	struct pguard_edge *edges;
	u32 shift;
	u32 nr_edges;
	struct pguard_known *known;
	u32 nr_known;
	u32 max_known;
	bool is_full;
	spinlock_t lock;
};

size_t pguard_memo_room(u32 nr_contexts);
void pguard_memo_init(struct pguard_memo *memo, u32 nr_contexts, void *room);
const struct pguard_verdict *pguard_memo_add(struct pguard_memo *memo,
					     const struct pguard_verdict *from, u32 context,
					     const struct pguard_known *known);

/* Of units that met nothing yet. */
static __always_inline const struct pguard_verdict *pguard_memo_begin(const struct pguard_memo *memo)
{
	return &memo->known->verdict;
}

/**
 * pguard_memo_next() - a unit with a verdict meets a context for the first time
 * @memo: of the loop
 * @from: the verdict, in the memo or nowhere
 * @context: index
 *
 * Context: any.
 * Return: the next verdict, NULL if that is not known.
 */
static __always_inline const struct pguard_verdict *
pguard_memo_next(const struct pguard_memo *memo, const struct pguard_verdict *from, u32 context)
{
	u64 key = from->edges + context;
	const struct pguard_edge *edge = &memo->edges[key * INFER_GOLDEN >> memo->shift];
	u64 found;

	/* The last one of all is never taken. */
	while ((found = smp_load_acquire(&edge->key)) != key) {
		if (found == INFER_NO_KEY)
			return NULL;
		edge++;
	}
	return edge->to;
}

/* Is it in a memo?  Then it is a struct pguard_known's. */
static inline bool pguard_verdict_is_known(const struct pguard_verdict *verdict)
{
	return verdict->edges != PGUARD_MEMO_NOWHERE;
}

#endif /* _PGUARD_MEMO_H */
