// SPDX-License-Identifier: GPL-2.0

#include "profile/inference.h"

#include "lib/charge.h"

#include <linux/slab.h>

/* For loops without event calls, and with. */
static struct kmem_cache *caches[2];

static size_t own_size(const struct pguard_loop *loop)
{
	return offsetof(struct pguard_uncached_scores, state) + infer_state_size(&loop->table);
}

/* NULL for lack of memory. */
static struct pguard_uncached_scores *own_new(const struct pguard_loop *loop, gfp_t gfp)
{
	return kzalloc(own_size(loop), gfp | PGUARD_GFP_CHARGED);
}

/*
 * Returns true if a thread must have it from the first.  By the paper's rule each hit counts,
 * no cache serves.  And in a unit it is allocated without sleeping, which may fail for a large one.
 */
static bool needs_own(const struct pguard_loop *loop)
{
	return loop->table.paper || own_size(loop) > PAGE_SIZE;
}

/* What a thread has, or NULL. */
static const struct pguard_uncached_scores *own_of(const struct pguard_inference *inference)
{
	return READ_ONCE(inference->own);
}

static bool is_own(const struct pguard_inference *inference, const struct pguard_verdict *verdict)
{
	const struct pguard_uncached_scores *own = own_of(inference);

	return own && verdict == &own->verdict;
}

/**
 * pguard_inference_new() - for a thread that comes into an event loop
 * @profile: referenced by the caller; it gets a reference of its own
 * @loop: the loop, in @profile
 * @gfp: as the caller's context allows
 *
 * Return: the inference, to be given to pguard_inference_free(); NULL for want
 * of memory.
 */
struct pguard_inference *pguard_inference_new(struct pguard_profile *profile,
					      struct pguard_loop *loop, gfp_t gfp)
{
	bool has_event = loop->has_event_calls;
	struct pguard_inference *inference;

	inference = kmem_cache_zalloc(caches[has_event], gfp | PGUARD_GFP_CHARGED);
	if (!inference)
		return NULL;
	inference->has_event = has_event;
	inference->profile = profile;
	inference->loop = loop;
	pguard_inference_begin(inference);
	if (needs_own(loop)) {
		inference->own = own_new(loop, gfp);
		if (!inference->own) {
			kmem_cache_free(caches[has_event], inference);
			return NULL;
		}
	}
	kref_get(&profile->kref);
	return inference;
}

static void inference_free(struct rcu_head *rcu)
{
	struct pguard_inference *inference = container_of(rcu, struct pguard_inference, rcu);

	kfree(inference->own);
	kfree(inference->unknown);
	kmem_cache_free(caches[inference->has_event], inference);
}

/* Give one back; or NULL.  Others may look at it, and its profile, for a grace period. */
void pguard_inference_free(struct pguard_inference *inference)
{
	if (!inference)
		return;
	pguard_profile_put(inference->profile);
	call_rcu(&inference->rcu, inference_free);
}

/*
 * The hit slot of a context that occurs: which of the thread's counters counts its hits.
 *
 * Few of a loop's contexts are met in one unit, and many never, so there is a fixed number of
 * counters, and contexts are given hit slots in the order in which they occur for
 * the first time, round and round.  Two contexts that share one seldom come in
 * one unit; whoever reports the counts leaves those out.
 */
static __always_inline u32 hit_slot_of(const struct pguard_inference *inference, u32 context)
{
	struct pguard_hit_slots *hit_slots = &inference->loop->hit_slots;
	u8 hit_slot = READ_ONCE(hit_slots->of[context]), found;

	if (hit_slot != PGUARD_NO_HIT_SLOT)
		return hit_slot;
	hit_slot = (u32)atomic_fetch_inc(&hit_slots->nr_given) % PGUARD_NR_HIT_SLOTS;
	found = cmpxchg(&hit_slots->of[context], PGUARD_NO_HIT_SLOT, hit_slot);
	return found == PGUARD_NO_HIT_SLOT ? hit_slot : found;
}

