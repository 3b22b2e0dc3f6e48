/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which type a unit is of, from the few guards it hit.
 *
 * One source for the module, for training (which predicts what a set of guards
 * would infer) and for the tests.  Integers only, nothing is allocated, and a
 * hit costs its context's candidates, however many types there are.
 *
 * Rule W.  Each type has a start score, and each context (guard site, stack
 * depth) a weight from 0 to 127 for each of its candidates.  The first hit of
 * a context in a unit adds its weights; the type with the highest score is
 * inferred, of equal ones that with the smaller threshold, then the smaller
 * index.  Since no weight is negative, the best type is kept as hits come in.
 *
 * There are two scores, in quarters of a bit.  The early one holds while the
 * unit runs: a context that was not met may still come.  The final one holds
 * at its end, when a context that was not met is evidence: its start score
 * supposes that none was, and its weights take that back.
 *
 * The paper's rule (Algorithm 2) instead counts 1 for every candidate of every
 * hit, repeated or not, and has no type before the first hit.
 *
 * A unit fits the type inferred at its end if all contexts it met are known and
 * have the type as a candidate, and its score is not lower than training saw
 * for the type.
 *
 * A table serves one event loop and is not written while it is in use.  A
 * state belongs to one thread, and only that thread changes it.  Others may
 * look at it meanwhile: what they find is a moment old, or mixed from two
 * moments, but never out of bounds.
 */
#ifndef _PGUARD_INFER_H
#define _PGUARD_INFER_H

#include <linux/errno.h>
#include <linux/types.h>

enum {
	INFER_NO_TYPE = 0xffff,
	INFER_MAX_TYPES = 0xffff,
	INFER_MAX_CONTEXTS = 1 << 20,
	INFER_MAX_SCORE = 0x7fff,
	/* A score of this many is one bit, a factor of two in likelihood. */
	INFER_PER_BIT = 4,
	/* Added to each weight, in bits, so that none is negative. */
	INFER_SHIFT_BITS = 10,
	INFER_MAX_WEIGHT = 127,
	/*
	 * How far behind the best a type may be that a running unit may still be
	 * of: about one chance in a hundred.
	 */
	INFER_PLAUSIBLE = 27,
};

/**
 * struct infer_type - a type of unit
 * @threshold_ns: from when on a unit of it is late; 0 if there is none
 * @id: for the caller
 * @base_early: start score, the prior
 * @base_final: start score, the prior and the evidence of absence
 * @least_final: a unit that ends with a lower score does not fit
 * @reserved: 0
 */
struct infer_type {
	__u64 threshold_ns;
	__u32 id;
	__s16 base_early;
	__s16 base_final;
	__s16 least_final;
	__u16 reserved;
};

/**
 * struct infer_weight - what a context says for one of its candidates
 * @type: index of the type
 * @early: added to the early score, at most INFER_MAX_WEIGHT
 * @final: added to the final score, at most INFER_MAX_WEIGHT
 */
struct infer_weight {
	__u16 type;
	__u8 early;
	__u8 final;
};

/**
 * struct infer_context - a guard hit at a stack depth
 * @site: number of the guard site
 * @depth: SP of the loop frame less SP at the function's entry, in bytes
 * @first_weight: index of the first candidate's weight
 * @nr_weights: candidates
 */
struct infer_context {
	__u32 site;
	__u32 depth;
	__u32 first_weight;
	__u32 nr_weights;
};

/**
 * struct infer_table - what is known of the units of an event loop
 * @types: the types
 * @contexts: the contexts, no two with equal site and depth
 * @weights: the candidates of all contexts
 * @slots: hash table of contexts, index + 1 or 0; see infer_table_init()
 * @nr_types: number of types
 * @nr_contexts: number of contexts
 * @nr_weights: number of weights
 * @slot_mask: number of slots, a power of two, less 1
 * @default_early: type with the highest early start score
 * @default_final: type with the highest final start score
 * @top_early: that score of the first
 * @top_final: and of the second
 * @paper: count hits as the paper does
 */
struct infer_table {
	const struct infer_type *types;
	const struct infer_context *contexts;
	const struct infer_weight *weights;
	const __u32 *slots;
	__u32 nr_types;
	__u32 nr_contexts;
	__u32 nr_weights;
	__u32 slot_mask;
	__u16 default_early;
	__u16 default_final;
	__s16 top_early;
	__s16 top_final;
	__u8 paper;
};

/* A type's score; that of another epoch is the start score. */
struct infer_score {
	__u16 epoch;
	__u16 matched; /* contexts met that it is a candidate of */
	union {
		struct {
			__s16 early;
			__s16 final;
		};
		__u32 hits; /* the paper's */
	};
};

/* Which of 32 contexts the unit met; of another epoch: none. */
struct infer_seen {
	__u32 epoch;
	__u32 bits;
};

