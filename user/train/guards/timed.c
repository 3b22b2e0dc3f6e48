// SPDX-License-Identifier: GPL-2.0

#include "train/guards/timed.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "train/guards/infer-tables.h"
#include "train/samples/times.h"

/* Guards cannot have taken more than this share of a unit: the price is wrong then. */
#define MAX_GUARD_SHARE 0.9

/* True if all of @functions, rising, are among those of @guards. */
static bool covers(const struct samples_guards *guards, const uint32_t *functions, uint32_t nr)
{
	uint32_t at = 0;

	for (uint32_t i = 0; i < nr; i++) {
		while (at < guards->nr && guards->functions[at] < functions[i])
			at++;
		if (at == guards->nr || guards->functions[at] != functions[i])
			return false;
	}
	return true;
}

uint64_t timed_units(const struct samples *samples, const uint32_t *functions, uint32_t nr)
{
	uint64_t units = 0;

	for (uint32_t i = 0; i < samples->nr_timings; i++) {
		const struct samples_timing *timing = &samples->timings[i];

		if (covers(&samples->guards[timing->guards], functions, nr))
			units += timing->times[0].nr + timing->times[1].nr;
	}
	return units;
}

double timed_mean(const struct samples *samples, uint32_t loop, double hit_ns)
{
	double sum = 0, units = 0, guards = 0;

	for (uint32_t i = 0; i < samples->nr_timings; i++) {
		const struct samples_timing *timing = &samples->timings[i];

		if (timing->loop != loop)
			continue;
		for (int half = 0; half < 2; half++) {
			sum += (double)timing->times[half].sum_ns;
			units += (double)timing->times[half].nr;
		}
		guards += (double)timing->nr_contexts_hit * hit_ns;
	}
	if (guards > MAX_GUARD_SHARE * sum)
		guards = MAX_GUARD_SHARE * sum;
	return units > 0 ? (sum - guards) / units : 0;
}

static uint32_t infer_type(struct table *table, const struct samples_timing *timing,
			   const uint32_t *guard_of)
{
	uint16_t type;

	infer_begin(&table->table, table->state);
	for (uint32_t i = 0; i < timing->nr_hits; i++) {
		const struct samples_hit *hit = &timing->hits[i];

		if (guard_of[hit->function] != SAMPLES_NONE)
			infer_hit(&table->table, table->state, guard_of[hit->function], hit->depth);
	}
	type = infer_end(&table->table, table->state);
	return type == INFER_NO_TYPE ? SAMPLES_NONE : table->first_type + type;
}

static void add_to_type(struct timed *to, struct infer_tables *tables, const uint32_t *guard_of,
			const struct samples_timing *timing)
{
	uint32_t type = infer_type(&tables->loops[timing->loop], timing, guard_of);

	for (int half = 0; half < 2 && type != SAMPLES_NONE; half++)
		times_merge(&to->types[half][type], &timing->times[half]);
}

int timed_init(struct timed *timed, const struct samples *samples, const struct model *model)
{
	uint32_t *functions = calloc((size_t)model->nr_guards + 1, sizeof(*functions));
	uint32_t *guard_of = model_guard_of(model, samples->nr_functions);
	struct infer_tables tables = { 0 };
	int ret = -ENOMEM;

	*timed = (struct timed){ .nr_types = model->nr_types, .nr_loops = samples->nr_loops };
	for (int half = 0; half < 2; half++) {
		timed->types[half] = calloc((size_t)model->nr_types + 1, sizeof(**timed->types));
		timed->loops[half] = calloc((size_t)samples->nr_loops + 1,
					     sizeof(**timed->loops));
	}
	if (!functions || !guard_of || !timed->types[0] || !timed->types[1] ||
	    !timed->loops[0] || !timed->loops[1])
		goto out;
	ret = infer_tables_init(&tables, model, samples->nr_loops, false);
	if (ret)
		goto out;
	for (uint32_t i = 0; i < model->nr_guards; i++)
		functions[i] = model->guards[i].function;
	for (uint32_t i = 0; i < samples->nr_timings; i++) {
		const struct samples_timing *timing = &samples->timings[i];

		for (int half = 0; half < 2; half++)
			times_merge(&timed->loops[half][timing->loop], &timing->times[half]);
		if (covers(&samples->guards[timing->guards], functions, model->nr_guards))
			add_to_type(timed, &tables, guard_of, timing);
	}
out:
	infer_tables_deinit(&tables);
	free(functions);
	free(guard_of);
	if (ret)
		timed_deinit(timed);
	return ret;
}

void timed_deinit(struct timed *timed)
{
	for (int half = 0; half < 2; half++) {
		free(timed->types[half]);
		free(timed->loops[half]);
	}
	memset(timed, 0, sizeof(*timed));
}