/* From here on the unit's own scores count. */
static void judge(struct pguard_inference *inference, struct pguard_uncached_scores *own)
{
	struct pguard_verdict *to = &own->verdict;
	struct pguard_verdict verdict;

	pguard_verdict_make(&verdict, inference->loop, &own->state);
	to->transitions = verdict.transitions;
	to->soon = verdict.soon;
	to->within = verdict.within;
	to->type = verdict.type;
	/* Others may look at it just now: never a type that it was not. */
	WRITE_ONCE(to->early, verdict.early);
	to->final = verdict.final;
	to->fit = verdict.fit;
	inference->judged = NULL;
	/* Pairs with pguard_inference_judge(). */
	smp_store_release(&inference->verdict, to);
}

/* A hit of a unit by uncached scores: the cache could not take it, or by the paper's rule. */
static void meet_alone(struct pguard_inference *inference, const struct infer_slot *slot)
{
	const struct infer_table *table = &inference->loop->table;
	u32 hit_slot = hit_slot_of(inference, slot->context);
	struct pguard_uncached_scores *own = inference->own;
	bool is_new;

	if (inference->verdict != &own->verdict)
		infer_begin(table, &own->state);
	is_new = infer_meet(table, slot, &own->state);
	if (is_new)
		inference->hits[hit_slot] = 1;
	else
		pguard_inference_meet_again(inference, hit_slot);
	if (is_new || infer_early(table, &own->state) != own->verdict.early)
		judge(inference, own);
}

/* Count in @state what led to the unit's verdict, and one context more. */
static void count(const struct pguard_inference *inference, u32 context, struct infer_state *state)
{
	const struct pguard_cached_verdict *known =
		pguard_verdict_cache_verdict(inference->verdict);
	const struct infer_table *table = &inference->loop->table;

	infer_begin(table, state);
	for (; known->before; known = known->before) {
		infer_mark(table, state, known->context);
		infer_add(table, state, known->context);
	}
	infer_mark(table, state, context);
	infer_add(table, state, context);
}

/* The verdict cache could not take what a unit met, @own counted it. */
static void leave_cache(struct pguard_inference *inference, struct pguard_uncached_scores *own,
			u32 hit_slot)
{
	if (!inference->own)
		/* The thread keeps it: such units come again.  Pairs with own_of(). */
		smp_store_release(&inference->own, own);
	inference->hits[hit_slot] = 1;
	judge(inference, own);
}

/* Add what the scores say of the unit to its verdict cache.  Apart, for the stack it takes. */
static noinline const struct pguard_transition *
add_new(struct pguard_inference *inference, const struct infer_slot *slot,
	const struct infer_state *state, u32 hit_slot)
{
	struct pguard_cached_verdict known;

	pguard_verdict_make_known(&known, inference->loop, state);
	return pguard_verdict_cache_add(inference->cache, inference->verdict, slot, hit_slot,
					&known);
}

/* The first hit of a context, and the verdict cache does not know yet where it leads to. */
static enum pguard_meeting meet_new(struct pguard_inference *inference,
				    const struct infer_slot *slot)
{
	struct pguard_uncached_scores *own = inference->own ?: own_new(inference->loop, GFP_NOWAIT);
	u32 hit_slot = hit_slot_of(inference, slot->context);
	const struct pguard_transition *transition = NULL;

	if (!own) {
		/* Nothing more can be said of the unit.  As in judge(). */
		smp_store_release(&inference->verdict, &inference->loop->lost.verdict);
		return PGUARD_MEETING_LOST;
	}
	count(inference, slot->context, &own->state);
	if (!READ_ONCE(inference->cache->is_full))
		transition = add_new(inference, slot, &own->state, hit_slot);
	if (transition) {
		pguard_inference_follow(inference, transition);
		if (own != inference->own)
			kfree(own);
		return PGUARD_MEETING_DONE;
	}
	leave_cache(inference, own, hit_slot);
	return PGUARD_MEETING_DONE;
}

/* Once more, and the verdict cache does not know it yet. */
static void meet_again(struct pguard_inference *inference, const struct infer_slot *slot)
{
	u32 hit_slot = hit_slot_of(inference, slot->context);

	pguard_verdict_cache_add(inference->cache, inference->verdict, slot, hit_slot, NULL);
	pguard_inference_meet_again(inference, hit_slot);
}

