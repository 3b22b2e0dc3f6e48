// SPDX-License-Identifier: GPL-2.0

#include "keep.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "features.h"
#include "greedy.h"
#include "timed.h"

/* Guards to choose from. */
struct kept {
	uint32_t *functions;
	uint32_t nr;
	uint64_t units; /* timed with them */
	double accuracy;
};

struct keeper {
	const struct signatures *signatures;
	const struct types *types;
	const struct select_options *options;
	struct features features;
	struct kept sets[KEEP_MAX_RUNS + 1]; /* the first: as chosen */
	uint32_t nr_sets;
};

/* A timing run's guards, to be sorted: the most timed first. */
struct run {
	uint32_t guards;
	uint64_t units;
};

static int compare_runs(const void *a, const void *b)
{
	const struct run *x = a, *y = b;

	if (x->units != y->units)
		return x->units > y->units ? -1 : 1;
	return (x->guards > y->guards) - (x->guards < y->guards);
}

/*
 * Is there room for all of these?  For sites where events begin there is always:
 * the budget is what these leave.  Returns 1 or 0, or -ENOMEM.
 */
static int is_affordable(const struct keeper *keeper, const struct samples_guards *guards)
{
	const double *price = keeper->features.loop_price;
	uint32_t nr_loops = keeper->signatures->samples->nr_loops;

	for (uint32_t loop = 0; loop < nr_loops; loop++) {
		double hits = 0;

		for (uint32_t i = 0; i < guards->nr; i++)
			if (!keeper->signatures->is_site[guards->functions[i]])
				hits += price[(size_t)guards->functions[i] * nr_loops + loop];
		if (hits > keeper->options->budget[loop])
			return 0;
	}
	/* The paper's rule knows no worst unit. */
	if (keeper->options->method == SELECT_PAPER)
		return 1;
	/* They were chosen by what was known then. */
	return greedy_allows(&keeper->features, guards->functions, guards->nr);
}

/* The best of @guards for which there is room. */
static int choose_among(const struct keeper *keeper, const struct samples_guards *guards,
			struct kept *ret)
{
	struct select_options options = *keeper->options;
	bool *allowed = calloc((size_t)keeper->signatures->samples->nr_functions + 1,
			       sizeof(*allowed));
	int error;

	if (!allowed)
		return -ENOMEM;
	for (uint32_t i = 0; i < guards->nr; i++)
		allowed[guards->functions[i]] = true;
	options.method = SELECT_INFORMATION;
	options.allowed = allowed;
	error = select_guards(keeper->signatures, keeper->types, &options, ret->functions,
			      &ret->nr);
	free(allowed);
	return error;
}

/* Another set: of the functions @from if there are any, else of @guards. */
static int add_set(struct keeper *keeper, const uint32_t *from, uint32_t nr,
		   const struct samples_guards *guards)
{
	const struct samples *samples = keeper->signatures->samples;
	struct kept *set = &keeper->sets[keeper->nr_sets];
	struct select_score score;
	int ret = 0, fits = 1;

	if (guards)
		fits = is_affordable(keeper, guards);
	if (fits < 0)
		return fits;
	set->functions = calloc((size_t)samples->nr_functions + 1, sizeof(*set->functions));
	if (!set->functions)
		return -ENOMEM;
	keeper->nr_sets++;
	if (!fits) {
		ret = choose_among(keeper, guards, set);
		if (ret)
			return ret;
	} else {
		set->nr = guards ? guards->nr : nr;
		memcpy(set->functions, guards ? guards->functions : from,
		       set->nr * sizeof(*set->functions));
	}
	set->units = timed_units(samples, set->functions, set->nr);
	ret = select_rate(keeper->signatures, keeper->types, set->functions, set->nr, &score);
	set->accuracy = score.end;
	return ret;
}

static int add_runs(struct keeper *keeper)
{
	const struct samples *samples = keeper->signatures->samples;
	struct run *runs = calloc((size_t)samples->nr_guards + 1, sizeof(*runs));
	int ret = runs ? 0 : -ENOMEM;
	uint32_t nr = 0;

	for (uint32_t i = 0; i < samples->nr_guards && !ret; i++) {
		const struct samples_guards *guards = &samples->guards[i];
		uint64_t units = timed_units(samples, guards->functions, guards->nr);

		if (guards->nr && units)
			runs[nr++] = (struct run){ i, units };
	}
	if (nr)
		qsort(runs, nr, sizeof(*runs), compare_runs);
	for (uint32_t i = 0; i < nr && i < KEEP_MAX_RUNS && !ret; i++)
		ret = add_set(keeper, NULL, 0, &samples->guards[runs[i].guards]);
	free(runs);
	return ret;
}

static const struct kept *best_set(const struct keeper *keeper, double slack)
{
	const struct kept *chosen = &keeper->sets[0], *best = NULL;
	double top = -1;

	for (uint32_t i = 0; i < keeper->nr_sets; i++)
		if (keeper->sets[i].units && keeper->sets[i].accuracy > top)
			top = keeper->sets[i].accuracy;
	if (top < 0 || (!chosen->units && top < chosen->accuracy - slack))
		return chosen;
	for (uint32_t i = 0; i < keeper->nr_sets; i++) {
		const struct kept *set = &keeper->sets[i];

		if (set->units && set->accuracy >= top - KEEP_EQUAL &&
		    (!best || set->units > best->units))
			best = set;
	}
	return best;
}

int keep_guards(const struct signatures *signatures, const struct types *types,
		const struct select_options *options, double slack, uint32_t *functions,
		uint32_t *nr)
{
	struct keeper keeper = { .signatures = signatures, .types = types, .options = options };
	int ret;

	if (!signatures->samples->nr_timings)
		return 0;
	ret = features_init(&keeper.features, signatures, types, 0, NULL);
	if (ret)
		return ret;
	ret = add_set(&keeper, functions, *nr, NULL);
	if (!ret)
		ret = add_runs(&keeper);
	if (!ret) {
		const struct kept *best = best_set(&keeper, slack);

		memcpy(functions, best->functions, best->nr * sizeof(*functions));
		*nr = best->nr;
	}
	for (uint32_t i = 0; i < keeper.nr_sets; i++)
		free(keeper.sets[i].functions);
	features_deinit(&keeper.features);
	return ret;
}
