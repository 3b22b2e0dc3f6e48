// SPDX-License-Identifier: GPL-2.0

#include "train/model/compare.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "train/model/part-test.h"
#include "train/model/same-function.h"

/* Types that have less in common are not the same. */
#define LEAST_ALIKE 0.4
/* A function is called by one and not by the other if its shares of their units differ so. */
#define CALL_SHARE 0.5
/* A change is worth a word from this factor on, and if the part is so much of the whole. */
#define LEAST_FACTOR 1.05
#define LEAST_PART 0.05
#define SURE 0.01
/* What types of fewer units call says little. */
#define MIN_UNITS 30

enum { MAX_CELLS = 64 * 1024 * 1024 }; /* of the table of types and functions */

/* One profile; number: of a function, as struct same_functions has it. */
struct side {
	const struct compare_side *of;
	const uint32_t *numbers; /* by function */
	float *shares; /* by type, then number: of the units that call it */
	double *units; /* by type */
	double all_units;
};

struct type_comparison {
	struct side sides[2];
	struct same_functions same;
	double *weights; /* by number: rare functions say more */
	struct difference *ret;
};

/* Add a call tree's functions to the shares of its type, each once. */
static void add_tree(struct side *side, const struct samples_tree *tree, float *shares,
		     uint32_t *seen, uint32_t mark)
{
	const struct samples *samples = side->of->samples;
	float units = (float)(tree->units[0] + tree->units[1]);

	for (uint32_t i = 0; i < tree->nr_leaves; i++)
		for (uint32_t node = tree->leaves[i]; node; node = samples->nodes[node].parent) {
			uint32_t number = side->numbers[samples->nodes[node].function];

			if (seen[number] == mark)
				continue;
			seen[number] = mark;
			shares[number] += units;
		}
}

static int fill_side(struct side *side, uint32_t nr_numbers)
{
	const struct samples *samples = side->of->samples;
	const struct model *model = side->of->model;
	uint32_t *seen;

	if (nr_numbers && model->nr_types > MAX_CELLS / nr_numbers)
		return -E2BIG;
	if (array_new(side->shares, (size_t)model->nr_types * nr_numbers) ||
	    array_new(side->units, model->nr_types) || array_new(seen, nr_numbers))
		return -ENOMEM;
	for (uint32_t i = 0; i < samples->nr_trees && i < model->nr_trees; i++) {
		uint32_t type = model->type_of_tree[i];
		double units = (double)(samples->trees[i].units[0] + samples->trees[i].units[1]);

		if (type == SAMPLES_NONE)
			continue;
		side->units[type] += units;
		side->all_units += units;
		add_tree(side, &samples->trees[i], &side->shares[(size_t)type * nr_numbers], seen,
			 i + 1);
	}
	for (uint32_t i = 0; i < model->nr_types; i++)
		for (uint32_t j = 0; j < nr_numbers && side->units[i] > 0; j++)
			side->shares[(size_t)i * nr_numbers + j] /= (float)side->units[i];
	free(seen);
	return 0;
}

/* What all types call says nothing of which is which. */
static int weigh(struct type_comparison *comparison)
{
	uint32_t nr_types = 0;

	if (array_new(comparison->weights, comparison->same.nr))
		return -ENOMEM;
	for (int i = 0; i < 2; i++) {
		const struct side *side = &comparison->sides[i];

		nr_types += side->of->model->nr_types;
		for (size_t j = 0; j < (size_t)side->of->model->nr_types * comparison->same.nr; j++)
			comparison->weights[j % comparison->same.nr] += side->shares[j];
	}
	for (uint32_t i = 0; i < comparison->same.nr; i++)
		comparison->weights[i] =
			log((nr_types + 1) / (comparison->weights[i] + 0.01));
	return 0;
}

static const float *shares_of(const struct type_comparison *comparison, int side, uint32_t type)
{
	return &comparison->sides[side].shares[(size_t)type * comparison->same.nr];
}

