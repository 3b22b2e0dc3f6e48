// SPDX-License-Identifier: GPL-2.0

#include "train/guards/reuse-guards.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "train/guards/features.h"
#include "train/guards/greedy.h"
#include "train/guards/timed.h"

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
	struct kept sets[REUSE_MAX_RUNS + 1]; /* the first: as chosen */
	uint32_t nr_sets;
};

/* A timing run, to be sorted: the most timed first. */
struct timing_run {
	uint32_t guards;
	uint64_t units;
};

static int compare_runs(const void *a, const void *b)
{
	const struct timing_run *x = a, *y = b;

	return order_of(y->units, x->units) ?: order_of(x->guards, y->guards);
}

/* Returns 1 if there is room for all of these, 0 if not, or -ENOMEM. */
static int is_affordable(const struct keeper *keeper, const struct kept *set)
{
	const double *price = keeper->features.loop_price;
	uint32_t nr_loops = keeper->signatures->samples->nr_loops;

	for (uint32_t loop = 0; loop < nr_loops; loop++) {
		double hits = 0;

		for (uint32_t i = 0; i < set->nr; i++)
			hits += price[(size_t)set->functions[i] * nr_loops + loop];
		if (hits > keeper->options->budget[loop])
			return 0;
	}
	/* The paper's rule knows no worst unit. */
	if (keeper->options->method == SELECT_PAPER)
		return 1;
	/* They were chosen by what was known then. */
	return greedy_allows(&keeper->features, set->functions, set->nr);
}

/* Leave of @set the best for which there is room. */
static int choose_among(const struct keeper *keeper, struct kept *set)
{
	struct select_options options = *keeper->options;
	bool *allowed;
	int error;

	if (array_new(allowed, keeper->signatures->samples->nr_functions))
		return -ENOMEM;
	for (uint32_t i = 0; i < set->nr; i++)
		allowed[set->functions[i]] = true;
	options.method = SELECT_INFORMATION;
	options.allowed = allowed;
	error = select_guards(keeper->signatures, keeper->types, &options, set->functions,
			      &set->nr);
	free(allowed);
	return error;
}

/* An empty set, with room for all functions. */
static struct kept *new_set(struct keeper *keeper)
{
	struct kept *set = &keeper->sets[keeper->nr_sets];

	if (array_new(set->functions, keeper->signatures->samples->nr_functions))
		return NULL;
	keeper->nr_sets++;
	return set;
}

static int rate_set(const struct keeper *keeper, struct kept *set)
{
	struct select_score score;
	int ret = select_rate(keeper->signatures, keeper->types, set->functions, set->nr, &score);

	if (set->nr)
		set->units = timed_units(keeper->signatures->samples, set->functions, set->nr);
	set->accuracy = select_worth(&score);
	return ret;
}

/*
 * The guards of a timing run.  Sites where events begin had probes then, too,
 * and have them in any case: those that are to distinguish types are chosen again.
 */
static int add_run(struct keeper *keeper, const struct samples_guards *guards)
{
	struct kept *set = new_set(keeper);
	int ret;

	if (!set)
		return -ENOMEM;
	for (uint32_t i = 0; i < guards->nr; i++)
		if (!keeper->signatures->is_site[guards->functions[i]])
			set->functions[set->nr++] = guards->functions[i];
	ret = is_affordable(keeper, set);
	if (!ret)
		ret = choose_among(keeper, set);
	return ret < 0 ? ret : rate_set(keeper, set);
}

static int add_chosen(struct keeper *keeper, const uint32_t *functions, uint32_t nr)
{
	struct kept *set = new_set(keeper);

	if (!set)
		return -ENOMEM;
	memcpy(set->functions, functions, nr * sizeof(*functions));
	set->nr = nr;
	return rate_set(keeper, set);
}

static int add_runs(struct keeper *keeper)
{
	const struct samples *samples = keeper->signatures->samples;
	struct timing_run *runs;
	int ret = array_new(runs, samples->nr_guards);
	uint32_t nr = 0;

	for (uint32_t i = 0; i < samples->nr_guards && !ret; i++) {
		const struct samples_guards *guards = &samples->guards[i];
		uint64_t units = timed_units(samples, guards->functions, guards->nr);

		if (guards->nr && units)
			runs[nr++] = (struct timing_run){ i, units };
	}
	if (nr)
		qsort(runs, nr, sizeof(*runs), compare_runs);
	for (uint32_t i = 0; i < nr && i < REUSE_MAX_RUNS && !ret; i++)
		ret = add_run(keeper, &samples->guards[runs[i].guards]);
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

		if (set->units && set->accuracy >= top - REUSE_EQUAL &&
		    (!best || set->units > best->units))
			best = set;
	}
	return best;
}

int reuse_guards(const struct signatures *signatures, const struct types *types,
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
	ret = add_chosen(&keeper, functions, *nr);
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
