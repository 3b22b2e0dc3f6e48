/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Inference of the type of a unit from the few guards it hit.
 *
 * One source for the module, for training (which predicts the inference of a
 * set of guards) and for the tests.  Integers only, nothing is allocated, and a
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
 * for the type.  While guards are shed it may lack their contexts and still fit.
 *
 * A table serves one event loop and is not written while it is in use.  A
 * state belongs to one thread, and only that thread changes it.  Others may
 * read it meanwhile: the values may be stale, or from two moments, but are never
 * out of bounds.
 */
#ifndef _PERFGUARD_INFER_H
#define _PERFGUARD_INFER_H

#include <perfguard/infer-table.h>

/* The slot of the context with @key; of another key if there is none. */
static inline const struct infer_slot *infer_find(const struct infer_table *table, __u64 key)
{
	__u64 at = infer_hash(table, key);

	for (; table->slots[at].key != key; at = (at + 1) & table->slot_mask)
		if (table->slots[at].key == INFER_NO_KEY)
			break;
	return &table->slots[at];
}

static inline struct infer_seen *infer_seen(const struct infer_table *table,
					    struct infer_state *state)
{
	return (struct infer_seen *)&state->scores[table->nr_types];
}

/* Restart the epochs: no entry may seem to be of a later one. */
static inline void infer_renew(const struct infer_table *table, struct infer_state *state)
{
	struct infer_seen *seen = infer_seen(table, state);

	for (__u32 i = 0; i < table->nr_types; i++)
		state->scores[i].epoch = 0;
	for (__u32 i = 0; i < (table->nr_contexts + 31) / 32; i++)
		seen[i].epoch = 0;
	state->epoch = 0;
}

/**
 * infer_begin() - a unit begins
 * @table: of the thread's loop
 * @state: of the thread
 */
static inline void infer_begin(const struct infer_table *table, struct infer_state *state)
{
	if (state->epoch >= 0xffff)
		infer_renew(table, state);
	state->epoch++;
	state->contexts = 0;
	state->best_early = table->begin_early;
	state->best_final = table->begin_final;
}

/* The unit met context @i. */
static inline void infer_mark(const struct infer_table *table, struct infer_state *state, __u32 i)
{
	struct infer_seen *seen = &infer_seen(table, state)[i / 32];

	if (seen->epoch != state->epoch) {
		seen->epoch = state->epoch;
		seen->bits = 0;
	}
	seen->bits |= 1u << i % 32;
}

/* True if the unit met context @i. */
static inline int infer_has_met(const struct infer_table *table, const struct infer_state *state,
				__u32 i)
{
	const struct infer_seen *seen = (const void *)&state->scores[table->nr_types];

	return seen[i / 32].epoch == state->epoch && seen[i / 32].bits & 1u << i % 32;
}

static inline int infer_get(const struct infer_table *table, const struct infer_state *state,
			    __u32 type, int is_final)
{
	const struct infer_score *score = &state->scores[table->rank_of[type] - 1];

	if (score->epoch != state->epoch)
		return infer_base(table, type, is_final);
	return (is_final ? score->final : score->early) - INFER_ZERO;
}

static inline const struct infer_candidate *
infer_first_candidate(const struct infer_table *table, __u32 context)
{
	return &table->candidates[table->contexts[context].first_weight];
}

static inline __u16 infer_sum(__u32 score, __u32 weight)
{
	score += weight;
	return (__u16)(score < INFER_ZERO + INFER_MAX_SCORE ? score :
							      INFER_ZERO + INFER_MAX_SCORE);
}

/* Where a score may become too large: it stays at the largest. */
static inline struct infer_score infer_sum_all(struct infer_score score,
					       struct infer_candidate candidate)
{
	score.final = infer_sum(score.final, candidate.final);
	score.early = infer_sum(score.early, candidate.early);
	score.matched++;
	return score;
}

/*
 * No score sinks, so the best is the best of those that rise and the best before.
 * @is_safe: none can become too large; a constant, for two loops instead of one.
 */
static inline void infer_add_all(const struct infer_table *table, struct infer_state *state,
				 __u32 context, int is_safe)
{
	const struct infer_candidate *candidate = infer_first_candidate(table, context);
	const struct infer_candidate *end = candidate + table->contexts[context].nr_weights;
	__u32 early = state->best_early, final = state->best_final;
	const struct infer_score *starts = table->starts;
	__u16 epoch = (__u16)state->epoch;

	for (; candidate < end; candidate++) {
		__u64 rank = candidate->rank;
		struct infer_score sum;

		if (state->scores[rank - 1].epoch == epoch)
			sum = state->scores[rank - 1];
		else
			sum = starts[rank - 1];
		if (is_safe)
			sum.word += candidate->word;
		else
			sum = infer_sum_all(sum, *candidate);
		state->scores[rank - 1].word = sum.word;
		state->scores[rank - 1].epoch = epoch;
		early = infer_max(early, infer_standing(sum.early, (__u32)rank));
		final = infer_max(final, infer_standing(sum.final, (__u32)rank));
	}
	state->best_early = early;
	state->best_final = final;
}

static inline void infer_count_one(struct infer_state *state, __u16 rank)
{
	struct infer_score *score = &state->scores[rank - 1];
	__u32 best = state->best_early;

	if (score->epoch != state->epoch) {
		score->epoch = (__u16)state->epoch;
		score->hits = 0;
	}
	score->hits++;
	if (!best || score->hits > state->scores[best - 1].hits ||
	    (score->hits == state->scores[best - 1].hits && rank > best))
		best = rank;
	state->best_early = best;
	state->best_final = best;
}

