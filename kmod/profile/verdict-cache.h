/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What was once found out about a unit from the contexts it met, kept for the
 * units that meet the same.
 *
 * All that is inferred of a unit depends on which contexts it met, and on
 * nothing else.  So each set of contexts that occurs has one verdict, and a hit
 * leads from a verdict to the next, or back to the same one if the context was
 * met: an automaton, whose states and transitions are made when units come to them
 * for the first time, as those of lazily made automata of regular expressions.
 * A hit then costs one look-up, however many candidates its context has.
 *
 * What is in a verdict cache does not change, and goes with it.  Looking up takes no
 * lock.  Who adds holds the verdict cache's lock; a transition's key is written last.
 *
 * A verdict cache has a fixed size.  Once it is full, units that begin afterwards may be
 * given a larger one, which finds out again.
 */
#ifndef _KMOD_PROFILE_VERDICT_CACHE_H
#define _KMOD_PROFILE_VERDICT_CACHE_H

#include <linux/build_bug.h>
#include <linux/compiler.h>
#include <linux/spinlock.h>
#include <linux/types.h>

#include <linux/perfguard.h>
#include <perfguard/infer.h>

#include "profile/limits.h"

enum {
	PGUARD_VERDICT_CACHE_ALIGN = 64,
	PGUARD_VERDICT_CACHE_LEAST = 16, /* verdicts of a verdict cache: it is within a page then */
	PGUARD_VERDICT_CACHE_MOST = 1024,
	PGUARD_VERDICT_CACHE_PER_CONTEXT = 4, /* of the largest one of a loop */
	/* The same where guards jump, of which a unit meets ten times as many. */
	PGUARD_VERDICT_CACHE_JUMPS_MOST = 4096,
	PGUARD_VERDICT_CACHE_JUMPS_PER_CONTEXT = 32,
	PGUARD_VERDICT_CACHE_GROWTH = 4,      /* times as many has the next one */
	PGUARD_VERDICT_CACHE_TRANSITIONS = 4, /* for each verdict */
	PGUARD_VERDICT_CACHE_STEPS = 16,      /* that a transition may be from its place */
	PGUARD_VERDICT_CACHE_SHIFT = 48,      /* of a verdict's number in a transition's key */
};

/* Below it is the context's infer_key(), of a depth up to INFER_MAX_DEPTH. */
static_assert(PERFGUARD_MAX_GUARDS <= 1 << (PGUARD_VERDICT_CACHE_SHIFT - 32));
static_assert(PGUARD_VERDICT_CACHE_JUMPS_MOST <= 1 << (63 - PGUARD_VERDICT_CACHE_SHIFT));

/*
 * Of the keys.  Verdicts, sites and depths come in steps, and mostly chains of them in
 * equal ones; found by trial among random numbers as one by which few of those share a
 * place.  (The golden ratio's low halves are near a half: every second site comes to lie
 * next to its like.)
 */
#define PGUARD_VERDICT_CACHE_MULTIPLIER 0xca92184b93473c69ull

/* Of a verdict that is in no verdict cache: no transition leads from it. */
#define PGUARD_VERDICT_CACHE_NOWHERE (1ull << 63)

/**
 * struct pguard_verdict - what the contexts that a unit met say about it
 * @transitions: what the keys of the transitions from it have above their contexts'
 * @soon: until it has run for so many ticks of pguard_clock(), it is not late, wherever
 *	its time went; 0 without @early, except for the loop's lost one
 * @within: if it ends in fewer ticks, and never left its CPU, it is in time and fits its
 *	type; some seconds at most; 0 if it does not fit whole, without @final, and by
 *	the paper's rule
 * @type: if it ends now, index in the profile; means nothing without @final
 * @early: type of the loop while it runs, or INFER_NO_TYPE; others read it while
 *	the thread changes a verdict that is in no verdict cache: READ_ONCE
 * @final: the same if it ends now
 * @fit: enum infer_fit, if it ends now
 */
struct pguard_verdict {
	u64 transitions;
	u64 soon;
	u32 within;
	u32 type;
	u16 early;
	u16 final;
	u8 fit;
};

/**
 * struct pguard_cached_verdict - a verdict of a verdict cache, and what is seldom asked
 * @verdict: about units that met its set of contexts
 * @before: without one of its contexts: where it was come to from first; NULL
 *	if it has none
 * @context: that one
 * @set: sum of numbers for the contexts, by which equal sets are found
 * @limits: what it may take, whatever it turns out to be of all that it may be
 * @margin_early: infer_margin(), 0 by the paper's rule
 * @margin_final: the same
 */
struct pguard_cached_verdict {
	struct pguard_verdict verdict;
	const struct pguard_cached_verdict *before;
	u64 set;
	struct pguard_limits limits;
	u32 context;
	u16 margin_early;
	u16 margin_final;
};

static_assert(INFER_MAX_SCORE <= 0xffff);
/* No verdict is in two cache lines. */
static_assert(sizeof(struct pguard_verdict) == 32 &&
	      sizeof(struct pguard_cached_verdict) % sizeof(struct pguard_verdict) == 0);

