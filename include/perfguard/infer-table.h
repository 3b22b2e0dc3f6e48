/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The data of infer.h: the types, contexts and weights of an event loop, tables
 * built from them once to make a hit cheap, and the state of a thread.
 *
 * Types are ranked: of those with equal scores the one with the highest rank is
 * inferred.  A score with the rank behind it is a standing: one
 * comparison of standings gives the better type.
 */
#ifndef _PERFGUARD_INFER_TABLE_H
#define _PERFGUARD_INFER_TABLE_H

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
	/* Multipliers tried for the slots, and contexts put into them meanwhile, at most. */
	INFER_TRIES = 64,
	INFER_PUTS = 1 << 16,
	/* Deeper contexts are not found; it leaves a key for slots without one. */
	INFER_MAX_DEPTH = 0x7fffffff,
	/*
	 * How far behind the best a type may be that a running unit may still be
	 * of: about one chance in a hundred.
	 */
	INFER_PLAUSIBLE = 27,
};

/**
 * struct infer_type - a type of unit
 * @threshold_ns: how long a unit of it may take; 0: any time
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
 * struct infer_weight - the evidence of a context for one of its candidates
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
 * struct infer_slot - of the hash table that contexts are found by
 * @key: infer_key() of its context; INFER_NO_KEY if it has none
 * @context: index
 */
struct infer_slot {
	__u64 key;
	__u32 context;
};

#define INFER_NO_KEY (~0ull)
#define INFER_GOLDEN 0x9e3779b97f4a7c15ull	/* the golden ratio's part behind the point */
#define INFER_ANY 0x7fffffffffffffffll

/*
 * A type's score.  Early and final ones have INFER_ZERO added and so are never
 * negative: the sum of two words is that of their parts.
 */
struct infer_score {
	union {
		struct {
			union {
				struct {
					__u16 final;
					__u16 early;
				};
				__u32 hits; /* the paper's */
			};
			__u16 matched; /* contexts met that it is a candidate of */
			__u16 epoch; /* of another one: it is the start score */
		};
		__u64 word;
	};
};

enum { INFER_ZERO = 0x8000 };

/* A weight as it is added to the score of that rank. */
struct infer_candidate {
	union {
		struct {
			__u16 final;
			__u16 early;
			__u16 matched; /* 1 */
			__u16 rank;
		};
		__u64 word;
	};
};

/**
 * struct infer_table - the types and contexts of the units of an event loop
 * @types: the types
 * @contexts: the contexts, no two with equal site and depth
 * @weights: the candidates of all contexts
 * @nr_types: number of types
 * @nr_contexts: number of contexts
 * @nr_weights: number of weights
 * @paper: count hits as the paper does
 * @slots: hash table of contexts
 * @slot_mask: number of slots, a power of two, less 1
 * @slot_shift: 64 less the bits of the mask
 * @multiplier: of the keys, chosen so that few contexts share a slot
 * @nr_safe: contexts that a unit may meet, and still no score can be too large
 * @starts: start scores, by rank less 1
 * @candidates: the weights
 * @type_of: types, by rank less 1
 * @rank_of: ranks, by type: from 1, of types with equal scores the highest is inferred
 * @default_early: standing of the type with the highest early start score
 * @begin_early: standing of a unit's type before the first hit, and
 * @begin_final: that by final scores; 0, no type, by the paper's rule
 */
struct infer_table {
	const struct infer_type *types;
	const struct infer_context *contexts;
	const struct infer_weight *weights;
	__u32 nr_types;
	__u32 nr_contexts;
	__u32 nr_weights;
	__u8 paper;
	/* private: infer_table_init() */
	__u32 slot_mask;
	__u32 slot_shift;
	__u64 multiplier;
	__u32 nr_safe;
	const struct infer_slot *slots;
	const struct infer_score *starts;
	const struct infer_candidate *candidates;
	const __u16 *type_of;
	const __u16 *rank_of;
	__u32 default_early;
	__u32 begin_early;
	__u32 begin_final;
};

/* Which of 32 contexts the unit met; of another epoch: none. */
struct infer_seen {
	__u32 epoch;
	__u32 bits;
};

