// SPDX-License-Identifier: GPL-2.0

#include "inference.h"

#include "compat.h"
#include "pool.h"

/**
 * pguard_inference_new() - for a thread that comes into an event loop
 * @profile: referenced by the caller; it gets a reference of its own
 * @course: the loop, in @profile
 * @gfp: as the caller's context allows
 *
 * Return: the inference, to be given to pguard_inference_free(); NULL for want
 * of memory.
 */
struct pguard_inference *pguard_inference_new(struct pguard_profile *profile,
					      struct pguard_course *course, gfp_t gfp)
{
	u32 size = ALIGN(offsetof(struct pguard_inference, state) +
			 infer_state_size(&course->table), sizeof(u64));
	struct pguard_inference *inference;

	inference = pguard_pool_alloc(size + course->table.nr_contexts, gfp | __GFP_NOWARN);
	if (!inference)
		return NULL;
	inference->profile = profile;
	inference->course = course;
	inference->size = size + course->table.nr_contexts;
	inference->hits = (u8 *)inference + size;
	inference->verdict = pguard_memo_begin(&course->memo);
	kref_get(&profile->kref);
	return inference;
}

static void inference_free(struct rcu_head *rcu)
{
	struct pguard_inference *inference = container_of(rcu, struct pguard_inference, rcu);

	pguard_pool_free(inference, inference->size);
}

/**
 * pguard_inference_free() - give one back; or NULL
 *
 * Others may look at it, and at its profile, for a grace period.
 *
 * Context: any.
 */
void pguard_inference_free(struct pguard_inference *inference)
{
	if (!inference)
		return;
	pguard_profile_put(inference->profile);
	call_rcu(&inference->rcu, inference_free);
}

/* From here on the unit's own scores count. */
static void judge(struct pguard_inference *inference)
{
	struct pguard_verdict *own = &inference->own;
	struct pguard_verdict verdict;

	pguard_verdict_make(&verdict, inference->course, &inference->state);
	own->edges = verdict.edges;
	own->soon = verdict.soon;
	own->within = verdict.within;
	own->type = verdict.type;
	/* Others may look at it just now: never a type that it was not. */
	WRITE_ONCE(own->early, verdict.early);
	own->final = verdict.final;
	own->fits = verdict.fits;
	/* Pairs with pguard_inference_limit(). */
	smp_store_release(&inference->verdict, own);
}

/* A hit of a unit by scores of its own: the memo could not take it, or by the paper's rule. */
static void meet_alone(struct pguard_inference *inference, const struct infer_slot *slot)
{
	const struct infer_table *table = &inference->course->table;
	bool is_new;

	if (inference->verdict != &inference->own)
		infer_begin(table, &inference->state);
	is_new = infer_meet(table, slot, &inference->state);
	if (is_new)
		inference->hits[slot->context] = 1;
	else
		pguard_inference_meet_again(inference, slot->context);
	if (is_new || infer_early(table, &inference->state) != inference->own.early)
		judge(inference);
}

/* Count in the thread's state what led to its verdict, and one context more. */
static void count(struct pguard_inference *inference, u32 context)
{
	const struct pguard_known *known = pguard_memo_known(inference->verdict);
	const struct infer_table *table = &inference->course->table;

	infer_begin(table, &inference->state);
	for (; known->before; known = known->before) {
		infer_mark(table, &inference->state, known->context);
		infer_add(table, &inference->state, known->context);
	}
	infer_mark(table, &inference->state, context);
	infer_add(table, &inference->state, context);
}

/* The first hit of a context, and the memo does not know yet where it leads to. */
static void meet_new(struct pguard_inference *inference, const struct infer_slot *slot)
{
	struct pguard_memo *memo = &inference->course->memo;
	const struct pguard_edge *edge = NULL;
	struct pguard_known known;

	count(inference, slot->context);
	if (!READ_ONCE(memo->is_full)) {
		pguard_verdict_make_known(&known, inference->course, &inference->state);
		edge = pguard_memo_add(memo, inference->verdict, slot, &known);
	}
	if (edge) {
		pguard_inference_follow(inference, memo, edge);
		return;
	}
	inference->hits[slot->context] = 1;
	judge(inference);
}

/**
 * pguard_inference_meet() - the unit hit a guard in a context of the profile
 * @inference: of current, in a unit
 * @slot: the context's
 *
 * By whatever rule, which may change what the unit is taken for.
 *
 * Context: the thread itself.
 */
void pguard_inference_meet(struct pguard_inference *inference, const struct infer_slot *slot)
{
	struct pguard_course *course = inference->course;
	const struct pguard_verdict *verdict = inference->verdict;
	const struct pguard_edge *edge;

	if (course->table.paper || verdict == &inference->own) {
		meet_alone(inference, slot);
		return;
	}
	if (pguard_memo_find(&course->memo, verdict, slot->key, &edge)) {
		pguard_inference_follow(inference, &course->memo, edge);
	} else if (!pguard_memo_has_met(pguard_memo_known(verdict), slot->context)) {
		meet_new(inference, slot);
	} else {
		pguard_memo_add(&course->memo, verdict, slot, NULL);
		pguard_inference_meet_again(inference, slot->context);
	}
}

