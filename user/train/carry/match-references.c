// SPDX-License-Identifier: GPL-2.0

#include "train/carry/match-sides.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

enum {
	MAX_CELLS = 4 * 1024 * 1024, /* of an alignment */
	/* What it is worth to take two references for the same. */
	SAME = 3,
	MAYBE = 2, /* both functions that are not matched */
	SHORT = 10, /* instructions: others are like it by accident */
};

/* How alike two functions must be that stand at one place of the same code, or of changed code. */
#define LIKE_IN_SAME_CODE 0.5
#define LIKE_IN_CHANGED_CODE 0.85

struct vote {
	uint32_t function[2];
	bool is_strong;
};

struct ballot {
	struct match_sides *sides;
	struct vote *votes;
	size_t max;
	uint32_t nr;
	uint16_t *row;
	uint8_t *cells;
};

/* References of a matched pair, from a common place on. */
struct aligned {
	const struct fingerprint_ref *refs[2];
	uint32_t nr[2];
	bool is_same_code;
};

static unsigned int worth_of(const struct match_sides *sides, const struct fingerprint_ref *a,
			     const struct fingerprint_ref *b)
{
	uint64_t x = match_ref_label(sides, 0, a), y = match_ref_label(sides, 1, b);

	if (a->kind != b->kind || x != y)
		return 0;
	return x ? SAME : MAYBE;
}

static int vote(struct ballot *ballot, const struct aligned *aligned, uint32_t i, uint32_t j)
{
	const struct fingerprint_ref *a = &aligned->refs[0][i], *b = &aligned->refs[1][j];

	if (a->kind != b->kind || a->kind > FINGERPRINT_CODE ||
	    match_label(ballot->sides, 0, a->value) || match_label(ballot->sides, 1, b->value))
		return 0;
	if (array_grow(ballot->votes, ballot->nr, ballot->max))
		return -ENOMEM;
	ballot->votes[ballot->nr++] = (struct vote){
		{ a->value, b->value }, aligned->is_same_code,
	};
	return 0;
}

/* Needleman and Wunsch; what is left out costs nothing. */
enum { FROM_OLD, FROM_NEW, FROM_BOTH };

static void fill_cells(struct ballot *ballot, const struct aligned *aligned)
{
	uint32_t nr = aligned->nr[1];
	uint16_t *row = ballot->row;

	memset(row, 0, (nr + 1UL) * sizeof(*row));
	for (uint32_t i = 0; i < aligned->nr[0]; i++) {
		uint16_t before = 0;

		for (uint32_t j = 0; j < nr; j++) {
			unsigned int worth = worth_of(ballot->sides, &aligned->refs[0][i],
						      &aligned->refs[1][j]);
			uint16_t above = row[j + 1];
			uint16_t best = row[j] > above ? row[j] : above;
			uint8_t from = row[j] > above ? FROM_NEW : FROM_OLD;

			if (worth && before + worth > best) {
				best = (uint16_t)(before + worth);
				from = FROM_BOTH;
			}
			ballot->cells[(size_t)i * nr + j] = from;
			before = above;
			row[j + 1] = best;
		}
	}
}

static int take_path(struct ballot *ballot, const struct aligned *aligned)
{
	uint32_t i = aligned->nr[0], j = aligned->nr[1];
	int error = 0;

	while (i && j && !error) {
		switch (ballot->cells[(size_t)(i - 1) * aligned->nr[1] + j - 1]) {
		case FROM_OLD:
			i--;
			break;
		case FROM_NEW:
			j--;
			break;
		default:
			error = vote(ballot, aligned, --i, --j);
		}
	}
	return error;
}

/* The same code refers in the same order; the rest is aligned, from the ends that differ. */
static int align(struct ballot *ballot, struct aligned *aligned)
{
	uint32_t *nr = aligned->nr;
	int error = 0;

	if (nr[0] == nr[1] && aligned->is_same_code) {
		for (uint32_t i = 0; i < nr[0] && !error; i++)
			error = vote(ballot, aligned, i, i);
		return error;
	}
	while (nr[0] && nr[1] && worth_of(ballot->sides, aligned->refs[0], aligned->refs[1]) == SAME) {
		aligned->refs[0]++;
		aligned->refs[1]++;
		nr[0]--;
		nr[1]--;
	}
	while (nr[0] && nr[1] && worth_of(ballot->sides, &aligned->refs[0][nr[0] - 1],
					  &aligned->refs[1][nr[1] - 1]) == SAME) {
		nr[0]--;
		nr[1]--;
	}
	if (!nr[0] || !nr[1] || nr[0] > MAX_CELLS / nr[1])
		return 0;
	fill_cells(ballot, aligned);
	return take_path(ballot, aligned);
}