/**
 * struct infer_state - a thread's unit
 * @epoch: number of the unit, from 1 to 65535; scores of another are void
 * @contexts: different contexts met
 * @best_early: standing of the type with the highest early score, 0 if there is none
 * @best_final: standing of the type with the highest final score, the same
 * @scores: by rank less 1; a struct infer_seen for each 32 contexts follows
 */
struct infer_state {
	__u32 epoch;
	__u32 contexts;
	__u32 best_early;
	__u32 best_final;
	struct infer_score scores[];
};

static inline __u32 infer_max(__u32 a, __u32 b)
{
	return a > b ? a : b;
}

/* A score before a rank, so that the larger one is the better one. */
static inline __u32 infer_standing(__u32 score, __u32 rank)
{
	return score << 16 | rank;
}

/* The type of a standing. */
static inline __u16 infer_type_at(const struct infer_table *table, __u32 standing)
{
	__u16 rank = (__u16)standing;

	return rank ? table->type_of[rank - 1] : INFER_NO_TYPE;
}

/* The slots that a table of @nr_contexts needs. */
static inline __u32 infer_nr_slots(__u32 nr_contexts)
{
	__u32 nr = 2;

	while (nr < 2 * nr_contexts)
		nr *= 2;
	return nr;
}

/* Bytes that infer_table_init() needs, a multiple of 8. */
static inline __u64 infer_room(const struct infer_table *table)
{
	return infer_nr_slots(table->nr_contexts) * sizeof(struct infer_slot) +
	       table->nr_types * sizeof(struct infer_score) +
	       table->nr_weights * sizeof(struct infer_candidate) +
	       (table->nr_types + 1) / 2 * 4 * sizeof(__u16);
}

/* Bytes of a state for @table, which the caller clears once before its first use. */
static inline __u32 infer_state_size(const struct infer_table *table)
{
	return sizeof(struct infer_state) + table->nr_types * sizeof(struct infer_score) +
	       (table->nr_contexts + 31) / 32 * sizeof(struct infer_seen);
}

static inline __u64 infer_key(__u32 site, __u32 depth)
{
	return (__u64)site << 32 | depth;
}

