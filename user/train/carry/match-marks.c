// SPDX-License-Identifier: GPL-2.0

#include "train/carry/match-sides.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/hash-index.h"

enum {
	/* A function so short is like others by accident, if nothing else marks it. */
	SHORT_CODE = 10,
	SHORT_SHAPE = 16,
	LONG_SHAPE = 40,
	MANY_STRINGS = 3,
	SLOT = 8, /* bytes of a pointer in a table */
};

/* The strongest first. */
enum mark {
	MARK_NAME,
	MARK_CODE, /* its code and all that it refers to */
	MARK_CODE_CALLERS, /* its code and which calls of the same code lead to it */
	MARK_CODE_TABLES, /* its code and what stands beside it in tables of functions */
	MARK_SHAPE, /* the same by its form */
	MARK_SHAPE_CALLERS,
	MARK_SHAPE_TABLES,
	MARK_SHAPE_BETWEEN, /* its form and what stands before and behind it in the file */
	MARK_STRINGS, /* texts and imports alone, if there are several */
	NR_MARKS,
};

/* How alike two must be beside the mark. */
static const double least_likeness[NR_MARKS] = {
	[MARK_SHAPE_TABLES] = 0.8,
	[MARK_SHAPE_BETWEEN] = 0.9,
	[MARK_STRINGS] = 0.6,
};

struct marked {
	uint64_t key; /* 0: no mark */
	uint32_t function;
	int side;
};

struct marking {
	struct match_sides *sides;
	struct marked *marked;
	bool *is_common[2]; /* by side and function: others, of either build, have its form */
};

static const struct fingerprint *print_of(const struct match_sides *sides, int side,
					  uint32_t function)
{
	return &sides->of[side].prints->functions[function];
}

/* What it refers to; *@ret_nr of it says something. */
static uint64_t refs_key(const struct match_sides *sides, int side, const struct fingerprint *print,
			 uint64_t key, uint32_t *ret_nr)
{
	const struct fingerprint_ref *refs = &sides->of[side].prints->refs[print->first_ref];

	*ret_nr = 0;
	for (uint32_t i = 0; i < print->nr_refs; i++) {
		uint64_t label = match_ref_label(sides, side, &refs[i]);

		*ret_nr += label && refs[i].kind != FINGERPRINT_INDIRECT;
		key = hash_mix(key, label ?: (uint64_t)refs[i].kind);
	}
	return key;
}

/* Texts and imports that it refers to. */
static uint64_t strings_key(const struct fingerprints *prints, const struct fingerprint *print,
			    uint64_t key, uint32_t *ret_nr)
{
	*ret_nr = 0;
	for (uint32_t i = 0; i < print->nr_refs; i++) {
		const struct fingerprint_ref *ref = &prints->refs[print->first_ref + i];

		if (ref->kind != FINGERPRINT_STRING && ref->kind != FINGERPRINT_IMPORT)
			continue;
		*ret_nr += ref->kind == FINGERPRINT_STRING;
		key = hash_mix(key, hash_mix(ref->kind, ref->value));
	}
	return key;
}

/* A caller is known, and is in both builds the same code, so that its places are the same. */
static bool is_steady(const struct match_sides *sides, int side, uint32_t caller)
{
	uint32_t other = sides->of[side].match[caller];
	const struct fingerprint *a = print_of(sides, side, caller), *b;

	if (other == UINT32_MAX || !a->nr_insns)
		return false;
	b = print_of(sides, !side, other);
	return a->shape == b->shape && a->nr_refs == b->nr_refs;
}

/* The sum does not depend on the order in which callers come. */
static uint64_t callers_key(const struct match_sides *sides, int side, uint32_t function,
			    uint64_t key)
{
	const struct match_side *of = &sides->of[side];
	uint64_t sum = 0;

	for (uint32_t i = of->first_caller[function]; i < of->first_caller[function + 1]; i++)
		if (is_steady(sides, side, of->callers[i].function))
			sum += hash_mix(hash_mix(1, match_label(sides, side, of->callers[i].function)),
					of->callers[i].place);
	return sum ? hash_mix(key, sum) : 0;
}

/* The label of what stands in the slot before or behind @place of the tables, or 0. */
static uint32_t slot_label(const struct match_sides *sides, int side, uint32_t place, int step)
{
	const struct fingerprints *prints = sides->of[side].prints;
	const struct fingerprint *data = &prints->functions[prints->nr - 1];
	const struct fingerprint_ref *refs = &prints->refs[data->first_ref];
	uint32_t other = place + (uint32_t)step;

	if (other >= data->nr_refs || refs[other].end - refs[place].end != (uint64_t)(step * SLOT))
		return 0;
	return match_label(sides, side, refs[other].value);
}

static uint64_t tables_key(const struct match_sides *sides, int side, uint32_t function,
			   uint64_t key)
{
	const struct match_side *of = &sides->of[side];
	uint64_t sum = 0;

	for (uint32_t i = of->first_caller[function]; i < of->first_caller[function + 1]; i++) {
		uint32_t before, behind;

		if (of->callers[i].function != of->prints->nr - 1)
			continue;
		before = slot_label(sides, side, of->callers[i].place, -1);
		behind = slot_label(sides, side, of->callers[i].place, 1);
		if (before || behind)
			sum += hash_mix(hash_mix(1, before), behind);
	}
	return sum ? hash_mix(key, sum) : 0;
}

static uint64_t neighbours_key(const struct match_sides *sides, int side, uint32_t function,
			       uint64_t key)
{
	uint32_t nr = sides->of[side].prints->nr - 1; /* without the data */
	uint32_t before, behind;

	if (!function || function + 1 >= nr)
		return 0;
	before = match_label(sides, side, function - 1);
	behind = match_label(sides, side, function + 1);
	return before && behind ? hash_mix(hash_mix(key, before), behind) : 0;
}