/**
 * pguard_inference_meet() - the unit hit a guard in a context of the profile
 * @inference: of current, in a unit
 * @slot: the context's
 *
 * By whatever rule, which may change what the unit is taken for.
 *
 * Context: the thread itself.
 * Return: what the caller has to see to.
 */
enum pguard_meeting pguard_inference_meet(struct pguard_inference *inference,
					  const struct infer_slot *slot)
{
	const struct pguard_verdict *verdict = inference->verdict;
	enum pguard_meeting meeting = PGUARD_MEETING_DONE;
	const struct pguard_transition *transition;

	if (inference->loop->table.paper || is_own(inference, verdict)) {
		meet_alone(inference, slot);
		return PGUARD_MEETING_DONE;
	}
	if (verdict == &inference->loop->lost.verdict)
		return PGUARD_MEETING_DONE;
	if (pguard_verdict_cache_find(inference->cache, verdict, slot->key, &transition))
		pguard_inference_follow(inference, transition);
	else if (pguard_verdict_cache_has_met(pguard_verdict_cache_verdict(verdict), slot->context))
		meet_again(inference, slot);
	else
		meeting = meet_new(inference, slot);
	return pguard_verdict_cache_asks(inference->cache) ? PGUARD_MEETING_CROWDED : meeting;
}

/* The unit hit a guard in a context that training did not see. */
void pguard_inference_meet_unknown(struct pguard_inference *inference, u32 guard, u32 depth)
{
	u32 nr = inference->nr_unknown;
	struct pguard_unknown *unknown;

	WRITE_ONCE(inference->nr_unknown, nr + 1);
	if (nr >= PGUARD_UNKNOWN_KEPT)
		return;
	if (!inference->unknown) {
		unknown = kcalloc(PGUARD_UNKNOWN_KEPT, sizeof(*unknown),
				  GFP_NOWAIT | PGUARD_GFP_CHARGED);
		/* Pairs with report_unknown(). */
		smp_store_release(&inference->unknown, unknown);
	}
	/* Without memory they only count. */
	if (inference->unknown)
		inference->unknown[nr] = (struct pguard_unknown){ .guard = guard, .depth = depth };
}

/* What a unit with that verdict may take, whatever it turns out to be; in @room if need be. */
static const struct pguard_limits *limits_of_all(const struct pguard_inference *inference,
						 const struct pguard_verdict *verdict,
						 struct pguard_limits *room)
{
	if (unlikely(READ_ONCE(inference->nr_unknown)))
		return &inference->loop->novel;
	if (!is_own(inference, verdict))
		return &pguard_verdict_cache_verdict(verdict)->limits;
	pguard_verdict_limits(inference->loop, &own_of(inference)->state, room);
	return room;
}

/* The type that a unit with that verdict most likely has; NULL if there is nothing to go by. */
static const struct pguard_limits *limits_of_best(const struct pguard_inference *inference,
						  const struct pguard_verdict *verdict)
{
	u16 best = READ_ONCE(verdict->early);

	if (unlikely(READ_ONCE(inference->nr_unknown)))
		return NULL;
	if (best >= inference->loop->table.nr_types)
		return NULL;
	if (!is_own(inference, verdict) && !pguard_verdict_cache_verdict(verdict)->before)
		return NULL;
	return &inference->loop->limits[best];
}

/**
 * pguard_inference_soon() - until when the unit that runs is not late, wherever its time goes
 * @inference: of any thread
 * @verdict: of the unit, read once
 *
 * Context: any; an RCU section for another's.
 * Return: ns of its time; 0 if it never is late.
 */
u64 pguard_inference_soon(const struct pguard_inference *inference,
			  const struct pguard_verdict *verdict)
{
	const struct pguard_limits *limits = limits_of_best(inference, verdict);
	struct pguard_limits room;

	return pguard_limits_least(limits ?: limits_of_all(inference, verdict, &room));
}

/**
 * pguard_inference_judge() - is the unit that runs late
 * @inference: of any thread
 * @verdict: of the unit, read once
 * @account: so far
 * @ret: filled in
 *
 * By the limits of the best type; and once the unit is beyond one of them, by the largest
 * of all that the unit may still be of.  One that met a context that training did not see may
 * be of none, and has the loop's limits for that.
 *
 * Context: any; an RCU section for another's.
 */