/**
 * struct infer_state - a thread's unit
 * @epoch: number of the unit, from 1 to 65535; what bears another is void
 * @contexts: different contexts met
 * @best_early: type with the highest early score, or INFER_NO_TYPE
 * @best_final: type with the highest final score, or INFER_NO_TYPE
 * @top_early: that score; not by the paper's rule
 * @top_final: that score; not by the paper's rule
 * @scores: by type; a struct infer_seen for each 32 contexts follows
 */
struct infer_state {
	__u32 epoch;
	__u32 contexts;
	__u16 best_early;
	__u16 best_final;
	__s16 top_early;
	__s16 top_final;
	struct infer_score scores[];
};

/* The slots that a table of @nr_contexts needs. */
static inline __u32 infer_nr_slots(__u32 nr_contexts)
{
	__u32 nr = 2;

	while (nr < 2 * nr_contexts)
		nr *= 2;
	return nr;
}

/* Bytes of a state for @table, which the caller clears once before its first use. */
static inline __u32 infer_state_size(const struct infer_table *table)
{
	return sizeof(struct infer_state) + table->nr_types * sizeof(struct infer_score) +
	       (table->nr_contexts + 31) / 32 * sizeof(struct infer_seen);
}

static inline __u32 infer_hash(__u32 site, __u32 depth)
{
	__u32 hash = (site * 0x9e3779b1u) ^ (depth * 0x85ebca6bu);

	return hash ^ (hash >> 15);
}

/* The smaller threshold wins a tie; no threshold (0) counts as the largest. */
static inline int infer_wins_tie(const struct infer_table *table, __u32 a, __u32 b)
{
	__u64 threshold_a = table->types[a].threshold_ns - 1;
	__u64 threshold_b = table->types[b].threshold_ns - 1;

	return threshold_a < threshold_b || (threshold_a == threshold_b && a < b);
}

static inline int infer_base(const struct infer_table *table, __u32 type, int is_final)
{
	return is_final ? table->types[type].base_final : table->types[type].base_early;
}

static inline __u16 infer_default(const struct infer_table *table, int is_final)
{
	__u32 best = 0;

	if (!table->nr_types)
		return INFER_NO_TYPE;
	for (__u32 i = 1; i < table->nr_types; i++) {
		int more = infer_base(table, i, is_final) - infer_base(table, best, is_final);

		if (more > 0 || (!more && infer_wins_tie(table, i, best)))
			best = i;
	}
	return (__u16)best;
}

static inline int infer_is_sound(const struct infer_table *table)
{
	if (table->nr_types > INFER_MAX_TYPES || table->nr_contexts > INFER_MAX_CONTEXTS)
		return 0;
	for (__u32 i = 0; i < table->nr_contexts; i++) {
		const struct infer_context *context = &table->contexts[i];

		if (context->first_weight > table->nr_weights ||
		    context->nr_weights > table->nr_weights - context->first_weight)
			return 0;
	}
	for (__u32 i = 0; i < table->nr_weights; i++)
		if (table->weights[i].type >= table->nr_types ||
		    table->weights[i].early > INFER_MAX_WEIGHT ||
		    table->weights[i].final > INFER_MAX_WEIGHT)
			return 0;
	return 1;
}

/**
 * infer_table_init() - check and complete a table
 * @table: filled in but for @slots, @slot_mask and the default types
 * @slots: room for infer_nr_slots(); must live as long as the table
 *
 * Return: 0; -EINVAL if a number is out of bounds; -EEXIST if two contexts are
 * equal.
 */
static inline int infer_table_init(struct infer_table *table, __u32 *slots)
{
	__u32 nr_slots;

	if (!infer_is_sound(table))
		return -EINVAL;
	nr_slots = infer_nr_slots(table->nr_contexts);
	for (__u32 i = 0; i < nr_slots; i++)
		slots[i] = 0;
	table->slots = slots;
	table->slot_mask = nr_slots - 1;
	for (__u32 i = 0; i < table->nr_contexts; i++) {
		const struct infer_context *context = &table->contexts[i];
		__u32 at = infer_hash(context->site, context->depth) & table->slot_mask;

		for (; slots[at]; at = (at + 1) & table->slot_mask) {
			const struct infer_context *other = &table->contexts[slots[at] - 1];

			if (other->site == context->site && other->depth == context->depth)
				return -EEXIST;
		}
		slots[at] = i + 1;
	}
	table->default_early = infer_default(table, 0);
	table->default_final = infer_default(table, 1);
	if (table->nr_types) {
		table->top_early = table->types[table->default_early].base_early;
		table->top_final = table->types[table->default_final].base_final;
	}
	return 0;
}