/* The slot in which the search for @key begins. */
static inline __u64 infer_hash(const struct infer_table *table, __u64 key)
{
	return key * table->multiplier >> table->slot_shift;
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

/* Types in the order of their ranks; Shell's sort. */
static inline void infer_rank(struct infer_table *table, __u16 *type_of, __u16 *rank_of)
{
	__u32 gap = 1;

	while (gap < table->nr_types / 3)
		gap = 3 * gap + 1;
	for (__u32 i = 0; i < table->nr_types; i++)
		type_of[i] = (__u16)i;
	for (; gap; gap /= 3) {
		for (__u32 i = gap; i < table->nr_types; i++) {
			__u16 type = type_of[i];
			__u32 at = i;

			for (; at >= gap && infer_wins_tie(table, type_of[at - gap], type);
			     at -= gap)
				type_of[at] = type_of[at - gap];
			type_of[at] = type;
		}
	}
	for (__u32 i = 0; i < table->nr_types; i++)
		rank_of[type_of[i]] = (__u16)(i + 1);
	table->type_of = type_of;
	table->rank_of = rank_of;
}

/* The start scores; the best of them, and how far they are from the largest. */
static inline void infer_make_starts(struct infer_table *table, struct infer_score *starts)
{
	__u32 best_early = 0, best_final = 0, top = 0;

	for (__u32 i = 0; i < table->nr_types; i++) {
		const struct infer_type *type = &table->types[table->type_of[i]];
		__u32 early = (__u32)(type->base_early + INFER_ZERO);
		__u32 final = (__u32)(type->base_final + INFER_ZERO);

		starts[i].word = 0;
		starts[i].early = (__u16)early;
		starts[i].final = (__u16)final;
		best_early = infer_max(best_early, infer_standing(early, i + 1));
		best_final = infer_max(best_final, infer_standing(final, i + 1));
		top = infer_max(top, infer_max(early, final));
	}
	table->starts = starts;
	table->default_early = best_early;
	table->begin_early = table->paper ? 0 : best_early;
	table->begin_final = table->paper ? 0 : best_final;
	table->nr_safe = (INFER_ZERO + INFER_MAX_SCORE - top) / INFER_MAX_WEIGHT;
}

static inline void infer_make_candidates(struct infer_table *table,
					 struct infer_candidate *candidates)
{
	for (__u32 i = 0; i < table->nr_weights; i++) {
		candidates[i].final = table->weights[i].final;
		candidates[i].early = table->weights[i].early;
		candidates[i].matched = 1;
		candidates[i].rank = table->rank_of[table->weights[i].type];
	}
	table->candidates = candidates;
}

/*
 * Put context @i into a slot.
 * Return: how many slots on it had to go, or -EEXIST if its equal is there.
 */
static inline int infer_put(const struct infer_table *table, struct infer_slot *slots, __u32 i)
{
	__u64 key = infer_key(table->contexts[i].site, table->contexts[i].depth);
	__u64 at = infer_hash(table, key);
	int steps = 0;

	if (table->contexts[i].depth > INFER_MAX_DEPTH)
		return 0;
	for (; slots[at].key != INFER_NO_KEY; at = (at + 1) & table->slot_mask, steps++)
		if (slots[at].key == key)
			return -EEXIST;
	slots[at].key = key;
	slots[at].context = i;
	return steps;
}

/*
 * Put all contexts into slots by this multiplier, unless it is not better than @most.
 * Return: how many slots on they had to go in all, or -EEXIST.
 */
static inline __s64 infer_put_all(struct infer_table *table, struct infer_slot *slots,
				  __u64 multiplier, __s64 most)
{
	__s64 sum = 0;

	table->multiplier = multiplier;
	for (__u32 i = 0; i <= table->slot_mask; i++)
		slots[i].key = INFER_NO_KEY;
	for (__u32 i = 0; i < table->nr_contexts && sum < most; i++) {
		int steps = infer_put(table, slots, i);

		if (steps < 0)
			return steps;
		sum += steps;
	}
	return sum;
}

/* Odd numbers without a pattern; of Marsaglia's xorshift. */
static inline __u64 infer_next_multiplier(__u64 multiplier)
{
	multiplier ^= multiplier << 13;
	multiplier ^= multiplier >> 7;
	multiplier ^= multiplier << 17;
	return multiplier;
}

/*
 * Fill the slots.  Contexts come with few sites, and with depths that differ by
 * little, so that what spreads those of one profile does not spread another's:
 * the best of some multipliers is taken, of fewer the more contexts there are.
 */
static inline int infer_make_slots(struct infer_table *table, struct infer_slot *slots)
{
	__u32 tries = INFER_PUTS / (table->nr_contexts + 1);
	__u64 multiplier = INFER_GOLDEN, best = multiplier;
	__s64 least = infer_put_all(table, slots, multiplier, INFER_ANY), steps;

	for (__u32 i = 0; i < tries && i < INFER_TRIES && least > 0; i++) {
		multiplier = infer_next_multiplier(multiplier);
		steps = infer_put_all(table, slots, multiplier | 1, least);
		if (steps < least) {
			least = steps;
			best = multiplier | 1;
		}
	}
	if (table->multiplier != best)
		infer_put_all(table, slots, best, INFER_ANY);
	table->slots = slots;
	return least < 0 ? (int)least : 0;
}

/**
 * infer_table_init() - check and complete a table
 * @table: filled in except the private members
 * @room: of infer_room(); must live as long as the table
 *
 * Return: 0; -EINVAL if a number is out of bounds; -EEXIST if two contexts are
 * equal.
 */
static inline int infer_table_init(struct infer_table *table, void *room)
{
	__u32 nr_slots = infer_nr_slots(table->nr_contexts);
	struct infer_slot *slots = room;
	struct infer_score *starts = (void *)&slots[nr_slots];
	struct infer_candidate *candidates = (void *)&starts[table->nr_types];
	__u16 *type_of = (void *)&candidates[table->nr_weights];
	int ret;

	if (!infer_is_sound(table))
		return -EINVAL;
	table->slot_mask = nr_slots - 1;
	table->slot_shift = 64;
	for (__u32 i = nr_slots; i > 1; i /= 2)
		table->slot_shift--;
	ret = infer_make_slots(table, slots);
	if (ret)
		return ret;
	infer_rank(table, type_of, &type_of[table->nr_types]);
	infer_make_starts(table, starts);
	infer_make_candidates(table, candidates);
	return 0;
}

#endif /* _PERFGUARD_INFER_TABLE_H */