/* Jaccard's index, weighted. */
static double alike(const struct type_comparison *comparison, uint32_t a, uint32_t b)
{
	const float *left = shares_of(comparison, 0, a), *right = shares_of(comparison, 1, b);
	double both = 0, any = 0;

	for (uint32_t i = 0; i < comparison->same.nr; i++) {
		both += comparison->weights[i] * fmin(left[i], right[i]);
		any += comparison->weights[i] * fmax(left[i], right[i]);
	}
	return any > 0 ? both / any : 0;
}

/* Types that call the same are distinguished by their times: a factor of e is worth this much. */
#define TIME_WORTH 0.02

struct type_pair {
	double alike, rank;
	uint32_t a, b;
};

/* Typical own time, as a logarithm; 0 if it is not known. */
static double log_time(const struct side *side, uint32_t type)
{
	const struct samples_times *times = &side->of->times[type].of[SAMPLES_OWN];

	return times->nr ? log((double)times->sum_ns / (double)times->nr + 1) : 0;
}

static double rank_of(const struct type_comparison *comparison, const struct type_pair *pair)
{
	double a = log_time(&comparison->sides[0], pair->a);
	double b = log_time(&comparison->sides[1], pair->b);

	return pair->alike - (a > 0 && b > 0 ? TIME_WORTH * fabs(a - b) : 0);
}

static int compare_pairs(const void *left, const void *right)
{
	const struct type_pair *x = left, *y = right;

	if (x->rank < y->rank || x->rank > y->rank)
		return x->rank > y->rank ? -1 : 1;
	return order_of(x->a, y->a) ?: order_of(x->b, y->b);
}

static int list_pairs(const struct type_comparison *comparison, struct type_pair **ret, size_t *nr)
{
	size_t max = 0;

	*ret = NULL;
	*nr = 0;
	for (uint32_t i = 0; i < comparison->sides[0].of->model->nr_types; i++)
		for (uint32_t j = 0; j < comparison->sides[1].of->model->nr_types; j++) {
			struct type_pair pair = {
				.alike = alike(comparison, i, j), .a = i, .b = j,
			};

			if (pair.alike < LEAST_ALIKE)
				continue;
			pair.rank = rank_of(comparison, &pair);
			if (array_grow(*ret, *nr, max))
				return -ENOMEM;
			(*ret)[(*nr)++] = pair;
		}
	if (*nr)
		qsort(*ret, *nr, sizeof(**ret), compare_pairs);
	return 0;
}

/* The two sides are of one model. */
static int pair_equals(struct type_comparison *comparison)
{
	struct difference *ret = comparison->ret;
	uint32_t nr = comparison->sides[0].of->model->nr_types;

	if (array_new(ret->types, nr))
		return -ENOMEM;
	for (; ret->nr < nr; ret->nr++)
		ret->types[ret->nr] = (struct type_difference){
			.a = ret->nr, .b = ret->nr, .alike = 1,
		};
	return 0;
}

/* Pair the types, those first that are most alike; what is left is gone, or new. */
static int pair_types(struct type_comparison *comparison)
{
	uint32_t nr_a = comparison->sides[0].of->model->nr_types;
	uint32_t nr_b = comparison->sides[1].of->model->nr_types;
	struct difference *ret = comparison->ret;
	struct type_pair *pairs;
	bool *taken = NULL;
	size_t nr;
	int error = list_pairs(comparison, &pairs, &nr);

	if (!error && (array_new(ret->types, nr_a + nr_b) || array_new(taken, nr_b)))
		error = -ENOMEM;
	for (uint32_t i = 0; i < nr_a && !error; i++)
		ret->types[ret->nr++] = (struct type_difference){ .a = i, .b = SAMPLES_NONE };
	for (size_t i = 0; i < nr && !error; i++) {
		struct type_difference *type = &ret->types[pairs[i].a];

		if (type->b != SAMPLES_NONE || taken[pairs[i].b])
			continue;
		type->b = pairs[i].b;
		type->alike = pairs[i].alike;
		taken[pairs[i].b] = true;
	}
	for (uint32_t i = 0; i < nr_b && !error; i++)
		if (!taken[i])
			ret->types[ret->nr++] =
				(struct type_difference){ .a = SAMPLES_NONE, .b = i };
	free(pairs);
	free(taken);
	return error;
}

