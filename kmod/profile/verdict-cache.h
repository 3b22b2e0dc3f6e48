/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What was once found out about a unit from the contexts it met, kept for the
 * units that meet the same.
 *
 * All that is inferred of a unit depends on which contexts it met, and on
 * nothing else.  So each set of contexts that occurs has one verdict, and a hit
 * leads from a verdict to the next, or back to the same one if the context was
 * met: an automaton, whose states and edges are made when units come to them
 * for the first time, as those of lazily made automata of regular expressions.
 * A hit then costs one look-up, however many candidates its context has.
 *
 * What is in a memo does not change, and goes with it.  Looking up takes no
 * lock.  Who adds holds the memo's lock; an edge's key is written last.
 *
 * A memo has a fixed size.  Once it is full, units that begin afterwards may be
 * given a larger one, which finds out anew.
 */
#ifndef _KMOD_PROFILE_VERDICT_CACHE_H
#define _KMOD_PROFILE_VERDICT_CACHE_H

#include <linux/build_bug.h>
#include <linux/compiler.h>
#include <linux/spinlock.h>
#include <linux/types.h>

#include <linux/perfguard.h>
#include <perfguard/infer.h>

enum {
	PGUARD_MEMO_ALIGN = 64,		/* so that a verdict is in one cache line */
	PGUARD_MEMO_LEAST = 24,		/* verdicts of a memo: it is a page then */
	PGUARD_MEMO_MOST = 1024,
	PGUARD_MEMO_PER_CONTEXT = 4,	/* of the largest one of a loop */
	PGUARD_MEMO_GROWTH = 4,		/* times as many has the next one */
	PGUARD_MEMO_EDGES = 4,		/* for each verdict */
	PGUARD_MEMO_STEPS = 16,		/* that an edge may be from its place */
	PGUARD_MEMO_SHIFT = 48,		/* of a verdict's number in an edge's key */
};

/* Below it is the context's infer_key(), of a depth up to INFER_MAX_DEPTH. */
static_assert(PERFGUARD_MAX_GUARDS <= 1 << (PGUARD_MEMO_SHIFT - 32));
static_assert(PGUARD_MEMO_MOST <= 1 << (63 - PGUARD_MEMO_SHIFT));

/*
 * Of the keys.  Verdicts, sites and depths come in steps, and mostly chains of them in
 * equal ones; found by trial among random numbers as one by which few of those share a
 * place.  (The golden ratio's low halves are near a half: every second site comes to lie
 * beside its like.)
 */
#define PGUARD_MEMO_MULTIPLIER 0xca92184b93473c69ull

/* Of a verdict that is in no memo: no edge leads from it. */
#define PGUARD_MEMO_NOWHERE (1ull << 63)

/**
 * struct pguard_verdict - what the contexts that a unit met say about it
 * @edges: what the keys of the edges from it have above their contexts'
 * @soon: until it has run for so many ticks of pguard_clock(), it is not late;
 *	0 without @early, but for the loop's lost one
 * @within: if it ends in fewer ticks it is in time and fits its type; some
 *	seconds at most; 0 if it does not fit whole, without @final, and by the
 *	paper's rule
 * @type: if it ends now, index in the profile; means nothing without @final
 * @early: type of the loop while it runs, or INFER_NO_TYPE; others read it while
 *	the thread changes a verdict that is in no memo: READ_ONCE
 * @final: the same if it ends now
 * @fit: enum infer_fit, if it ends now
 */
struct pguard_verdict {
	u64 edges;
	u64 soon;
	u32 within;
	u32 type;
	u16 early;
	u16 final;
	u8 fit;
};

/**
 * struct pguard_known - a verdict of a memo, and what is seldom asked
 * @verdict: about units that met its set of contexts
 * @before: without one of its contexts: where it was come to from first; NULL
 *	if it has none
 * @context: that one
 * @set: sum of numbers for the contexts, by which equal sets are told
 * @limit_ns: infer_limit()
 * @margin_early: infer_margin(), 0 by the paper's rule
 * @margin_final: the same
 */
struct pguard_known {
	struct pguard_verdict verdict;
	const struct pguard_known *before;
	u64 set;
	u64 limit_ns;
	u32 context;
	u16 margin_early;
	u16 margin_final;
};

