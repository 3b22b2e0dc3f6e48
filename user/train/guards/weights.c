// SPDX-License-Identifier: GPL-2.0

#include "train/guards/weights.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include <perfguard/infer.h>

#include "base/array.h"

/* Units of a type that met a context of a guard. */
struct count {
	uint32_t loop;
	uint32_t context;
	uint32_t type;
	uint64_t units;
};

struct counts {
	struct count *entries;
	size_t nr;
	size_t room;
	uint64_t *type_units;
};

static int compare_counts(const void *a, const void *b)
{
	const struct count *x = a, *y = b;

	return order_of(x->loop, y->loop) ?: order_of(x->context, y->context) ?:
	       order_of(x->type, y->type);
}

static void sum_counts(struct counts *counts)
{
	size_t nr = 0;

	if (counts->nr)
		qsort(counts->entries, counts->nr, sizeof(*counts->entries), compare_counts);
	for (size_t i = 0; i < counts->nr; i++) {
		if (nr && !compare_counts(&counts->entries[nr - 1], &counts->entries[i]))
			counts->entries[nr - 1].units += counts->entries[i].units;
		else
			counts->entries[nr++] = counts->entries[i];
	}
	counts->nr = nr;
}

/* Count the guards' hits in one unit, which occurred @units times. */
static int count_hits(const struct signatures *signatures, uint32_t unit, struct count *count,
		      const uint32_t *guard_of, uint32_t *in_unit, struct model *model,
		      struct counts *counts)
{
	size_t first = signatures->first_hit[unit], end = signatures->first_hit[unit + 1];

	for (size_t i = first; i < end; i++) {
		const struct signature_hit *hit = &signatures->hits[i];
		uint32_t guard = guard_of[signatures->contexts[hit->context].function];

		if (guard == SAMPLES_NONE)
			continue;
		count->context = hit->context;
		if (array_grow(counts->entries, counts->nr, counts->room))
			return -ENOMEM;
		counts->entries[counts->nr++] = *count;
		in_unit[guard] += hit->count;
	}
	for (size_t i = first; i < end; i++) {
		uint32_t guard = guard_of[signatures->contexts[signatures->hits[i].context]
						  .function];

		if (guard == SAMPLES_NONE)
			continue;
		model->guards[guard].hits += (double)in_unit[guard] * (double)count->units;
		if (in_unit[guard] > model->guards[guard].most_hits)
			model->guards[guard].most_hits = in_unit[guard];
		in_unit[guard] = 0;
	}
	return 0;
}

/* Count the training units by type, and by context of a guard and type. */
static int count_units(const struct signatures *signatures, const struct types *types,
		       const uint32_t *guard_of, struct model *model, struct counts *counts)
{
	const struct samples *samples = signatures->samples;
	uint32_t *in_unit;
	int ret = array_new(in_unit, model->nr_guards);

	if (!ret)
		ret = array_new(counts->type_units, types->nr);
	for (uint32_t i = 0; i < samples->nr_units && !ret; i++) {
		uint32_t type = types->of_tree[samples->units[i].tree];
		struct count count = { .type = type, .units = samples->units[i].units[0] };

		if (type == SAMPLES_NONE || !count.units)
			continue;
		count.loop = types->loop[type];
		counts->type_units[type] += count.units;
		ret = count_hits(signatures, i, &count, guard_of, in_unit, model, counts);
	}
	free(in_unit);
	if (!ret)
		sum_counts(counts);
	return ret;
}

static int16_t clip_base(double bits)
{
	double score = round(INFER_PER_BIT * bits);

	return (int16_t)(score < INT16_MIN ? INT16_MIN : score);
}

static uint8_t clip_weight(double bits)
{
	double weight = round(INFER_PER_BIT * (bits + INFER_SHIFT_BITS));

	if (weight < 0)
		return 0;
	return (uint8_t)(weight > INFER_MAX_WEIGHT ? INFER_MAX_WEIGHT : weight);
}

