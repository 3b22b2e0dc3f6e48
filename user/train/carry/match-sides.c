// SPDX-License-Identifier: GPL-2.0

#include "train/carry/match-sides.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash-index.h"

enum { MAX_REFS = 4096 }; /* of a function, that its likeness is judged by */

static bool is_of_function(const struct fingerprint_ref *ref)
{
	return ref->kind <= FINGERPRINT_CODE;
}

static int list_callers(struct match_side *side)
{
	const struct fingerprints *prints = side->prints;
	uint32_t *first;

	if (array_new(side->first_caller, prints->nr + 2UL) ||
	    array_new(side->callers, prints->nr_refs))
		return -ENOMEM;
	/* Counted two further on: filling moves each start to its end, which is the next one's. */
	first = side->first_caller + 1;
	for (uint32_t i = 0; i < prints->nr_refs; i++)
		if (is_of_function(&prints->refs[i]) && prints->refs[i].value + 1 < prints->nr)
			first[prints->refs[i].value + 1]++;
	for (uint32_t i = 1; i < prints->nr; i++)
		first[i] += first[i - 1];
	for (uint32_t i = 0; i < prints->nr; i++) {
		const struct fingerprint *print = &prints->functions[i];

		for (uint32_t j = 0; j < print->nr_refs; j++) {
			const struct fingerprint_ref *ref = &prints->refs[print->first_ref + j];

			if (is_of_function(ref))
				side->callers[first[ref->value]++] =
					(struct match_caller){ .function = i, .place = j };
		}
	}
	return 0;
}

int match_sides_init(struct match_sides *sides, const struct fingerprints *old,
		     const struct fingerprints *new)
{
	*sides = (struct match_sides){ .of = { { .prints = old }, { .prints = new } } };
	for (int i = 0; i < 2; i++) {
		struct match_side *side = &sides->of[i];

		if (array_new(side->match, side->prints->nr) || list_callers(side))
			return -ENOMEM;
		memset(side->match, 0xff, side->prints->nr * sizeof(*side->match));
	}
	return array_new(sides->is_by_order, old->nr);
}

void match_sides_deinit(struct match_sides *sides)
{
	free(sides->is_by_order);
	for (int i = 0; i < 2; i++) {
		free(sides->of[i].first_caller);
		free(sides->of[i].callers);
	}
}

uint32_t match_label(const struct match_sides *sides, int side, uint32_t function)
{
	uint32_t match = sides->of[side].match[function];

	if (match == UINT32_MAX)
		return 0;
	return (side ? match : function) + 1;
}

uint64_t match_ref_label(const struct match_sides *sides, int side,
			 const struct fingerprint_ref *ref)
{
	uint64_t value = ref->value;

	if (is_of_function(ref)) {
		value = match_label(sides, side, ref->value);
		if (!value)
			return 0;
	}
	return hash_mix((uint64_t)ref->kind + 1, value);
}

/* The labels of what a function refers to, sorted; how many there are. */
static uint32_t list_labels(const struct match_sides *sides, int side, uint32_t function,
			    uint64_t *ret)
{
	const struct fingerprints *prints = sides->of[side].prints;
	const struct fingerprint *print = &prints->functions[function];
	uint32_t nr = 0;

	for (uint32_t i = 0; i < print->nr_refs && nr < MAX_REFS; i++) {
		ret[nr] = match_ref_label(sides, side, &prints->refs[print->first_ref + i]);
		nr += ret[nr] != 0;
	}
	qsort(ret, nr, sizeof(*ret), order_u64);
	return nr;
}

static uint32_t count_common(const uint64_t *a, uint32_t nr_a, const uint64_t *b, uint32_t nr_b)
{
	uint32_t common = 0;

	for (uint32_t i = 0, j = 0; i < nr_a && j < nr_b;) {
		common += a[i] == b[j];
		if (a[i] < b[j])
			i++;
		else if (a[i] > b[j])
			j++;
		else
			i++, j++;
	}
	return common;
}

static double ratio(uint32_t a, uint32_t b)
{
	return a == b ? 1 : a < b ? (double)a / b : (double)b / a;
}

double match_likeness(const struct match_sides *sides, uint32_t old, uint32_t new)
{
	const struct fingerprint *a = &sides->of[0].prints->functions[old];
	const struct fingerprint *b = &sides->of[1].prints->functions[new];
	double size = ratio(a->nr_insns + 1, b->nr_insns + 1);
	double form = ratio(a->nr_branches + 1, b->nr_branches + 1);
	double refs = ratio(a->nr_refs + 1, b->nr_refs + 1);
	uint64_t labels[2][MAX_REFS];
	uint32_t nr_a, nr_b;

	if (a->shape == b->shape && a->nr_insns == b->nr_insns)
		size = form = 1;
	nr_a = list_labels(sides, 0, old, labels[0]);
	nr_b = list_labels(sides, 1, new, labels[1]);
	if (nr_a + nr_b < 4)
		return 0.5 * size + 0.25 * form + 0.25 * refs;
	return 0.3 * size + 0.2 * form +
	       0.5 * 2 * count_common(labels[0], nr_a, labels[1], nr_b) / (nr_a + nr_b);
}

bool match_pair(struct match_sides *sides, uint32_t old, uint32_t new)
{
	const struct fingerprint *a = &sides->of[0].prints->functions[old];
	const struct fingerprint *b = &sides->of[1].prints->functions[new];

	if (sides->of[0].match[old] != UINT32_MAX || sides->of[1].match[new] != UINT32_MAX ||
	    (a->name && b->name && a->name != b->name))
		return false;
	sides->of[0].match[old] = new;
	sides->of[1].match[new] = old;
	sides->nr++;
	return true;
}
