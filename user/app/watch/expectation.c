// SPDX-License-Identifier: GPL-2.0

#include "app/watch/expectation.h"

#include <math.h>
#include <stdio.h>

#include "app/watch/status-query.h"
#include "base/duration.h"
#include "out/text.h"
#include "train/model/threshold.h"

/* One in a thousand on either side, in standard deviations, too. */
#define TAIL 0.001
#define DEVIATIONS 3.09
/* Beyond so many a normal distribution is exact enough, and exp() soon not. */
#define MAX_COUNTED 500
/* Less than this of CPU time is the arming alone, and a budget is not cut to the point. */
#define MIN_CPU_NS (2 * NSEC_PER_SEC)
#define MIN_EXCESS 1.1

/* The chance that at most @count come where @mean are expected (Poisson). */
static double at_most(uint64_t count, double mean)
{
	double term = exp(-mean), sum = term;

	for (uint64_t i = 1; i <= count; i++) {
		term *= mean / (double)i;
		sum += term;
	}
	return sum;
}

/* The mean for which at most @count come with this @chance: it falls as the mean rises. */
static double mean_of(uint64_t count, double chance)
{
	double low = 0, high = (double)count + 8 * sqrt((double)count + 1) + 16;

	for (int i = 0; i < 60; i++) {
		double middle = (low + high) / 2;

		if (at_most(count, middle) > chance)
			low = middle;
		else
			high = middle;
	}
	return low;
}

struct expectation_share expectation_share(uint64_t late, uint64_t units)
{
	double nr = (double)units, count = (double)late, least, most;

	if (!units)
		return (struct expectation_share){ 0, 0, 1 };
	if (late > MAX_COUNTED) {
		least = count - DEVIATIONS * sqrt(count);
		most = count + DEVIATIONS * sqrt(count);
	} else {
		least = late ? mean_of(late - 1, 1 - TAIL) : 0;
		most = mean_of(late, TAIL);
	}
	return (struct expectation_share){ count / nr, least / nr, fmin(most / nr, 1) };
}

static uint64_t count_late(const struct status_profile *profile)
{
	uint64_t late = 0;

	for (uint32_t i = 0; i < profile->nr_types; i++)
		late += profile->types[i].late;
	return late;
}

/* What people set is late is late by their will: no rule says how much that is. */
static bool has_objective(const struct status_profile *profile)
{
	for (uint32_t i = 0; i < profile->nr_types; i++)
		if (profile->types[i].threshold_ns)
			return true;
	return false;
}

double expectation_late(const struct status_profile *profile)
{
	struct threshold_rule rule;

	if (!profile->is_known || has_objective(profile) ||
	    threshold_parse(profile->model.threshold_rule, &rule) || rule.kind != THRESHOLD_RATE)
		return -1;
	return rule.value;
}

bool expectation_is_late(const struct status_profile *profile)
{
	double expected = expectation_late(profile);

	return expected >= 0 &&
	       expectation_share(count_late(profile), profile->armed->units).least > expected;
}

static double share_of(const struct armed_cost *cost)
{
	return (double)(cost->guards + cost->boundaries + cost->report) / (double)cost->cpu;
}

bool expectation_is_costly(const struct status_profile *profile)
{
	const struct armed_profile *armed = profile->armed;

	return armed->prices.budget_ppm && armed->cost.cpu >= MIN_CPU_NS &&
	       share_of(&armed->cost) > MIN_EXCESS * armed->prices.budget_ppm / 1e6;
}

/* By the part that takes most: guards are taken off, the others cannot be. */
static const char *advice_of(const struct armed_cost *cost)
{
	if (cost->report > cost->boundaries && cost->report > cost->guards)
		return "Reporting late units takes most of it: see whether they are right.";
	if (cost->boundaries > cost->guards)
		return "Its units are so short that to find them takes most of it, which cannot be "
		       "shed: allow it (arm --budget), or disarm.";
	return "Guards are taken off for it; fewer take less: pg-collect learn -o FILE "
	       "--guard-share PCT, and arm FILE again.";
}

static void print_cost(const struct armed_profile *armed)
{
	char text[512];

	snprintf(text, sizeof(text),
		 "Guarding has taken %.2f %% of the program's CPU time, more than the budget of %g %%.  %s",
		 100 * share_of(&armed->cost), armed->prices.budget_ppm / 1e4,
		 advice_of(&armed->cost));
	fputs("  ", stdout);
	paragraph_wrap(stdout, text, 2, 2);
}

static void print_late(const struct status_profile *profile)
{
	uint64_t late = count_late(profile), units = profile->armed->units;
	struct expectation_share share = expectation_share(late, units);
	char text[512];

	snprintf(text, sizeof(text),
		 "%.3g %% of the units were late (%.3g to %.3g, by chance alone), and %g %% are expected where nothing is wrong.  Either they are slower than in training, as 'pg-collect watch' shows, or the limits do not fit this load and machine: 'pg-collect learn --live -o FILE' takes them from here, while it is normal.",
		 100 * share.share, 100 * share.least, 100 * share.most,
		 100 * expectation_late(profile));
	fputs("  ", stdout);
	paragraph_wrap(stdout, text, 2, 2);
}

void expectation_text(const struct status_profile *profile)
{
	if (expectation_is_costly(profile))
		print_cost(profile->armed);
	if (expectation_is_late(profile))
		print_late(profile);
}