static double factor(const struct part_difference *part)
{
	return fmax(part->after_ns / part->before_ns, part->before_ns / part->after_ns);
}

/* The part that changed by the most time; of its own time as a whole only if no other did. */
static void find_part(struct type_difference *type)
{
	double whole = fmax(type->parts[SAMPLES_OWN].before_ns, type->parts[SAMPLES_OWN].after_ns);
	double most = 0;

	type->part = SAMPLES_NONE;
	for (int i = SAMPLES_NR_PARTS - 1; i >= 0; i--) {
		struct part_difference *part = &type->parts[i];
		double change = fabs(part->after_ns - part->before_ns);

		part->is_sure = part->chance < SURE && factor(part) >= LEAST_FACTOR &&
				fmax(part->before_ns, part->after_ns) >= LEAST_PART * whole;
		if (!part->is_sure || change <= most ||
		    (i == SAMPLES_OWN && type->part != SAMPLES_NONE))
			continue;
		type->part = (uint32_t)i;
		most = change;
	}
}

/* Test a part of a type; returns true if both have times of it. */
static bool test_part(const struct type_comparison *comparison, struct type_difference *type,
		      int part)
{
	const struct compare_side *a = comparison->sides[0].of, *b = comparison->sides[1].of;
	static const struct samples_times none;

	part_test(type->a == SAMPLES_NONE ? &none : &a->times[type->a].of[part],
		  type->b == SAMPLES_NONE ? &none : &b->times[type->b].of[part],
		  type->b == SAMPLES_NONE || !b->least_ns ? 0 : b->least_ns[type->b],
		  &type->parts[part]);
	return type->parts[part].before_ns > 0 && type->parts[part].after_ns > 0;
}

static int compare_times(struct type_comparison *comparison)
{
	struct difference *ret = comparison->ret;
	struct part_difference **parts;
	uint32_t nr = 0;

	if (array_new(parts, (size_t)ret->nr * SAMPLES_NR_PARTS))
		return -ENOMEM;
	for (uint32_t i = 0; i < ret->nr; i++)
		for (int part = 0; part < SAMPLES_NR_PARTS; part++)
			if (test_part(comparison, &ret->types[i], part))
				parts[nr++] = &ret->types[i].parts[part];
	part_test_correct(parts, nr);
	for (uint32_t i = 0; i < ret->nr; i++)
		find_part(&ret->types[i]);
	free(parts);
	return 0;
}

/* Functions of @side that its type calls, and the other does not; the clearest first. */
static void compare_calls(const struct type_comparison *comparison, int side, const float *mine,
			  const float *others, struct call_difference *ret)
{
	const struct samples *samples = comparison->sides[side].of->samples;
	const uint32_t *numbers = comparison->sides[side].numbers;

	for (uint32_t i = 0; i < samples->nr_functions; i++) {
		float more = mine[numbers[i]] - others[numbers[i]];
		uint32_t at = ret->nr;

		if (more < (float)CALL_SHARE)
			continue;
		while (at && mine[numbers[ret->functions[at - 1]]] -
				     others[numbers[ret->functions[at - 1]]] < more)
			at--;
		if (ret->nr == DIFFERENCE_MAX_FUNCTIONS) {
			ret->nr_more++;
			if (at == ret->nr)
				continue;
			ret->nr--;
		}
		memmove(&ret->functions[at + 1], &ret->functions[at],
			(ret->nr - at) * sizeof(*ret->functions));
		ret->functions[at] = i;
		ret->nr++;
	}
}

