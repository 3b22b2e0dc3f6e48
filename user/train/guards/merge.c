// SPDX-License-Identifier: GPL-2.0

#include "train/guards/merge.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "train/guards/predict.h"
#include "train/guards/weights.h"

/* Training units that are mistaken between two types. */
struct mistakes {
	uint32_t a; /* the smaller number */
	uint32_t b;
	uint64_t units;
	double share; /* of the smaller type's units */
};

struct confusion {
	struct mistakes *pairs;
	uint32_t nr;
	uint64_t *type_units;
	uint64_t right;
};

static int compare_pairs(const void *a, const void *b)
{
	const struct mistakes *x = a, *y = b;

	return order_of(x->a, y->a) ?: order_of(x->b, y->b);
}

static int compare_shares(const void *a, const void *b)
{
	const struct mistakes *x = a, *y = b;

	if (x->share > y->share || x->share < y->share)
		return x->share > y->share ? -1 : 1;
	return compare_pairs(a, b);
}

static void sum_pairs(struct confusion *confusion)
{
	uint32_t nr = 0;

	qsort(confusion->pairs, confusion->nr, sizeof(*confusion->pairs), compare_pairs);
	for (uint32_t i = 0; i < confusion->nr; i++) {
		if (nr && !compare_pairs(&confusion->pairs[nr - 1], &confusion->pairs[i]))
			confusion->pairs[nr - 1].units += confusion->pairs[i].units;
		else
			confusion->pairs[nr++] = confusion->pairs[i];
	}
	confusion->nr = nr;
	for (uint32_t i = 0; i < nr; i++) {
		struct mistakes *pair = &confusion->pairs[i];
		uint64_t less = confusion->type_units[pair->a];

		if (confusion->type_units[pair->b] < less)
			less = confusion->type_units[pair->b];
		/* a type without units in training is never said, so less > 0 */
		pair->share = (double)pair->units / (double)(less ? less : 1);
	}
	qsort(confusion->pairs, nr, sizeof(*confusion->pairs), compare_shares);
}

static void confusion_deinit(struct confusion *confusion)
{
	free(confusion->pairs);
	free(confusion->type_units);
}

static int confusion_count(struct confusion *confusion, struct predictor *predictor,
			   const struct types *types)
{
	const struct samples *samples = predictor->signatures->samples;

	if (array_new(confusion->pairs, samples->nr_units) ||
	    array_new(confusion->type_units, types->nr))
		return -ENOMEM;
	for (uint32_t i = 0; i < samples->nr_units; i++) {
		uint32_t is = types->of_tree[samples->units[i].tree], said;
		uint64_t units = samples->units[i].units[0];

		if (is == SAMPLES_NONE || !units)
			continue;
		said = predictor_unit(predictor, i).end;
		confusion->type_units[is] += units;
		if (said == is)
			confusion->right += units;
		else if (said != SAMPLES_NONE)
			confusion->pairs[confusion->nr++] = (struct mistakes){
				.a = is < said ? is : said,
				.b = is < said ? said : is,
				.units = units,
			};
	}
	sum_pairs(confusion);
	return 0;
}

static int confusion_init(struct confusion *confusion, const struct signatures *signatures,
			  const struct types *types, const uint32_t *functions, uint32_t nr)
{
	struct predictor predictor = { 0 };
	struct model model = { 0 };
	int ret;

	*confusion = (struct confusion){ 0 };
	ret = weights_learn(signatures, types, functions, nr, &model);
	if (!ret)
		ret = predictor_init(&predictor, signatures, &model, false);
	if (!ret)
		ret = confusion_count(confusion, &predictor, types);
	predictor_deinit(&predictor);
	model_deinit(&model);
	return ret;
}

/* Take from the sorted pairs those beyond the limit, each type once; order them to be joined. */
static uint32_t take_pairs(struct confusion *confusion, uint32_t nr_types, double limit)
{
	uint32_t nr = 0;
	bool *taken;

	if (array_new(taken, nr_types))
		return 0;
	for (uint32_t i = 0; i < confusion->nr && confusion->pairs[i].share > limit; i++) {
		struct mistakes pair = confusion->pairs[i];

		if (taken[pair.a] || taken[pair.b])
			continue;
		taken[pair.a] = taken[pair.b] = true;
		confusion->pairs[nr++] = pair;
	}
	free(taken);
	return nr;
}

/* The greatest number that disappears first: it leaves the others theirs. */
static int compare_joins(const void *a, const void *b)
{
	const struct mistakes *x = a, *y = b;

	return order_of(y->b, x->b);
}

int merge_types(const struct signatures *signatures, const uint32_t *functions, uint32_t nr,
		double limit, struct types *types)
{
	const struct samples *samples = signatures->samples;
	struct confusion confusion, next;
	int ret = confusion_init(&confusion, signatures, types, functions, nr);

	while (!ret) {
		uint32_t nr_pairs = take_pairs(&confusion, types->nr, limit);
		struct types joined;

		if (!nr_pairs)
			break;
		ret = types_copy(&joined, samples, types);
		if (ret)
			break;
		qsort(confusion.pairs, nr_pairs, sizeof(*confusion.pairs), compare_joins);
		for (uint32_t i = 0; i < nr_pairs; i++)
			types_join(&joined, samples, confusion.pairs[i].a, confusion.pairs[i].b);
		ret = confusion_init(&next, signatures, &joined, functions, nr);
		if (ret || next.right <= confusion.right) {
			confusion_deinit(&next);
			types_deinit(&joined);
			break;
		}
		confusion_deinit(&confusion);
		confusion = next;
		types_deinit(types);
		*types = joined;
	}
	confusion_deinit(&confusion);
	return ret;
}
