// SPDX-License-Identifier: GPL-2.0

#include "profile/verdict-cache.h"

#include <linux/log2.h>
#include <linux/minmax.h>

/**
 * pguard_verdict_cache_next_size() - how many verdicts a loop's next verdict cache has room for
 * @cache: the one it has; NULL for the first
 * @nr_contexts: of the loop
 * @guards_jump: it is the largest one at once, as whoever finds out anew takes ten times as long
 *
 * Return: their number; 0 if there is to be no larger one.
 */
u32 pguard_verdict_cache_next_size(const struct pguard_verdict_cache *cache, u32 nr_contexts,
				   bool guards_jump)
{
	u32 per_context = guards_jump ? PGUARD_VERDICT_CACHE_JUMPS_PER_CONTEXT
				      : PGUARD_VERDICT_CACHE_PER_CONTEXT;
	u32 most = clamp_t(u32, roundup_pow_of_two(nr_contexts + 1) * per_context,
			   PGUARD_VERDICT_CACHE_LEAST,
			   guards_jump ? PGUARD_VERDICT_CACHE_JUMPS_MOST : PGUARD_VERDICT_CACHE_MOST);

	if (!cache)
		return guards_jump ? most : PGUARD_VERDICT_CACHE_LEAST;
	return cache->max_known < most
		       ? min_t(u32, cache->max_known * PGUARD_VERDICT_CACHE_GROWTH, most)
		       : 0;
}

/* Places where a search may begin. */
static u32 nr_begins(u32 max_known)
{
	return PGUARD_VERDICT_CACHE_TRANSITIONS * roundup_pow_of_two(max_known);
}

/* Those that the last ones may step to are behind, and one more stays free. */
static u32 nr_places(u32 max_known)
{
	return nr_begins(max_known) + PGUARD_VERDICT_CACHE_STEPS;
}

/* So many that every second one is free. */
static u32 nr_sets(u32 max_known)
{
	return 2 * roundup_pow_of_two(max_known);
}

/* Bytes of a verdict cache. */
size_t pguard_verdict_cache_bytes(u32 max_known)
{
	return sizeof(struct pguard_verdict_cache) +
	       max_known * sizeof(struct pguard_cached_verdict) +
	       nr_places(max_known) * sizeof(struct pguard_transition) +
	       nr_sets(max_known) * sizeof(u16);
}

/**
 * pguard_verdict_cache_init() - a verdict cache that knows nothing
 * @cache: zeroed, of pguard_verdict_cache_bytes(), at a multiple of PGUARD_VERDICT_CACHE_ALIGN
 * @max_known: of pguard_verdict_cache_next_size()
 *
 * The caller makes the first verdict.
 */
void pguard_verdict_cache_init(struct pguard_verdict_cache *cache, u32 max_known)
{
	u32 i;

	cache->max_known = max_known;
	cache->nr_known = 1;
	cache->transitions = (void *)&cache->known[max_known];
	cache->shift = 64 - ilog2(nr_begins(max_known));
	cache->sets = (void *)&cache->transitions[nr_places(max_known)];
	cache->sets_shift = 64 - ilog2(nr_sets(max_known));
	spin_lock_init(&cache->lock);
	/* A program may have noted what comes to no key: that leads to the begin. */
	for (i = 0; i < nr_places(max_known); i++)
		cache->transitions[i] = (struct pguard_transition){
			.key = INFER_NO_KEY,
			.to = offsetof(struct pguard_verdict_cache, known),
		};
}

/* One number for each context, without a pattern: Steele's and others' SplitMix. */
static u64 number_of(u32 context)
{
	u64 number = (context + 1) * INFER_GOLDEN;

	number = (number ^ number >> 30) * 0xbf58476d1ce4e5b9ull;
	number = (number ^ number >> 27) * 0x94d049bb133111ebull;
	return number ^ number >> 31;
}

