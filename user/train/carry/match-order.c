// SPDX-License-Identifier: GPL-2.0

#include "train/carry/match-sides.h"

enum {
	MAX_GAP = 48, /* functions between two that are matched */
	SHORT = 10, /* instructions: others are like it by accident */
	MOST_IN_ORDER = 200, /* of so many matched functions one may stand before the one before */
};

/* Of functions at one place, and how much more than any other's of the place. */
#define LIKE_IN_GAP 0.85
#define MARGIN 0.15

/* Functions that are not matched, between two that are. */
struct match_gap {
	uint32_t begin[2];
	uint32_t nr[2];
};

/* The gap behind the matched function @at of the old file; false if there is none. */
static bool find_gap(const struct match_sides *sides, uint32_t at, struct match_gap *ret)
{
	uint32_t nr_old = sides->of[0].prints->nr - 1, nr_new = sides->of[1].prints->nr - 1;
	const uint32_t *match = sides->of[0].match;
	uint32_t end = at + 1, end_new;

	while (end < nr_old && match[end] == UINT32_MAX)
		end++;
	end_new = end < nr_old ? match[end] : nr_new;
	*ret = (struct match_gap){ { at + 1, match[at] + 1 }, { end - at - 1, end_new - match[at] - 1 } };
	if (end_new <= match[at] || !ret->nr[0] || !ret->nr[1] || ret->nr[0] > MAX_GAP ||
	    ret->nr[1] > MAX_GAP)
		return false;
	for (uint32_t i = match[at] + 1; i < end_new; i++)
		if (sides->of[1].match[i] != UINT32_MAX)
			return false;
	return true;
}

/* The most alike of @function of @side among the other side's; -1 if others are as much so. */
static int64_t best_of(const double likeness[MAX_GAP][MAX_GAP], const struct match_gap *gap,
		       int side, uint32_t function)
{
	double best = 0, second = 0;
	int64_t at = -1;

	for (uint32_t i = 0; i < gap->nr[!side]; i++) {
		double value = side ? likeness[i][function] : likeness[function][i];

		if (value > best) {
			second = best;
			best = value;
			at = i;
		} else if (value > second) {
			second = value;
		}
	}
	return best >= LIKE_IN_GAP && best - second >= MARGIN ? at : -1;
}

static double likeness_of(const struct match_sides *sides, uint32_t old, uint32_t new)
{
	return sides->of[0].prints->functions[old].nr_insns < SHORT ? 0
								    : match_likeness(sides, old, new);
}

static void match_best(struct match_sides *sides, const struct match_gap *gap)
{
	double likeness[MAX_GAP][MAX_GAP];

	for (uint32_t i = 0; i < gap->nr[0]; i++)
		for (uint32_t j = 0; j < gap->nr[1]; j++)
			likeness[i][j] = likeness_of(sides, gap->begin[0] + i, gap->begin[1] + j);
	for (uint32_t i = 0; i < gap->nr[0]; i++) {
		int64_t j = best_of(likeness, gap, 0, i);

		if (j >= 0 && best_of(likeness, gap, 1, (uint32_t)j) == i &&
		    match_pair(sides, gap->begin[0] + i, gap->begin[1] + (uint32_t)j))
			sides->is_by_order[gap->begin[0] + i] = true;
	}
}

/* No function of the gap has the code of another one there. */
static bool is_only(const struct match_sides *sides, const struct match_gap *gap, uint32_t at)
{
	const struct fingerprint *functions = &sides->of[0].prints->functions[gap->begin[0]];

	for (uint32_t i = 0; i < gap->nr[0]; i++)
		if (i != at && functions[i].code == functions[at].code)
			return false;
	return true;
}

/*
 * The same code in the same order between two functions that are certain whatever the order.
 * Those that are alike there may have changed their places.
 */
static void match_row(struct match_sides *sides, const struct match_gap *gap)
{
	const struct fingerprint *old = &sides->of[0].prints->functions[gap->begin[0]];
	const struct fingerprint *new = &sides->of[1].prints->functions[gap->begin[1]];

	if (gap->nr[0] != gap->nr[1] || gap->begin[0] + gap->nr[0] + 1 >= sides->of[0].prints->nr ||
	    sides->is_by_order[gap->begin[0] - 1] || sides->is_by_order[gap->begin[0] + gap->nr[0]])
		return;
	for (uint32_t i = 0; i < gap->nr[0]; i++)
		if (old[i].code != new[i].code || old[i].nr_insns != new[i].nr_insns)
			return;
	for (uint32_t i = 0; i < gap->nr[0]; i++)
		if (is_only(sides, gap, i) &&
		    match_pair(sides, gap->begin[0] + i, gap->begin[1] + i))
			sides->is_by_order[gap->begin[0] + i] = true;
}

/*
 * Both files have their functions in one order.  Where the linker optimised the whole program
 * they may stand anywhere, and order says nothing of functions with the same code.
 */
static bool are_in_order(const struct match_sides *sides)
{
	const uint32_t *match = sides->of[0].match;
	uint32_t before = 0, nr = 0, back = 0;

	for (uint32_t i = 0; i + 1 < sides->of[0].prints->nr; i++) {
		if (match[i] == UINT32_MAX || sides->is_by_order[i])
			continue;
		back += match[i] < before;
		before = match[i];
		nr++;
	}
	return back <= nr / MOST_IN_ORDER;
}

void match_by_order(struct match_sides *sides)
{
	bool has_rows = are_in_order(sides);

	for (uint32_t i = 0; i + 1 < sides->of[0].prints->nr; i++) {
		struct match_gap gap;

		if (sides->of[0].match[i] == UINT32_MAX || !find_gap(sides, i, &gap))
			continue;
		if (has_rows)
			match_row(sides, &gap);
		match_best(sides, &gap);
	}
}