static uint64_t code_key(const struct match_sides *sides, int side, uint32_t function, enum mark mark)
{
	const struct fingerprint *print = print_of(sides, side, function);
	uint64_t code = hash_mix(print->code, print->nr_insns);
	uint32_t nr;

	if (mark == MARK_CODE) {
		code = refs_key(sides, side, print, code, &nr);
		return print->nr_insns >= SHORT_CODE || nr > 1 ? code : 0;
	}
	code = strings_key(sides->of[side].prints, print, code, &nr);
	return mark == MARK_CODE_CALLERS ? callers_key(sides, side, function, code)
					 : tables_key(sides, side, function, code);
}

static uint64_t shape_key(const struct match_sides *sides, int side, uint32_t function,
			  enum mark mark)
{
	const struct fingerprint *print = print_of(sides, side, function);
	uint64_t shape = hash_mix(print->shape, print->nr_insns);
	uint32_t nr;

	if (print->nr_insns < SHORT_SHAPE)
		return 0;
	if (mark == MARK_SHAPE) {
		shape = refs_key(sides, side, print, shape, &nr);
		return nr > 1 || print->nr_insns >= LONG_SHAPE ? shape : 0;
	}
	shape = strings_key(sides->of[side].prints, print, shape, &nr);
	if (mark == MARK_SHAPE_CALLERS)
		return callers_key(sides, side, function, shape);
	return mark == MARK_SHAPE_TABLES ? tables_key(sides, side, function, shape)
					 : neighbours_key(sides, side, function, shape);
}

static uint64_t key_of(const struct match_sides *sides, int side, uint32_t function, enum mark mark)
{
	const struct fingerprint *print = print_of(sides, side, function);
	uint64_t key;
	uint32_t nr;

	switch (mark) {
	case MARK_NAME:
		return print->name;
	case MARK_CODE: case MARK_CODE_CALLERS: case MARK_CODE_TABLES:
		return code_key(sides, side, function, mark);
	case MARK_STRINGS:
		key = strings_key(sides->of[side].prints, print, NR_MARKS, &nr);
		return nr >= MANY_STRINGS ? key : 0;
	default:
		return shape_key(sides, side, function, mark);
	}
}

static int by_key(const void *left, const void *right)
{
	const struct marked *a = left, *b = right;

	return order_of(a->key, b->key) ?: a->side - b->side;
}

/* What is matched already counts where it makes a mark common. */
static uint32_t list_marked(const struct marking *marking, enum mark mark)
{
	const struct match_sides *sides = marking->sides;
	uint32_t nr = 0;

	for (int side = 0; side < 2; side++)
		for (uint32_t i = 0; i + 1 < sides->of[side].prints->nr; i++) {
			if (sides->of[side].match[i] != UINT32_MAX && mark != MARK_STRINGS &&
			    !marking->is_common[side][i])
				continue;
			marking->marked[nr] = (struct marked){ key_of(sides, side, i, mark), i, side };
			nr += marking->marked[nr].key != 0;
		}
	return nr;
}

static void match_mark(struct marking *marking, enum mark mark)
{
	struct marked *marked = marking->marked;
	uint32_t nr = list_marked(marking, mark), end;

	qsort(marked, nr, sizeof(*marked), by_key);
	for (uint32_t i = 0; i < nr; i = end) {
		for (end = i + 1; end < nr && marked[end].key == marked[i].key;)
			end++;
		if (end == i + 2 && !marked[i].side && marked[i + 1].side &&
		    match_likeness(marking->sides, marked[i].function, marked[i + 1].function) >=
			    least_likeness[mark])
			match_pair(marking->sides, marked[i].function, marked[i + 1].function);
	}
}

/* All whose form is not that of one function of each build. */
static void find_common(struct marking *marking)
{
	const struct match_sides *sides = marking->sides;
	struct marked *marked = marking->marked;
	uint32_t nr = 0, end;

	for (int side = 0; side < 2; side++)
		for (uint32_t i = 0; i + 1 < sides->of[side].prints->nr; i++)
			marked[nr++] = (struct marked){ print_of(sides, side, i)->shape, i, side };
	qsort(marked, nr, sizeof(*marked), by_key);
	for (uint32_t i = 0; i < nr; i = end) {
		for (end = i + 1; end < nr && marked[end].key == marked[i].key;)
			end++;
		for (uint32_t j = i; j < end; j++)
			marking->is_common[marked[j].side][marked[j].function] =
				end != i + 2 || marked[i].side == marked[i + 1].side;
	}
}

static void match_marks(struct marking *marking)
{
	for (enum mark mark = 0; mark < NR_MARKS; mark++) {
		uint32_t before = marking->sides->nr;

		match_mark(marking, mark);
		if (marking->sides->nr > before && mark > MARK_CODE)
			mark = MARK_NAME; /* what is stronger may go on now */
	}
}

int match_by_marks(struct match_sides *sides)
{
	struct marking marking = { .sides = sides };
	uint32_t nr[2] = { sides->of[0].prints->nr, sides->of[1].prints->nr };
	int error = array_new(marking.marked, (size_t)nr[0] + nr[1]) ?:
		    array_new(marking.is_common[0], nr[0]) ?: array_new(marking.is_common[1], nr[1]);

	if (!error) {
		find_common(&marking);
		match_marks(&marking);
	}
	free(marking.marked);
	free(marking.is_common[0]);
	free(marking.is_common[1]);
	return error;
}