/**
 * struct pguard_transition - what a hit means
 * @key: of the verdict before and the context; INFER_NO_KEY if there is none
 * @to: where the verdict is, bytes from the verdict cache; the same as before if the context
 *	was met
 * @hit_slot: of the context, see inference.c
 */
struct pguard_transition {
	u64 key;
	u32 to;
	u32 hit_slot;
};

/**
 * struct pguard_verdict_cache - of an event loop
 * @transitions: hash table
 * @shift: of a hashed key
 * @sets: hash table of the verdicts by their sets: a verdict's number and one, 0 for none
 * @sets_shift: of a set
 * @nr_known: how many verdicts are there; @lock
 * @max_known: how many there is room for
 * @is_full: nothing is added any more; READ_ONCE
 * @has_asked: somebody has seen that it wants more; the same
 * @lock: innermost; threads only try to take it
 * @older: what was crowded before, and goes with it
 * @known: verdicts; the first one is of units that met nothing
 */
struct pguard_verdict_cache {
	struct pguard_transition *transitions;
	u16 *sets;
	u32 shift;
	u32 sets_shift;
	u32 nr_known;
	u32 max_known;
	bool is_full;
	bool has_asked;
	spinlock_t lock;
	struct pguard_verdict_cache *older;
	struct pguard_cached_verdict known[] __aligned(PGUARD_VERDICT_CACHE_ALIGN);
};

u32 pguard_verdict_cache_next_size(const struct pguard_verdict_cache *cache, u32 nr_contexts,
				   bool guards_jump);
size_t pguard_verdict_cache_bytes(u32 max_known);
void pguard_verdict_cache_init(struct pguard_verdict_cache *cache, u32 max_known);
bool pguard_verdict_cache_has_met(const struct pguard_cached_verdict *known, u32 context);
const struct pguard_transition *pguard_verdict_cache_add(struct pguard_verdict_cache *cache,
							 const struct pguard_verdict *from,
							 const struct infer_slot *slot,
							 u32 hit_slot,
							 const struct pguard_cached_verdict *known);

/* Of units that met nothing yet. */
static __always_inline const struct pguard_verdict *
pguard_verdict_cache_begin(const struct pguard_verdict_cache *cache)
{
	return &cache->known->verdict;
}

/* Returns true if a larger one should be at hand.  Context: any. */
static inline bool pguard_verdict_cache_wants_more(const struct pguard_verdict_cache *cache)
{
	return READ_ONCE(cache->is_full) || READ_ONCE(cache->nr_known) > cache->max_known / 4 * 3;
}

/* The same, reported once.  Context: any. */
static inline bool pguard_verdict_cache_asks(struct pguard_verdict_cache *cache)
{
	if (!pguard_verdict_cache_wants_more(cache) || READ_ONCE(cache->has_asked))
		return false;
	WRITE_ONCE(cache->has_asked, true);
	return true;
}

/* Where the search for a transition begins. */
static __always_inline u64 pguard_transitions_place(u32 shift, u64 key)
{
	return key * PGUARD_VERDICT_CACHE_MULTIPLIER >> shift;
}

/* Where a transition leads to. */
static __always_inline const struct pguard_verdict *
pguard_verdict_cache_at(const struct pguard_verdict_cache *cache,
			const struct pguard_transition *transition)
{
	return (const struct pguard_verdict *)((const char *)cache + transition->to);
}

/* pguard_verdict_cache_find() among the transitions of a cache, with its shift. */
static __always_inline bool pguard_transitions_find(const struct pguard_transition *transitions,
						    u32 shift, const struct pguard_verdict *from,
						    u64 key,
						    const struct pguard_transition **transition)
{
	const struct pguard_transition *at;
	u64 found;

	key += from->transitions;
	at = &transitions[pguard_transitions_place(shift, key)];
	/* The last one of all is never taken. */
	for (;; at++) {
		/* Pairs with who adds: what it means is there. */
		found = smp_load_acquire(&at->key);
		if (likely(found == key))
			break;
		if (found == INFER_NO_KEY)
			return false;
	}
	*transition = at;
	return true;
}

/**
 * pguard_verdict_cache_find() - a unit with a verdict hits a guard
 * @cache: of the unit
 * @from: the verdict, in the verdict cache or nowhere
 * @key: infer_key() of the hit, of a guard of the profile; if a program made it, and the sum is
 *	INFER_NO_KEY, that leads to the begin
 * @transition: set to what that means
 *
 * Context: any.
 * Return: false if it is not known.
 */
static __always_inline bool pguard_verdict_cache_find(const struct pguard_verdict_cache *cache,
						      const struct pguard_verdict *from, u64 key,
						      const struct pguard_transition **transition)
{
	return pguard_transitions_find(cache->transitions, cache->shift, from, key, transition);
}

/* What a verdict cache knows of a verdict that is in it. */
static inline const struct pguard_cached_verdict *
pguard_verdict_cache_verdict(const struct pguard_verdict *verdict)
{
	return container_of(verdict, const struct pguard_cached_verdict, verdict);
}

#endif /* _KMOD_PROFILE_VERDICT_CACHE_H */
