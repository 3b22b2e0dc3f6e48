// SPDX-License-Identifier: GPL-2.0

#include "train/guards/timed.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "train/guards/infer-tables.h"
#include "train/samples/times.h"

/* Guards cannot have taken more than this share of a unit: the price is wrong then. */
#define MAX_GUARD_SHARE 0.9

bool timed_covers(const struct samples_guards *guards, const uint32_t *functions, uint32_t nr)
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

		if (timed_covers(&samples->guards[timing->guards], functions, nr))
			units += timing->times[0].of[SAMPLES_OWN].nr +
				 timing->times[1].of[SAMPLES_OWN].nr;
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
			const struct samples_times *own = &timing->times[half].of[SAMPLES_OWN];

			sum += (double)own->sum_ns;
			units += (double)own->nr;
		}
		guards += (double)timing->nr_contexts_hit * hit_ns;
	}
	if (guards > MAX_GUARD_SHARE * sum)
		guards = MAX_GUARD_SHARE * sum;
	return units > 0 ? (sum - guards) / units : 0;
}

static uint32_t type_of(const struct infer_tables *tables, const struct samples_timing *timing)
{
	struct table *table = &tables->loops[timing->loop];

	if (!infer_tables_feed(tables, timing->loop, timing->hits, timing->nr_hits))
		return SAMPLES_NONE;
	return infer_tables_type(table, infer_end(&table->table, table->state));
}

int timed_types(const struct samples *samples, const struct model *model, uint32_t *ret)
{
	uint32_t *functions;
	struct infer_tables tables = { 0 };
	int error = array_new(functions, model->nr_guards) ?:
		    infer_tables_init(&tables, samples, model, false);

	for (uint32_t i = 0; i < model->nr_guards && !error; i++)
		functions[i] = model->guards[i].function;
	for (uint32_t i = 0; i < samples->nr_timings && !error; i++) {
		const struct samples_timing *timing = &samples->timings[i];
		const struct samples_guards *guards = &samples->guards[timing->guards];

		ret[i] = SAMPLES_NONE;
		if (timed_covers(guards, functions, model->nr_guards))
			ret[i] = type_of(&tables, timing);
	}
	infer_tables_deinit(&tables);
	free(functions);
	return error;
}

int timed_init(struct timed *timed, const struct samples *samples, const struct model *model)
{
	uint32_t *types;
	int ret = array_new(types, samples->nr_timings);

	*timed = (struct timed){ .nr_types = model->nr_types, .nr_loops = samples->nr_loops };
	for (int half = 0; half < 2 && !ret; half++)
		ret = array_new(timed->types[half], model->nr_types) ?:
		      array_new(timed->loops[half], samples->nr_loops);
	ret = ret ?: array_new(timed->is_confirmed, model->nr_types) ?:
		     array_new(timed->has_carried, samples->nr_loops);
	if (!ret)
		ret = timed_types(samples, model, types);
	for (uint32_t i = 0; i < samples->nr_timings && !ret; i++) {
		const struct samples_timing *timing = &samples->timings[i];

		timed->has_carried[timing->loop] |= timing->is_carried;
		if (types[i] != SAMPLES_NONE && !timing->is_carried)
			timed->is_confirmed[types[i]] |= timing->times[0].of[SAMPLES_OWN].nr > 0 ||
							 timing->times[1].of[SAMPLES_OWN].nr > 0;
		for (int half = 0; half < 2; half++) {
			times_merge(&timed->loops[half][timing->loop],
				    &timing->times[half].of[SAMPLES_OWN]);
			if (types[i] != SAMPLES_NONE)
				times_merge_parts(&timed->types[half][types[i]],
						  &timing->times[half]);
		}
	}
	free(types);
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
	free(timed->is_confirmed);
	free(timed->has_carried);
	memset(timed, 0, sizeof(*timed));
}