/* The context's index, or nr_contexts if there is none. */
static inline __u32 infer_find(const struct infer_table *table, __u32 site, __u32 depth)
{
	__u32 at = infer_hash(site, depth) & table->slot_mask;

	for (; table->slots[at]; at = (at + 1) & table->slot_mask) {
		__u32 i = table->slots[at] - 1;

		if (table->contexts[i].site == site && table->contexts[i].depth == depth)
			return i;
	}
	return table->nr_contexts;
}

static inline struct infer_seen *infer_seen(const struct infer_table *table,
					    struct infer_state *state)
{
	return (struct infer_seen *)&state->scores[table->nr_types];
}

/**
 * infer_begin() - a unit begins
 * @table: of the thread's loop
 * @state: of the thread
 */
static inline void infer_begin(const struct infer_table *table, struct infer_state *state)
{
	if (++state->epoch > 0xffff) {
		struct infer_seen *seen = infer_seen(table, state);

		for (__u32 i = 0; i < table->nr_types; i++)
			state->scores[i].epoch = 0;
		for (__u32 i = 0; i < (table->nr_contexts + 31) / 32; i++)
			seen[i].epoch = 0;
		state->epoch = 1;
	}
	state->contexts = 0;
	state->best_early = table->paper ? INFER_NO_TYPE : table->default_early;
	state->best_final = table->paper ? INFER_NO_TYPE : table->default_final;
	state->top_early = table->top_early;
	state->top_final = table->top_final;
}

/* Is it the first hit of context @i in this unit? */
static inline int infer_is_new(const struct infer_table *table, struct infer_state *state, __u32 i)
{
	struct infer_seen *seen = &infer_seen(table, state)[i / 32];
	__u32 bit = 1u << i % 32;

	if (seen->epoch != state->epoch) {
		seen->epoch = state->epoch;
		seen->bits = 0;
	}
	if (seen->bits & bit)
		return 0;
	seen->bits |= bit;
	state->contexts++;
	return 1;
}

/* Has the unit met context @i? */
static inline int infer_has_met(const struct infer_table *table, const struct infer_state *state,
				__u32 i)
{
	const struct infer_seen *seen = (const void *)&state->scores[table->nr_types];

	return seen[i / 32].epoch == state->epoch && seen[i / 32].bits & 1u << i % 32;
}

static inline int infer_get(const struct infer_table *table, const struct infer_state *state,
			    __u32 type, int is_final)
{
	const struct infer_score *score = &state->scores[type];

	if (score->epoch != state->epoch)
		return infer_base(table, type, is_final);
	return is_final ? score->final : score->early;
}

/* The best type so far, and its score. */
struct infer_best {
	__u16 type;
	__s16 score;
};

/* @type has come to @score.  No score sinks, so the best itself stays the best. */
static inline void infer_raise(const struct infer_table *table, struct infer_best *best,
			       __u16 type, __s16 score)
{
	if (score < best->score ||
	    (score == best->score && (type == best->type ||
				      !infer_wins_tie(table, type, best->type))))
		return;
	best->type = type;
	best->score = score;
}

static inline __s16 infer_sum(int score, int weight)
{
	score += weight;
	return (__s16)(score < INFER_MAX_SCORE ? score : INFER_MAX_SCORE);
}

/* In locals, as the compiler takes each word of the state for changed by each other. */
static inline void infer_add_all(const struct infer_table *table, struct infer_state *state,
				 const struct infer_weight *weight,
				 const struct infer_weight *end)
{
	struct infer_best early = { state->best_early, state->top_early };
	struct infer_best final = { state->best_final, state->top_final };
	__u16 epoch = (__u16)state->epoch;

	for (; weight < end; weight++) {
		struct infer_score score = state->scores[weight->type];

		if (score.epoch != epoch) {
			score.epoch = epoch;
			score.matched = 0;
			score.early = table->types[weight->type].base_early;
			score.final = table->types[weight->type].base_final;
		}
		score.matched++;
		score.early = infer_sum(score.early, weight->early);
		score.final = infer_sum(score.final, weight->final);
		state->scores[weight->type] = score;
		infer_raise(table, &early, weight->type, score.early);
		infer_raise(table, &final, weight->type, score.final);
	}
	state->best_early = early.type;
	state->top_early = early.score;
	state->best_final = final.type;
	state->top_final = final.score;
}

static inline void infer_count(const struct infer_table *table, struct infer_state *state,
			       const struct infer_weight *weight)
{
	struct infer_score *score = &state->scores[weight->type];
	__u16 best = state->best_early;

	if (score->epoch != (__u16)state->epoch) {
		score->epoch = (__u16)state->epoch;
		score->hits = 0;
	}
	score->hits++;
	if (best == INFER_NO_TYPE || score->hits > state->scores[best].hits ||
	    (score->hits == state->scores[best].hits &&
	     infer_wins_tie(table, weight->type, best)))
		best = weight->type;
	state->best_early = best;
	state->best_final = best;
}

