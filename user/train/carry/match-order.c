// SPDX-License-Identifier: GPL-2.0

#include "train/carry/match-sides.h"

enum {
	MAX_GAP = 48, /* functions between two that are matched */
	SHORT = 10, /* instructions: others are like it by accident */
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

		if (j >= 0 && best_of(likeness, gap, 1, (uint32_t)j) == i)
			match_pair(sides, gap->begin[0] + i, gap->begin[1] + (uint32_t)j);
	}
}

void match_by_order(struct match_sides *sides)
{
	for (uint32_t i = 0; i + 1 < sides->of[0].prints->nr; i++) {
		struct match_gap gap;

		if (sides->of[0].match[i] != UINT32_MAX && find_gap(sides, i, &gap))
			match_best(sides, &gap);
	}
}