static_assert(INFER_MAX_SCORE <= 0xffff);

/**
 * struct pguard_edge - what a hit means
 * @key: of the verdict before and the context; INFER_NO_KEY if there is none
 * @to: where the verdict is, bytes from the memo; the same as before if the context
 *	was met
 * @seat: of the context, see seat.h
 */
struct pguard_edge {
	u64 key;
	u32 to;
	u32 seat;
};

/**
 * struct pguard_memo - of an event loop
 * @edges: hash table
 * @shift: of a hashed key
 * @nr_known: how many verdicts are there; @lock
 * @max_known: how many there is room for
 * @is_full: nothing is added any more; READ_ONCE
 * @has_asked: somebody has seen that it wants more; the same
 * @lock: innermost; threads only try to take it
 * @older: what was crowded before, and goes with it
 * @known: verdicts; the first one is of units that met nothing
 */
struct pguard_memo {
	struct pguard_edge *edges;
	u32 shift;
	u32 nr_known;
	u32 max_known;
	bool is_full;
	bool has_asked;
	spinlock_t lock;
	struct pguard_memo *older;
	struct pguard_known known[] __aligned(PGUARD_MEMO_ALIGN);
};

u32 pguard_memo_next_size(const struct pguard_memo *memo, u32 nr_contexts);
size_t pguard_memo_bytes(u32 max_known);
void pguard_memo_init(struct pguard_memo *memo, u32 max_known);
bool pguard_memo_has_met(const struct pguard_known *known, u32 context);
const struct pguard_edge *pguard_memo_add(struct pguard_memo *memo,
					  const struct pguard_verdict *from,
					  const struct infer_slot *slot, u32 seat,
					  const struct pguard_known *known);

/* Of units that met nothing yet. */
static __always_inline const struct pguard_verdict *
pguard_memo_begin(const struct pguard_memo *memo)
{
	return &memo->known->verdict;
}

/* Should a larger one be at hand?  Context: any. */
static inline bool pguard_memo_wants_more(const struct pguard_memo *memo)
{
	return READ_ONCE(memo->is_full) ||
	       READ_ONCE(memo->nr_known) > memo->max_known / 4 * 3;
}

/* The same, told once.  Context: any. */
static inline bool pguard_memo_asks(struct pguard_memo *memo)
{
	if (!pguard_memo_wants_more(memo) || READ_ONCE(memo->has_asked))
		return false;
	WRITE_ONCE(memo->has_asked, true);
	return true;
}

/* Where an edge leads to. */
static __always_inline const struct pguard_verdict *
pguard_memo_at(const struct pguard_memo *memo, const struct pguard_edge *edge)
{
	return (const struct pguard_verdict *)((const char *)memo + edge->to);
}

/* Where the search for an edge begins. */
static __always_inline u64 pguard_memo_place(const struct pguard_memo *memo, u64 key)
{
	return key * PGUARD_MEMO_MULTIPLIER >> memo->shift;
}

/**
 * pguard_memo_find() - a unit with a verdict hits a guard
 * @memo: of the unit
 * @from: the verdict, in the memo or nowhere
 * @key: infer_key() of the hit, of a guard of the profile
 * @edge: set to what that means
 *
 * Context: any.
 * Return: false if it is not known.
 */
static __always_inline bool pguard_memo_find(const struct pguard_memo *memo,
					     const struct pguard_verdict *from, u64 key,
					     const struct pguard_edge **edge)
{
	const struct pguard_edge *at;
	u64 found;

	key += from->edges;
	at = &memo->edges[pguard_memo_place(memo, key)];
	/* The last one of all is never taken. */
	for (; (found = smp_load_acquire(&at->key)) != INFER_NO_KEY; at++) {
		if (likely(found == key)) {
			*edge = at;
			return true;
		}
	}
	return false;
}

/* What a memo knows of a verdict that is in it. */
static inline const struct pguard_known *pguard_memo_known(const struct pguard_verdict *verdict)
{
	return container_of(verdict, const struct pguard_known, verdict);
}

#endif /* _KMOD_PROFILE_VERDICT_CACHE_H */