static bool has_unmatched(const struct match_sides *sides, int side, const struct fingerprint *print)
{
	const struct fingerprint_ref *refs = &sides->of[side].prints->refs[print->first_ref];

	for (uint32_t i = 0; i < print->nr_refs; i++)
		if (refs[i].kind <= FINGERPRINT_CODE && !match_label(sides, side, refs[i].value))
			return true;
	return false;
}

static int vote_by_pair(struct ballot *ballot, uint32_t old, uint32_t new)
{
	const struct match_side *of = ballot->sides->of;
	const struct fingerprint *a = &of[0].prints->functions[old];
	const struct fingerprint *b = &of[1].prints->functions[new];
	struct aligned aligned = {
		.refs = { &of[0].prints->refs[a->first_ref], &of[1].prints->refs[b->first_ref] },
		.nr = { a->nr_refs, b->nr_refs },
		.is_same_code = a->shape == b->shape && a->nr_insns == b->nr_insns && a->nr_insns,
	};

	/* Tables of functions change by rows, which an alignment may mistake. */
	if (!a->nr_insns || !has_unmatched(ballot->sides, 0, a) || !has_unmatched(ballot->sides, 1, b))
		return 0;
	return align(ballot, &aligned);
}

static int by_functions(const void *left, const void *right, void *side)
{
	const struct vote *a = left, *b = right;
	int first = *(const int *)side;

	return order_of(a->function[first], b->function[first]) ?:
	       order_of(a->function[!first], b->function[!first]);
}

/* Take off what votes of @side that differ are for; a kept vote has a true function. */
static void drop_disputed(struct ballot *ballot, int side)
{
	uint32_t kept = 0, end;
	struct vote *votes = ballot->votes;

	qsort_r(votes, ballot->nr, sizeof(*votes), by_functions, &side);
	for (uint32_t i = 0; i < ballot->nr; i = end) {
		struct vote vote = votes[i];
		bool is_one = true;

		for (end = i; end < ballot->nr && votes[end].function[side] == vote.function[side];
		     end++) {
			is_one &= votes[end].function[!side] == vote.function[!side];
			vote.is_strong |= votes[end].is_strong;
		}
		if (is_one)
			votes[kept++] = vote;
	}
	ballot->nr = kept;
}

static bool is_short(const struct match_sides *sides, const struct vote *vote)
{
	return sides->of[0].prints->functions[vote->function[0]].nr_insns < SHORT ||
	       sides->of[1].prints->functions[vote->function[1]].nr_insns < SHORT;
}

static void elect(struct ballot *ballot)
{
	drop_disputed(ballot, 0);
	drop_disputed(ballot, 1);
	for (uint32_t i = 0; i < ballot->nr; i++) {
		const struct vote *vote = &ballot->votes[i];
		double least = vote->is_strong ? LIKE_IN_SAME_CODE : LIKE_IN_CHANGED_CODE;

		if (!vote->is_strong && is_short(ballot->sides, vote))
			continue;
		if (match_likeness(ballot->sides, vote->function[0], vote->function[1]) >= least)
			match_pair(ballot->sides, vote->function[0], vote->function[1]);
	}
}

int match_by_references(struct match_sides *sides)
{
	struct ballot ballot = { .sides = sides };
	int error = 0;

	if (array_new(ballot.row, sides->of[1].prints->nr_refs + 1UL) ||
	    array_new(ballot.cells, MAX_CELLS))
		error = -ENOMEM;
	for (uint32_t i = 0; i < sides->of[0].prints->nr && !error; i++)
		if (sides->of[0].match[i] != UINT32_MAX)
			error = vote_by_pair(&ballot, i, sides->of[0].match[i]);
	if (!error)
		elect(&ballot);
	free(ballot.votes);
	free(ballot.row);
	free(ballot.cells);
	return error;
}
