// SPDX-License-Identifier: GPL-2.0

#include "train/carry/function-match.h"

#include <stdlib.h>

#include "train/carry/match-sides.h"

/* What is matched and less alike than this after all was an error. */
#define LEAST_LIKE 0.4

/* The data of both are the same thing. */
static void match_data(struct match_sides *sides)
{
	uint32_t old = sides->of[0].prints->nr, new = sides->of[1].prints->nr;

	if (old && new)
		match_pair(sides, old - 1, new - 1);
}

static int match_all(struct match_sides *sides)
{
	uint32_t before;
	int error;

	match_data(sides);
	do {
		before = sides->nr;
		error = match_by_marks(sides) ?: match_by_references(sides);
		if (!error && sides->nr == before)
			match_by_order(sides);
	} while (!error && sides->nr > before);
	return error;
}

static void drop_unlike(struct match_sides *sides)
{
	for (uint32_t i = 0; i + 1 < sides->of[0].prints->nr; i++) {
		uint32_t to = sides->of[0].match[i];
		const struct fingerprint *old = &sides->of[0].prints->functions[i];

		if (to == UINT32_MAX ||
		    (old->name && old->name == sides->of[1].prints->functions[to].name) ||
		    match_likeness(sides, i, to) >= LEAST_LIKE)
			continue;
		sides->of[0].match[i] = sides->of[1].match[to] = UINT32_MAX;
		sides->nr--;
	}
}

int function_match_init(struct function_match *match, const struct fingerprints *old,
			const struct fingerprints *new)
{
	struct match_sides sides;
	int error = match_sides_init(&sides, old, new) ?: match_all(&sides);

	if (!error)
		drop_unlike(&sides);
	*match = (struct function_match){
		.to = sides.of[0].match,
		.from = sides.of[1].match,
		.nr = sides.nr,
	};
	match_sides_deinit(&sides);
	return error;
}

void function_match_deinit(struct function_match *match)
{
	free(match->to);
	free(match->from);
	*match = (struct function_match){ 0 };
}