/* Context: any.  Return: true if units with a verdict met the context of this index. */
bool pguard_verdict_cache_has_met(const struct pguard_cached_verdict *known, u32 context)
{
	for (; known->before; known = known->before)
		if (known->context == context)
			return true;
	return false;
}

/* The place for a transition, NULL if there is none. */
static struct pguard_transition *find_place(const struct pguard_verdict_cache *cache, u64 key)
{
	struct pguard_transition *transition =
		&cache->transitions[pguard_transitions_place(cache->shift, key)];
	u32 i;

	for (i = 0; i < PGUARD_VERDICT_CACHE_STEPS; i++)
		if (transition[i].key == INFER_NO_KEY || transition[i].key == key)
			return &transition[i];
	return NULL;
}

/* The place of a set: it has its verdict, or is free. */
static u16 *find_set(const struct pguard_verdict_cache *cache, u64 set)
{
	u32 last = nr_sets(cache->max_known) - 1, i = set >> cache->sets_shift;

	while (cache->sets[i] && cache->known[cache->sets[i] - 1].set != set)
		i = i == last ? 0 : i + 1;
	return &cache->sets[i];
}

/* Where a new context leads to; max_known if there is no room for that. */
static u32 next(struct pguard_verdict_cache *cache, const struct pguard_cached_verdict *from,
		u32 context, const struct pguard_cached_verdict *known)
{
	u64 set = from->set + number_of(context);
	u16 *place = find_set(cache, set);
	u32 to = *place ? *place - 1U : cache->nr_known;
	struct pguard_cached_verdict *ret = &cache->known[to];

	if (*place || to == cache->max_known)
		return to;
	*place = to + 1;
	*ret = *known;
	ret->verdict.transitions = (u64)to << PGUARD_VERDICT_CACHE_SHIFT;
	ret->before = from;
	ret->set = set;
	ret->context = context;
	WRITE_ONCE(cache->nr_known, to + 1);
	return to;
}

static const struct pguard_transition *add(struct pguard_verdict_cache *cache,
					   const struct pguard_verdict *verdict,
					   const struct infer_slot *slot, u32 hit_slot,
					   const struct pguard_cached_verdict *known)
{
	const struct pguard_cached_verdict *from = pguard_verdict_cache_verdict(verdict);
	u64 key = verdict->transitions + slot->key;
	struct pguard_transition *transition = find_place(cache, key);
	u32 to;

	/* Another thread may have come before. */
	if (!transition || transition->key == key)
		return transition;
	to = known ? next(cache, from, slot->context, known) : from - cache->known;
	if (to == cache->max_known)
		return NULL;
	transition->to = (const char *)&cache->known[to].verdict - (const char *)cache;
	transition->hit_slot = hit_slot;
	/* Pairs with pguard_verdict_cache_find(). */
	smp_store_release(&transition->key, key);
	return transition;
}

/**
 * pguard_verdict_cache_add() - keep what a hit means after a verdict
 * @cache: of the unit
 * @from: the verdict, in the verdict cache
 * @slot: of the context that is hit
 * @hit_slot: its hit slot
 * @known: what follows, except for its place and its set; NULL if the context was
 *	met before
 *
 * Two sets of contexts are taken for equal if the sums of their numbers of 64
 * bits are.
 *
 * Context: any but interrupts.
 * Return: what it means; NULL if the verdict cache is full, or another thread adds to it.
 */
const struct pguard_transition *pguard_verdict_cache_add(struct pguard_verdict_cache *cache,
							 const struct pguard_verdict *from,
							 const struct infer_slot *slot,
							 u32 hit_slot,
							 const struct pguard_cached_verdict *known)
{
	const struct pguard_transition *transition;

	if (READ_ONCE(cache->is_full) || !spin_trylock(&cache->lock))
		return NULL;
	transition = add(cache, from, slot, hit_slot, known);
	if (!transition)
		WRITE_ONCE(cache->is_full, true);
	spin_unlock(&cache->lock);
	return transition;
}