static double chance(const struct counts *counts, const struct count *count)
{
	uint64_t all = counts->type_units[count->type];
	uint64_t met = count->units < all ? count->units : all;

	return ((double)met + WEIGHTS_SMOOTHING) / ((double)all + 2 * WEIGHTS_SMOOTHING);
}

static void set_weights(const struct signatures *signatures, const uint32_t *guard_of,
			const struct counts *counts, double *absence, struct model *model)
{
	struct model_context *context = NULL;
	const struct count *before = NULL;

	for (size_t i = 0; i < counts->nr; i++) {
		const struct count *count = &counts->entries[i];
		double p = chance(counts, count);

		if (!before || before->loop != count->loop || before->context != count->context) {
			const struct signature_context *of = &signatures->contexts[count->context];

			context = &model->contexts[model->nr_contexts++];
			*context = (struct model_context){
				.loop = count->loop,
				.guard = guard_of[of->function],
				.depth = of->depth,
				.first_weight = (uint32_t)i,
			};
		}
		context->nr_weights++;
		model->weights[i] = (struct model_weight){
			.type = count->type,
			.early = clip_weight(log2(p)),
			.final = clip_weight(log2(p / (1 - p))),
		};
		absence[count->type] += log2(1 - p);
		before = count;
	}
	model->nr_weights = (uint32_t)counts->nr;
}

static void set_bases(const struct signatures *signatures, const struct types *types,
		      const struct counts *counts, const double *absence, struct model *model)
{
	for (uint32_t i = 0; i < types->nr; i++) {
		uint32_t loop = types->loop[i];
		double all = (double)signatures->loop_units[loop] + types->first[loop + 1] -
			     types->first[loop];
		double prior = log2(((double)counts->type_units[i] + 1) / all);

		model->types[i].base_early = clip_base(prior);
		model->types[i].base_final = clip_base(prior + absence[i]);
	}
}

/* The types, of which nothing is known but the loop. */
static int make_types(const struct types *types, struct model *model)
{
	free(model->types);
	model->nr_types = 0;
	if (array_new(model->types, types->nr))
		return -ENOMEM;
	model->nr_types = types->nr;
	for (uint32_t i = 0; i < types->nr; i++)
		model->types[i].loop = types->loop[i];
	return 0;
}

static int make_guards(const uint32_t *functions, uint32_t nr, struct model *model)
{
	free(model->guards);
	model->nr_guards = 0;
	if (array_new(model->guards, nr))
		return -ENOMEM;
	for (uint32_t i = 0; i < nr; i++)
		model->guards[i].function = functions[i];
	model->nr_guards = nr;
	return 0;
}

static void mean_hits(const struct signatures *signatures, struct model *model)
{
	uint64_t units = 0;

	for (uint32_t i = 0; i < signatures->samples->nr_loops; i++)
		units += signatures->loop_units[i];
	for (uint32_t i = 0; i < model->nr_guards; i++)
		if (units)
			model->guards[i].hits /= (double)units;
}

int weights_learn(const struct signatures *signatures, const struct types *types,
		  const uint32_t *functions, uint32_t nr, struct model *model)
{
	uint32_t *guard_of = NULL;
	struct counts counts = { 0 };
	double *absence;
	int ret = array_new(absence, types->nr);

	free(model->contexts);
	free(model->weights);
	model->contexts = NULL;
	model->weights = NULL;
	model->nr_contexts = model->nr_weights = 0;
	if (!ret)
		ret = make_types(types, model) ?: make_guards(functions, nr, model);
	if (ret)
		goto out;
	ret = -ENOMEM;
	guard_of = model_guard_of(model, signatures->samples->nr_functions);
	if (!guard_of || count_units(signatures, types, guard_of, model, &counts) ||
	    array_new(model->contexts, counts.nr) || array_new(model->weights, counts.nr))
		goto out;
	mean_hits(signatures, model);
	set_weights(signatures, guard_of, &counts, absence, model);
	set_bases(signatures, types, &counts, absence, model);
	ret = 0;
out:
	free(counts.entries);
	free(counts.type_units);
	free(guard_of);
	free(absence);
	return ret;
}
