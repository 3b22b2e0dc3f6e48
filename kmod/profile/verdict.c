// SPDX-License-Identifier: GPL-2.0

/* Verdicts about units: what the scores of infer.h say of them in a profile. */

#include "profile/profile.h"

#include "lib/clock.h"

#include <linux/mm.h>
#include <linux/slab.h>

/* What takes no more ticks is within that limit. */
static u64 ticks_of(u64 limit_ns)
{
	return limit_ns ? pguard_clock_ticks(limit_ns) : U64_MAX;
}

/* Five powers of two below a limit, and three above, are what times are kept of. */
static u32 first_bucket(u64 limit_ns)
{
	u32 bucket = pguard_bucket(limit_ns ?: NSEC_PER_MSEC) / 2;

	return bucket - min(bucket, PERFGUARD_TIMES_BUCKETS * 5 / 8);
}

/* What limits of a type, and of requests that its units read, come to by the clock.  Context: any. */
struct pguard_limit_ticks pguard_verdict_ticks(const struct pguard_limits *limits,
					       const struct request_parts *request_ns)
{
	u64 least = pguard_limits_least(limits);
	u64 own = limits->ns[PERFGUARD_PART_OWN - 1] ?: limits->ns[PERFGUARD_PART_ALL - 1];
	struct pguard_limit_ticks ret = {
		.soon = ticks_of(least),
		.soon_ns = least ?: U64_MAX,
		.within = min_t(u64, ticks_of(pguard_limits_least_calm(limits)), U32_MAX),
		.first = first_bucket(own),
	};
	u32 i;

	for (i = 0; i < REQUEST_NR_PARTS; i++) {
		ret.request_first[i] = first_bucket(request_ns->of[i]);
		ret.request.of[i] = pguard_clock_ticks(request_ns->of[i]);
	}
	return ret;
}

/**
 * pguard_verdict_limits() - what a unit that runs may take, whatever type it turns out to be of
 * @loop: the loop
 * @state: of the unit
 * @ret: filled in: of each part the largest limit of those types
 *
 * Reads all types: for units that are beyond the limits of the best.
 *
 * Context: any.
 */
void pguard_verdict_limits(const struct pguard_loop *loop, const struct infer_state *state,
			   struct pguard_limits *ret)
{
	bool is_first = true;
	u32 i;

	*ret = (struct pguard_limits){ };
	for (i = 0; i < loop->table.nr_types; i++) {
		if (!infer_may_be(&loop->table, state, i))
			continue;
		if (is_first)
			*ret = loop->limits[i];
		else
			pguard_limits_widen(ret, &loop->limits[i]);
		is_first = false;
	}
}

/**
 * pguard_verdict_make() - a verdict by the scores of a unit
 * @verdict: to be made; in no verdict cache
 * @loop: the loop
 * @state: of the unit
 *
 * Context: any; the thread itself.
 */
void pguard_verdict_make(struct pguard_verdict *verdict, const struct pguard_loop *loop,
			 const struct infer_state *state)
{
	const struct infer_table *table = &loop->table;

	*verdict = (struct pguard_verdict){
		.transitions = PGUARD_VERDICT_CACHE_NOWHERE,
		.early = infer_early(table, state),
		.final = infer_end(table, state),
		.fit = infer_fit(table, state),
	};
	if (!state->contexts)
		verdict->soon = ticks_of(pguard_limits_least(&loop->widest));
	else if (verdict->early != INFER_NO_TYPE)
		verdict->soon = loop->ticks[verdict->early].soon;
	if (verdict->final == INFER_NO_TYPE)
		return;
	verdict->type = loop->first_type + verdict->final;
	/* By the paper's rule there is no fast path. */
	if (verdict->fit == INFER_FIT_WHOLE && !table->paper)
		verdict->within = loop->ticks[verdict->final].within;
}

/* The same with what a verdict cache keeps with it. */
void pguard_verdict_make_known(struct pguard_cached_verdict *known, const struct pguard_loop *loop,
			       const struct infer_state *state)
{
	const struct infer_table *table = &loop->table;

	*known = (struct pguard_cached_verdict){ };
	pguard_verdict_limits(loop, state, &known->limits);
	if (!table->paper) {
		known->margin_early = infer_margin(table, state, 0);
		known->margin_final = infer_margin(table, state, 1);
	}
	pguard_verdict_make(&known->verdict, loop, state);
}

/* About units that met nothing yet. */
static int make_begin(struct pguard_cached_verdict *known, const struct pguard_loop *loop)
{
	struct infer_state *state =
		kvzalloc(infer_state_size(&loop->table), GFP_KERNEL | __GFP_NOWARN);

	if (!state)
		return -ENOMEM;
	infer_begin(&loop->table, state);
	pguard_verdict_make_known(known, loop, state);
	kvfree(state);
	return 0;
}

/**
 * pguard_verdict_grow() - give a loop a larger verdict cache, if its own is crowded
 * @loop: with its table
 *
 * Units that run keep to the one in which they began.
 *
 * Context: may sleep; the profile is not armed yet, or the target lock is held.
 * Return: bytes of it; 0 if there is no larger one, or no memory for it.
 */
size_t pguard_verdict_grow(struct pguard_loop *loop)
{
	u32 size = pguard_verdict_cache_next_size(loop->cache, loop->table.nr_contexts,
						  loop->guards_jump);
	struct pguard_verdict_cache *cache;

	if (!size)
		return 0;
	cache = pguard_profile_room(pguard_verdict_cache_bytes(size));
	if (!cache)
		return 0;
	pguard_verdict_cache_init(cache, size);
	if (make_begin(cache->known, loop)) {
		kvfree(cache);
		return 0;
	}
	cache->known->verdict.transitions = 0;
	cache->older = loop->cache;
	/* Pairs with pguard_inference_begin(), by what depends on it. */
	smp_store_release(&loop->cache, cache);
	return pguard_verdict_cache_bytes(size);
}

/**
 * pguard_verdict_make_first() - give a loop its first verdict cache
 * @loop: with its table, and no verdict cache
 *
 * Context: may sleep.
 * Return: bytes of it; 0 for lack of memory.
 */
size_t pguard_verdict_make_first(struct pguard_loop *loop)
{
	size_t bytes = pguard_verdict_grow(loop);

	if (!bytes)
		return 0;
	/* It may be late when it is so for all types, and then it is of none. */
	loop->lost.limits = loop->cache->known->limits;
	loop->lost.verdict = (struct pguard_verdict){
		.transitions = PGUARD_VERDICT_CACHE_NOWHERE,
		.soon = loop->cache->known->verdict.soon,
		.early = INFER_NO_TYPE,
		.final = INFER_NO_TYPE,
		.fit = INFER_FIT_WHOLE,
	};
	return bytes;
}
