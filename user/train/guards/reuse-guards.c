// SPDX-License-Identifier: GPL-2.0

#include "train/guards/reuse-guards.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "train/guards/features.h"
#include "train/guards/greedy.h"
#include "train/guards/reach.h"
#include "train/guards/timed.h"

/* Guards to choose from. */
struct kept {
	uint32_t *functions;
	uint32_t nr;
	uint64_t units; /* timed with them */
	double accuracy;
	double worth; /* by how long its units took; 0 if not timed */
};

struct keeper {
	const struct signatures *signatures;
	const struct types *types;
	const struct select_options *options;
	struct features features;
	struct kept sets[2 * REUSE_MAX_RUNS + 1]; /* the first: as chosen */
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
	if (!features_fit(&keeper->features, keeper->options->budget, set->functions, set->nr))
		return 0;
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

/* What shortens the reach by less does not. */
#define MIN_BITS 1e-6

/* All loops together, in hits a unit. */
static double price_of(const struct keeper *keeper, uint32_t function)
{
	return keeper->features.columns[function].price + GREEDY_FREE_HITS;
}

/*
 * The function that shortens @reach, which is *@bits now, the most for its price, of those in @all
 * for which there is room beside @set; *@ret is SAMPLES_NONE if none does.
 */
static int next_sharp(const struct keeper *keeper, const struct reach *reach,
		      const struct kept *all, struct kept *set, double *bits, uint32_t *ret)
{
	double best = 0, left = *bits;
	int error = 0;

	*ret = SAMPLES_NONE;
	for (uint32_t i = 0; i < all->nr && error >= 0; i++) {
		double now, value;

		error = reach_try(reach, i, &now);
		value = (*bits - now) / price_of(keeper, all->functions[i]);
		if (error || value <= best || *bits - now < MIN_BITS)
			continue;
		set->functions[set->nr] = all->functions[i];
		set->nr++;
		error = is_affordable(keeper, set);
		set->nr--;
		if (error <= 0)
			continue;
		best = value;
		left = now;
		*ret = i;
	}
	*bits = left;
	return error < 0 ? error : 0;
}

/* Choose of @all, which had guards together in a run, those that make the sharpest limits. */
static int choose_sharp(const struct keeper *keeper, const struct kept *all, struct kept *set)
{
	struct reach reach;
	double bits;
	uint32_t next;
	int error = reach_init(&reach, keeper->signatures->samples, all->functions, all->nr);

	if (!error)
		error = reach_now(&reach, &bits);
	while (!error) {
		error = next_sharp(keeper, &reach, all, set, &bits, &next);
		if (error || next == SAMPLES_NONE)
			break;
		reach_choose(&reach, next);
		set->functions[set->nr++] = all->functions[next];
	}
	reach_deinit(&reach);
	if (set->nr)
		qsort(set->functions, set->nr, sizeof(*set->functions), order_u32);
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

/* A share of @end of the units has the right type. */
static int rate_reach(const struct keeper *keeper, struct kept *set, double end)
{
	struct reach reach;
	double bits;
	int error = reach_init(&reach, keeper->signatures->samples, set->functions, set->nr);

	for (uint32_t i = 0; i < set->nr && !error; i++)
		reach_choose(&reach, i);
	if (!error)
		error = reach_now(&reach, &bits);
	if (!error)
		set->worth = end / (1 + bits);
	reach_deinit(&reach);
	return error;
}

static int rate_set(const struct keeper *keeper, struct kept *set)
{
	struct select_score score;
	int ret = select_rate(keeper->signatures, keeper->types, set->functions, set->nr, &score);

	if (set->nr)
		set->units = timed_units(keeper->signatures->samples, set->functions, set->nr);
	set->accuracy = select_worth(&score);
	if (!ret && set->units)
		ret = rate_reach(keeper, set, score.end);
	return ret;
}

/* Of @all, for which there is no room. */
static int add_sharp(struct keeper *keeper, const struct kept *all)
{
	struct kept *set = new_set(keeper);

	return set ? choose_sharp(keeper, all, set) ?: rate_set(keeper, set) : -ENOMEM;
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
		ret = add_sharp(keeper, set) ?: choose_among(keeper, set);
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
	top = 0;
	for (uint32_t i = 0; i < keeper->nr_sets; i++)
		if (keeper->sets[i].worth > top)
			top = keeper->sets[i].worth;
	for (uint32_t i = 0; i < keeper->nr_sets; i++) {
		const struct kept *set = &keeper->sets[i];

		if (set->units && set->worth >= top - REUSE_EQUAL &&
		    (!best || set->units > best->units))
			best = set;
	}
	return best;
}

int reuse_guards(const struct signatures *signatures, const struct types *types,
		 const struct select_options *options, double slack, uint32_t *functions,
		 uint32_t *nr)
{
	const struct features_options table = { .is_inline = options->is_inline };
	struct keeper keeper = { .signatures = signatures, .types = types, .options = options };
	int ret;

	if (!signatures->samples->nr_timings)
		return 0;
	ret = features_init(&keeper.features, signatures, types, &table);
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