/* The slow path, out of line to leave the registers to the fast one. */
static __attribute__((__noinline__, __unused__)) void
infer_add_carefully(const struct infer_table *table, struct infer_state *state, __u32 context)
{
	infer_add_all(table, state, context, 0);
}

/* Add the first hit of a context in a unit, by rule W. */
static inline void infer_add(const struct infer_table *table, struct infer_state *state,
			     __u32 context)
{
	if (++state->contexts <= table->nr_safe)
		infer_add_all(table, state, context, 1);
	else
		infer_add_carefully(table, state, context);
}

/* Every hit, by the paper's rule. */
static inline void infer_count(const struct infer_table *table, struct infer_state *state,
			       __u32 context, int is_new)
{
	const struct infer_candidate *candidate = infer_first_candidate(table, context);
	const struct infer_candidate *end = candidate + table->contexts[context].nr_weights;

	state->contexts += is_new;
	for (; candidate < end; candidate++)
		infer_count_one(state, candidate->rank);
}

/**
 * infer_meet() - the unit hit a guard in a known context
 * @table: of the thread's loop
 * @slot: the context's
 * @state: of the thread
 *
 * Return: 1 if it is the context's first hit in this unit, else 0.
 */
static inline int infer_meet(const struct infer_table *table, const struct infer_slot *slot,
			     struct infer_state *state)
{
	int is_new = !infer_has_met(table, state, slot->context);

	if (is_new)
		infer_mark(table, state, slot->context);
	if (table->paper)
		infer_count(table, state, slot->context, is_new);
	else if (is_new)
		infer_add(table, state, slot->context);
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
	__u64 key = infer_key(site, depth);
	const struct infer_slot *slot = infer_find(table, key);

	if (slot->key != key || depth > INFER_MAX_DEPTH)
		return 0;
	infer_meet(table, slot, state);
	return 1;
}

/**
 * infer_early() - the type of a unit that runs
 * @table: of the thread's loop
 * @state: of the thread
 *
 * Return: index of the type, or INFER_NO_TYPE.
 */
static inline __u16 infer_early(const struct infer_table *table, const struct infer_state *state)
{
	return infer_type_at(table, state->best_early);
}

/**
 * infer_end() - the type of a unit that ended
 * @table: of the thread's loop
 * @state: of the thread, which can be read until the next unit begins
 *
 * Return: index of the type, or INFER_NO_TYPE.
 */
static inline __u16 infer_end(const struct infer_table *table, const struct infer_state *state)
{
	return infer_type_at(table, state->best_final);
}

/**
 * infer_margin() - how far the best type is ahead of the next
 * @table: of the thread's loop, not for the paper's rule
 * @state: of the thread
 * @is_final: by the final scores, else by the early ones
 *
 * Reads all types: for alerts, not for hits.
 *
 * Return: difference of the scores; INFER_PER_BIT is a factor of two.
 */
static inline __u32 infer_margin(const struct infer_table *table, const struct infer_state *state,
				 int is_final)
{
	__u16 best = is_final ? infer_end(table, state) : infer_early(table, state);
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

/**
 * infer_may_be() - may the unit that runs still be of a type
 * @table: of the thread's loop
 * @state: of the thread
 * @type: index of the type
 *
 * Before the first hit it may be of any; then of those that are not too far behind the
 * best.  By the paper's rule of the best alone.
 */
static inline int infer_may_be(const struct infer_table *table, const struct infer_state *state,
			       __u16 type)
{
	__u16 best = infer_early(table, state);

	if (!state->contexts || best == INFER_NO_TYPE)
		return 1;
	if (table->paper)
		return type == best;
	return infer_get(table, state, type, 0) + INFER_PLAUSIBLE >=
	       infer_get(table, state, best, 0);
}

/* True if the type of @rank, not 0, is a candidate of all contexts that the unit met. */
static inline int infer_matches(const struct infer_state *state, __u16 rank)
{
	const struct infer_score *score = &state->scores[rank - 1u];

	return !state->contexts ||
	       (score->epoch == state->epoch && score->matched == (__u16)state->contexts);
}

/* How well a unit that ended fits those that training saw of its type. */
enum infer_fit {
	INFER_FIT_NONE,
	/* All contexts that it met are of the type; but it lacks some. */
	INFER_FIT_SHORT,
	INFER_FIT_WHOLE,
};

/**
 * infer_fit() - how well a unit that ended fits those that training saw of its type
 * @table: of the thread's loop
 * @state: of the thread
 *
 * The caller knows of hits in unknown contexts, and whether guards are shed: a
 * lack of contexts may be due to them.
 *
 * Return: INFER_FIT_WHOLE by the paper's rule, which has no measure of it.
 */
static inline enum infer_fit infer_fit(const struct infer_table *table,
				       const struct infer_state *state)
{
	__u32 best = state->best_final;

	if (table->paper || !best)
		return INFER_FIT_WHOLE;
	if (!infer_matches(state, (__u16)best))
		return INFER_FIT_NONE;
	/* Its standing holds its score. */
	return (int)(best >> 16) - INFER_ZERO >=
	       table->types[infer_type_at(table, best)].least_final ?
	       INFER_FIT_WHOLE : INFER_FIT_SHORT;
}

/* While all guards are on.  Return: 1 or 0. */
static inline int infer_fits(const struct infer_table *table, const struct infer_state *state)
{
	return infer_fit(table, state) == INFER_FIT_WHOLE;
}

#endif /* _PERFGUARD_INFER_H */