void pguard_inference_judge(const struct pguard_inference *inference,
			    const struct pguard_verdict *verdict,
			    const struct pguard_account *account, struct pguard_finding *ret)
{
	const struct pguard_limits *limits = limits_of_best(inference, verdict);
	u64 added_ns = pguard_inference_added_ns(inference, account);
	struct pguard_limits room;

	if (limits) {
		pguard_limits_judge(limits, added_ns, account, ret);
		if (!pguard_finding_is_late(ret) && !ret->is_stopped)
			return;
	}
	pguard_limits_judge(limits_of_all(inference, verdict, &room), added_ns, account, ret);
}

/* What the unit that ended may have taken; found in @room if need be. */
static const struct pguard_limits *limits_at_end(const struct pguard_inference *inference,
						 struct pguard_limits *room)
{
	const struct pguard_verdict *verdict = inference->verdict;

	/* The probes of one that is replaced go, one by one: the unit may not have met all. */
	if (unlikely(!pguard_profile_is_armed(inference->profile)))
		return &inference->loop->widest;
	/* By the paper's rule, or without memory, there may be none: then as while it ran. */
	if (verdict->final == INFER_NO_TYPE || inference->nr_unknown)
		return limits_of_all(inference, verdict, room);
	return &inference->loop->limits[verdict->final];
}

/**
 * pguard_inference_judge_end() - was the unit that ended late
 * @inference: of current
 * @account: of all of it
 * @ret: filled in
 *
 * Context: current, preemptible or not.
 * Return: true if it was starved: not late, and only because the run queue does not count.
 */
bool pguard_inference_judge_end(const struct pguard_inference *inference,
				const struct pguard_account *account, struct pguard_finding *ret)
{
	struct pguard_limits room;
	const struct pguard_limits *limits = limits_at_end(inference, &room);
	u64 added_ns = pguard_inference_added_ns(inference, account);

	pguard_limits_judge(limits, added_ns, account, ret);
	return !pguard_finding_is_late(ret) && pguard_limits_starve(limits, added_ns, account);
}

/**
 * pguard_inference_is_novel() - is the unit that ended not like those of its type in training
 * @inference: of current
 * @start: pguard_clock() when it began
 *
 * As far as guards show.
 *
 * Context: current, preemptible or not.
 */
bool pguard_inference_is_novel(const struct pguard_inference *inference, u64 start)
{
	if (unlikely(!pguard_profile_is_armed(inference->profile)))
		return false;
	return inference->nr_unknown || (inference->verdict->fit != INFER_FIT_WHOLE &&
					 !pguard_inference_is_excused(inference, start));
}

/**
 * pguard_inference_margin() - how far the unit's type is ahead of the next
 * @inference: of any thread, not by the paper's rule
 * @verdict: the unit's, read once
 * @is_final: it has ended
 *
 * Context: any; an RCU section for another's.
 * Return: as infer_margin()
 */
u32 pguard_inference_margin(const struct pguard_inference *inference,
			    const struct pguard_verdict *verdict, bool is_final)
{
	const struct pguard_cached_verdict *known;

	if (is_own(inference, verdict))
		return infer_margin(&inference->loop->table, &own_of(inference)->state, is_final);
	known = pguard_verdict_cache_verdict(verdict);
	return is_final ? known->margin_final : known->margin_early;
}

/* The first context from @from on that a unit with that verdict met, or the number of all. */
static u32 next_met(const struct pguard_inference *inference,
		    const struct pguard_verdict *verdict, u32 from)
{
	const struct infer_table *table = &inference->loop->table;
	const struct pguard_cached_verdict *known;
	u32 next = table->nr_contexts;

	if (is_own(inference, verdict)) {
		while (from < next && !infer_has_met(table, &own_of(inference)->state, from))
			from++;
		return from;
	}
	for (known = pguard_verdict_cache_verdict(verdict); known->before; known = known->before)
		if (known->context >= from)
			next = min(next, known->context);
	return next;
}