/*
 * A type of one side alone: may chance have put its units there, of all of both?  Of so many
 * comparisons.
 */
static bool is_by_chance(const struct side *side, const struct side *other, uint32_t type,
			 uint32_t nr)
{
	double all = side->all_units + other->all_units;

	return nr * pow(side->all_units / all, side->units[type]) >= SURE;
}

static void compare_units(const struct type_comparison *comparison, struct type_difference *type)
{
	const struct side *a = &comparison->sides[0], *b = &comparison->sides[1];
	uint32_t nr = comparison->ret->nr;

	if (type->a != SAMPLES_NONE && a->all_units > 0)
		type->units_a = a->units[type->a] / a->all_units;
	if (type->b != SAMPLES_NONE && b->all_units > 0)
		type->units_b = b->units[type->b] / b->all_units;
	if (type->b == SAMPLES_NONE)
		type->is_rare = is_by_chance(a, b, type->a, nr);
	else if (type->a == SAMPLES_NONE)
		type->is_rare = is_by_chance(b, a, type->b, nr);
}

static void compare_trees(struct type_comparison *comparison)
{
	const struct side *a = &comparison->sides[0], *b = &comparison->sides[1];

	for (uint32_t i = 0; i < comparison->ret->nr; i++) {
		struct type_difference *type = &comparison->ret->types[i];

		compare_units(comparison, type);
		if (type->a == SAMPLES_NONE || type->b == SAMPLES_NONE ||
		    fmin(a->units[type->a], b->units[type->b]) < MIN_UNITS)
			continue;
		compare_calls(comparison, 0, shares_of(comparison, 0, type->a),
			      shares_of(comparison, 1, type->b), &type->gone);
		compare_calls(comparison, 1, shares_of(comparison, 1, type->b),
			      shares_of(comparison, 0, type->a), &type->added);
	}
}

/* The median over types of how long their units take; the lower one of two. */
static int find_pace(struct difference *ret)
{
	uint32_t nr = 0;
	double *factors;

	if (array_new(factors, ret->nr))
		return -ENOMEM;
	for (uint32_t i = 0; i < ret->nr; i++) {
		const struct part_difference *own = &ret->types[i].parts[SAMPLES_OWN];

		if (own->before_ns > 0 && own->after_ns > 0)
			factors[nr++] = own->after_ns / own->before_ns;
	}
	if (nr)
		qsort(factors, nr, sizeof(*factors), order_double);
	ret->pace = nr ? factors[(nr - 1) / 2] : 0;
	free(factors);
	return 0;
}

static void comparison_deinit(struct type_comparison *comparison)
{
	for (int i = 0; i < 2; i++) {
		free(comparison->sides[i].shares);
		free(comparison->sides[i].units);
	}
	same_functions_deinit(&comparison->same);
	free(comparison->weights);
}

int compare_profiles(const struct compare_side *a, const struct compare_side *b,
		     struct difference *ret)
{
	struct type_comparison comparison = { .sides = { { .of = a }, { .of = b } }, .ret = ret };
	int error;

	*ret = (struct difference){ 0 };
	error = same_functions_init(&comparison.same, a->samples, b->samples);
	for (int i = 0; i < 2 && !error; i++) {
		comparison.sides[i].numbers = comparison.same.numbers[i];
		error = fill_side(&comparison.sides[i], comparison.same.nr);
	}
	error = error ?: weigh(&comparison);
	if (!error)
		error = a->model == b->model ? pair_equals(&comparison) : pair_types(&comparison);
	error = error ?: compare_times(&comparison) ?: find_pace(ret);
	if (!error) {
		compare_trees(&comparison);
		if (a->samples->nr_functions)
			ret->lost = (double)comparison.same.nr_lost / a->samples->nr_functions;
	}
	comparison_deinit(&comparison);
	if (error)
		difference_deinit(ret);
	return error;
}

void difference_deinit(struct difference *difference)
{
	free(difference->types);
	*difference = (struct difference){ 0 };
}