/**
 * infer_meet() - the unit hit a guard in a known context
 * @table: of the thread's loop
 * @state: of the thread
 * @i: index of the context
 *
 * Return: 1 if it is the context's first hit in this unit, else 0.
 */
static inline int infer_meet(const struct infer_table *table, struct infer_state *state, __u32 i)
{
	const struct infer_weight *weight = &table->weights[table->contexts[i].first_weight];
	const struct infer_weight *end = weight + table->contexts[i].nr_weights;
	int is_new = infer_is_new(table, state, i);

	if (table->paper)
		for (; weight < end; weight++)
			infer_count(table, state, weight);
	else if (is_new)
		infer_add_all(table, state, weight, end);
	return is_new;
}

/**
 * infer_hit() - the unit hit a guard
 * @table: of the thread's loop
 * @state: of the thread
 * @site: number of the guard site
 * @depth: stack depth, in bytes
 *
 * Return: 1 if training knew this context, else 0.
 */
static inline int infer_hit(const struct infer_table *table, struct infer_state *state,
			    __u32 site, __u32 depth)
{
	__u32 i = infer_find(table, site, depth);

	if (i == table->nr_contexts)
		return 0;
	infer_meet(table, state, i);
	return 1;
}

/**
 * infer_early() - the type of a unit that runs
 * @state: of the thread
 *
 * Return: index of the type, or INFER_NO_TYPE.
 */
static inline __u16 infer_early(const struct infer_state *state)
{
	return state->best_early;
}

/**
 * infer_end() - the type of a unit that ended
 * @state: of the thread, which can be read until the next unit begins
 *
 * Return: index of the type, or INFER_NO_TYPE.
 */
static inline __u16 infer_end(const struct infer_state *state)
{
	return state->best_final;
}

/**
 * infer_margin() - how far the best type is ahead of the next
 * @table: of the thread's loop, not for the paper's rule
 * @state: of the thread
 * @is_final: by the final scores, else by the early ones
 *
 * Looks at all types: for alerts, not for hits.
 *
 * Return: difference of the scores; INFER_PER_BIT is a factor of two.
 */
static inline __u32 infer_margin(const struct infer_table *table, const struct infer_state *state,
				 int is_final)
{
	__u16 best = is_final ? state->best_final : state->best_early;
	__u32 margin = INFER_MAX_SCORE;
	int top;

	if (best == INFER_NO_TYPE)
		return 0;
	top = infer_get(table, state, best, is_final);
	for (__u32 i = 0; i < table->nr_types; i++) {
		__u32 less = (__u32)(top - infer_get(table, state, i, is_final));

		if (i != best && less < margin)
			margin = less;
	}
	return margin;
}

/* The larger of two thresholds; none (0) is above all. */
static inline __u64 infer_later(__u64 a, __u64 b)
{
	return a - 1 > b - 1 ? a : b;
}

/**
 * infer_limit() - from when on a unit that runs is late whatever it turns out to be
 * @table: of the thread's loop
 * @state: of the thread
 *
 * The largest threshold of the types that the unit may still be of: before the
 * first hit any, then those not too far behind the best.  Looks at all types:
 * for units that are beyond the threshold of the best.
 *
 * Return: ns; 0 if there is none.
 */
static inline __u64 infer_limit(const struct infer_table *table, const struct infer_state *state)
{
	__u16 best = state->best_early;
	int is_any = !state->contexts || best == INFER_NO_TYPE;
	__u64 limit;
	int top;

	if (!table->nr_types)
		return 0;
	limit = table->types[is_any ? 0 : best].threshold_ns;
	if (table->paper && !is_any)
		return limit;
	top = is_any ? 0 : infer_get(table, state, best, 0);
	for (__u32 i = 0; i < table->nr_types; i++)
		if (is_any || infer_get(table, state, i, 0) + INFER_PLAUSIBLE >= top)
			limit = infer_later(limit, table->types[i].threshold_ns);
	return limit;
}

/**
 * infer_fits() - is a unit that ended like those that training saw of its type
 * @table: of the thread's loop
 * @state: of the thread
 *
 * The caller knows of hits in unknown contexts.
 *
 * Return: 1 or 0; 1 by the paper's rule, which has no measure of it.
 */
static inline int infer_fits(const struct infer_table *table, const struct infer_state *state)
{
	__u16 best = state->best_final;
	const struct infer_score *score;

	if (table->paper || best == INFER_NO_TYPE)
		return 1;
	score = &state->scores[best];
	if (state->contexts &&
	    (score->epoch != state->epoch || score->matched != (__u16)state->contexts))
		return 0;
	return infer_get(table, state, best, 1) >= table->types[best].least_final;
}

#endif /* _PGUARD_INFER_H */