#define for_each_met(inference, verdict, i)					\
	for (i = next_met(inference, verdict, 0);				\
	     i < (inference)->loop->table.nr_contexts;				\
	     i = next_met(inference, verdict, i + 1))

static void take_hit_slot(u32 hit_slot, u64 *taken, u64 *shared)
{
	*shared |= *taken & BIT_ULL(hit_slot);
	*taken |= BIT_ULL(hit_slot);
}

/* The hit slots, a bit each, that more than one of the contexts have which a unit met. */
static u64 shared_hit_slots(const struct pguard_inference *inference,
			    const struct pguard_verdict *verdict)
{
	const struct pguard_cached_verdict *known;
	u64 taken = 0, shared = 0;
	u32 i;

	if (is_own(inference, verdict))
		for_each_met(inference, verdict, i)
			take_hit_slot(hit_slot_of(inference, i), &taken, &shared);
	else
		for (known = pguard_verdict_cache_verdict(verdict); known->before;
		     known = known->before)
			take_hit_slot(hit_slot_of(inference, known->context), &taken, &shared);
	return shared;
}

/* The hits in contexts that the profile does not know. */
static u32 report_unknown(const struct pguard_inference *inference, struct perfguard_met *ret,
			u32 room)
{
	u32 nr_unknown = min3(READ_ONCE(inference->nr_unknown), PGUARD_UNKNOWN_KEPT, room);
	const struct pguard_unknown *unknown = READ_ONCE(inference->unknown);
	u32 nr = 0, i, depth;

	for (i = 0; unknown && i < nr_unknown; i++) {
		depth = READ_ONCE(unknown[i].depth);
		/* None is 0: not written yet, or there was no memory for it. */
		if (!depth)
			continue;
		ret[nr++] = (struct perfguard_met){
			.guard = READ_ONCE(unknown[i].guard),
			.depth = depth,
			.hits = 1,
		};
	}
	return nr;
}

/**
 * pguard_inference_met() - the contexts the unit met so far
 * @inference: of any thread
 * @verdict: the unit's, read once
 * @ret: room for @room of them
 * @room: of more, those with the smallest numbers are reported
 *
 * Of two that share a hit slot, one is reported; and of a verdict that is not the inference's, where
 * hits that were noted are not taken yet, one hit of each.
 *
 * Context: any; an RCU section for another's.
 * Return: how many they are.
 */
u32 pguard_inference_met(const struct pguard_inference *inference,
			 const struct pguard_verdict *verdict, struct perfguard_met *ret, u32 room)
{
	const struct infer_table *table = &inference->loop->table;
	u64 shared = verdict == READ_ONCE(inference->verdict) ?
			     shared_hit_slots(inference, verdict) : U64_MAX;
	u32 nr = report_unknown(inference, ret, room);
	u32 i, hit_slot;

	for_each_met(inference, verdict, i) {
		if (nr == room)
			break;
		hit_slot = hit_slot_of(inference, i);
		ret[nr++] = (struct perfguard_met){
			.guard = table->contexts[i].site,
			.depth = table->contexts[i].depth,
			.hits = shared & BIT_ULL(hit_slot) ? 1
							   : READ_ONCE(inference->hits[hit_slot]),
			.in_profile = 1,
		};
	}
	return nr;
}

/* The id of a type, 0 for none. */
u32 pguard_inference_type_id(const struct pguard_inference *inference, u16 type)
{
	return type == INFER_NO_TYPE ? 0 : inference->loop->table.types[type].id;
}

int __init pguard_inference_init(void)
{
	size_t size = sizeof(struct pguard_inference);

	caches[0] = kmem_cache_create("perfguard_inference", size, 0, SLAB_ACCOUNT, NULL);
	caches[1] = kmem_cache_create("perfguard_inference_event",
				      size + sizeof(struct pguard_mark), 0, SLAB_ACCOUNT, NULL);
	if (caches[0] && caches[1])
		return 0;
	pguard_inference_deinit();
	return -ENOMEM;
}

/* All were given back, some of them perhaps by an RCU callback that is yet to run. */
void pguard_inference_deinit(void)
{
	rcu_barrier();
	kmem_cache_destroy(caches[0]);
	kmem_cache_destroy(caches[1]);
}