/* The unit hit a guard in a context that training did not see. */
void pguard_inference_meet_unknown(struct pguard_inference *inference, u32 guard, u32 depth)
{
	u32 nr = inference->nr_unknown++;

	if (nr < PGUARD_UNKNOWN_KEPT) {
		inference->unknown[nr].guard = guard;
		inference->unknown[nr].depth = depth;
	}
}

/* From when on a unit with that verdict is late, whatever it turns out to be, ns. */
static u64 limit(const struct pguard_inference *inference, const struct pguard_verdict *verdict)
{
	if (verdict == &inference->own)
		return infer_limit(&inference->course->table, &inference->state);
	return pguard_memo_known(verdict)->limit_ns;
}

/**
 * pguard_inference_limit() - from when on the unit that runs is late
 * @inference: of any thread
 * @elapsed: its time so far, ns
 *
 * The threshold of the best type; and once the unit is beyond it, the largest
 * of all that the unit may still be of.
 *
 * Context: any; an RCU section for another's.
 * Return: ns; 0 if it is never late.
 */
u64 pguard_inference_limit(const struct pguard_inference *inference, u64 elapsed)
{
	const struct infer_table *table = &inference->course->table;
	/* Pairs with whoever changes it; READ_ONCE() and what depends on it. */
	const struct pguard_verdict *verdict = READ_ONCE(inference->verdict);
	u16 best = READ_ONCE(verdict->early);
	u64 threshold;

	if (best < table->nr_types && verdict != pguard_memo_begin(&inference->course->memo)) {
		threshold = table->types[best].threshold_ns;
		if (!threshold || elapsed <= threshold)
			return threshold;
	}
	return limit(inference, verdict);
}

/**
 * pguard_inference_threshold() - from when on the unit that ended was late
 * @inference: of current
 *
 * Return: ns; 0 if it cannot be.
 */
u64 pguard_inference_threshold(const struct pguard_inference *inference)
{
	u16 type = inference->verdict->final;

	/* By the paper's rule there may be none: then the largest, as long as it ran. */
	if (type == INFER_NO_TYPE)
		return limit(inference, inference->verdict);
	return inference->course->table.types[type].threshold_ns;
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
	const struct pguard_known *known;

	if (verdict == &inference->own)
		return infer_margin(&inference->course->table, &inference->state, is_final);
	known = pguard_memo_known(verdict);
	return is_final ? known->margin_final : known->margin_early;
}

/* From when on a unit is late, of whatever type of the loop it is, ns; 0 if it cannot be. */
u64 pguard_inference_largest(const struct pguard_inference *inference)
{
	const struct infer_table *table = &inference->course->table;
	u64 largest = table->nr_types ? table->types[0].threshold_ns : 0;
	u32 i;

	for (i = 1; i < table->nr_types; i++)
		largest = infer_later(largest, table->types[i].threshold_ns);
	return largest;
}

/* The first context from @from on that a unit with that verdict met, or the number of all. */
static u32 next_met(const struct pguard_inference *inference,
		    const struct pguard_verdict *verdict, u32 from)
{
	const struct infer_table *table = &inference->course->table;
	const struct pguard_known *known;
	u32 next = table->nr_contexts;

	if (verdict == &inference->own) {
		while (from < next && !infer_has_met(table, &inference->state, from))
			from++;
		return from;
	}
	for (known = pguard_memo_known(verdict); known->before; known = known->before)
		if (known->context >= from)
			next = min(next, known->context);
	return next;
}

/**
 * pguard_inference_met() - the contexts the unit met so far
 * @inference: of any thread
 * @verdict: the unit's, read once
 * @ret: room for @room of them
 * @room: of more, those with the smallest numbers are told
 *
 * Context: any; an RCU section for another's.
 * Return: how many they are.
 */
u32 pguard_inference_met(const struct pguard_inference *inference,
			 const struct pguard_verdict *verdict, struct perfguard_met *ret, u32 room)
{
	const struct infer_table *table = &inference->course->table;
	u32 nr_unknown = min_t(u32, READ_ONCE(inference->nr_unknown), PGUARD_UNKNOWN_KEPT);
	u32 nr = 0, i;

	for (i = 0; i < nr_unknown && nr < room; i++)
		ret[nr++] = (struct perfguard_met){
			.guard = READ_ONCE(inference->unknown[i].guard),
			.depth = READ_ONCE(inference->unknown[i].depth),
			.hits = 1,
		};
	for (i = next_met(inference, verdict, 0); i < table->nr_contexts && nr < room;
	     i = next_met(inference, verdict, i + 1))
		ret[nr++] = (struct perfguard_met){
			.guard = table->contexts[i].site,
			.depth = table->contexts[i].depth,
			.hits = READ_ONCE(inference->hits[i]),
			.is_known = 1,
		};
	return nr;
}

/* The id of a type, 0 for none. */
u32 pguard_inference_type_id(const struct pguard_inference *inference, u16 type)
{
	const struct infer_table *table = &inference->course->table;

	return type == INFER_NO_TYPE ? 0 : table->types[type].id;
}
