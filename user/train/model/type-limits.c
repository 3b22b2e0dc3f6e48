// SPDX-License-Identifier: GPL-2.0

#include "train/model/type-limits.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/array.h"
#include "train/model/tail.h"
#include "train/samples/times.h"

/* A part that takes less of a type's own time than this has no limit: the whole has one. */
#define LEAST_SHARE (1.0 / 16)
/* Where the whole may be so many times as long as what is computed, waits decide that. */
#define MOST_WAITS 1.25
/* Held-back units are no proof against a shape that this many of them exceed by chance. */
#define CHANCE 0.05
#define STEP 1.25
#define FEW_UNITS 30
/* Of fewer none may have met what the machine adds; where a loop has few, of a fifth of them. */
#define MANY_UNITS 300
#define MANY_SHARE 5
/* The largest of fewer says nothing of others. */
#define FEW_LARGEST 10
#define MAX_STRETCH 4
#define MOST_OF_ALL 2
#define LEAST_FACTOR 1.2

/* Of the types of a loop. */
struct fit {
	const struct threshold_rule *rule;
	const struct limits_loop *loop;
	struct limits_stretch *stretch;
	struct tail *tails[SAMPLES_NR_PARTS]; /* by type */
	struct tail_shape shapes[SAMPLES_NR_PARTS];
	uint64_t noise_ns[SAMPLES_NR_PARTS];
	struct limits *limits; /* by type */
};

void limits_stretch_init(struct limits_stretch *stretch)
{
	for (int group = 0; group < LIMITS_NR_GROUPS; group++)
		for (int part = 0; part < SAMPLES_NR_PARTS; part++)
			stretch->of[group][part] = 1;
}

double limits_beyond(const struct limits *limits, const struct samples_parts *times)
{
	double beyond = 0;

	for (int part = 0; part < SAMPLES_NR_PARTS; part++)
		if (limits->ns[part])
			beyond += times_beyond(&times->of[part], limits->ns[part]);
	return beyond;
}

static bool is_sizeable(const struct samples_parts *times, int part)
{
	return times_mean(&times->of[part]) > LEAST_SHARE * times_mean(&times->of[SAMPLES_OWN]);
}

/* All but the share @rate of the units take no longer, or but one. */
static uint64_t usual_most(const struct samples_times *times, double rate)
{
	uint64_t rank = (uint64_t)((double)times->nr * rate), stalls = tail_stalls(times);

	return times_rank(times, rank > stalls ? rank : stalls + 1);
}

/* Whether limits of the whole have to allow for waits, though on average there is hardly one. */
static bool is_decided_by_waits(const struct samples_parts *times, double rate)
{
	return (double)usual_most(&times->of[SAMPLES_OWN], rate) >
	       MOST_WAITS * (double)usual_most(&times->of[SAMPLES_CPU], rate);
}

/* Whether a part of a type has a limit. */
static bool is_own(const struct fit *fit, uint32_t type, int part)
{
	const struct samples_parts *times = &fit->loop->times[type];

	switch (part) {
	case SAMPLES_OWN:
		return true;
	case SAMPLES_CPU:
		return is_sizeable(times, part) &&
		       (is_sizeable(times, SAMPLES_BLOCKED) ||
			is_decided_by_waits(times, fit->rule->value));
	default:
		return is_sizeable(times, part);
	}
}

/*
 * The rule for each part of a type, which has its share of the declared rate.  The whole is
 * long if one of its parts is, and needs a share of its own only where waits have no limit.
 */
static struct threshold_rule rule_for(const struct fit *fit, uint32_t type)
{
	struct threshold_rule rule = *fit->rule;
	int nr = 0;

	for (int part = SAMPLES_OWN + 1; part < SAMPLES_NR_PARTS; part++)
		nr += is_own(fit, type, part);
	nr += is_own(fit, type, SAMPLES_CPU) && !is_own(fit, type, SAMPLES_BLOCKED);
	if (nr)
		rule.value /= nr;
	return rule;
}

/*
 * By the number of units that were learnt from while limits were tried, which was
 * half of all.
 */
static int group_of(const struct fit *fit, uint32_t type)
{
	uint64_t units = fit->loop->times[type].of[SAMPLES_OWN].nr;

	if (!fit->loop->held_back)
		units /= 2;
	return units < FEW_UNITS ? 0 : units < 300 ? 1 : units < 3000 ? 2 : 3;
}

static double *stretch_of(const struct fit *fit, uint32_t type, int part)
{
	return &fit->stretch->of[group_of(fit, type)][part];
}

static bool is_full(const struct threshold_rule *rule, const struct samples_times *times)
{
	return times->nr >= threshold_units(rule);
}

/*
 * By the order of a type's times, of which there are enough.  The declared rate is one of the
 * loop's units, so it has to be certain of all of them together: of n timed units of N the
 * type has n / N of the k that the loop has, if that is more than its own k.  Such shares of
 * independent types vary together as the loop's k would.
 */
static uint64_t by_order(const struct fit *fit, const struct samples_times *times, double rate)
{
	uint64_t nr = fit->loop->all.nr, order = threshold_order(times->nr, rate), share;

	share = (uint64_t)((double)times->nr * (double)threshold_order(nr, rate) / (double)nr);
	return times_rank(times, order > share ? order : share);
}

/* All but a tenth of the units take no longer. */
static uint64_t level(const struct samples_times *times)
{
	return times_rank(times, times->nr / 10 + 1);
}

/*
 * What the largest of @nr additions says of that which a share @rate of units exceeds, ns, as
 * if they were exponential.  Less than the logarithm of nr and 1.1 of their mean, the 5 %
 * quantile of Gumbel's distribution, the largest is hardly ever; so nothing is added from
 * as many units on as threshold_units() says.
 */
static uint64_t reach_of(uint64_t added_ns, uint64_t nr, double rate)
{
	double least = log((double)nr) - log(-log(CHANCE));

	return log(1 / rate) > least ? (uint64_t)(log(1 / rate) / least * (double)added_ns)
				     : added_ns;
}

/*
 * What the machine adds to a unit now and then, whatever it runs: interrupts, above all.  No
 * type has less, so it is known by the one that shows least of it.
 */
static uint64_t noise(const struct fit *fit, int part)
{
	uint64_t least = UINT64_MAX, many = fit->loop->all.nr / MANY_SHARE;

	if (many > MANY_UNITS)
		many = MANY_UNITS;
	for (uint32_t i = 0; i < fit->loop->nr; i++) {
		const struct samples_times *times = &fit->loop->times[i].of[part];
		struct threshold_rule rule = rule_for(fit, i);
		uint64_t most, usual, added;

		if (!is_own(fit, i, part) || times->nr < many || times->nr < FEW_LARGEST)
			continue;
		most = usual_most(times, rule.value);
		usual = level(times);
		/* A rate may be beyond a tenth. */
		if (most < usual)
			return 0;
		added = reach_of(most - usual, times->nr, rule.value);
		if (added < least)
			least = added;
	}
	return least == UINT64_MAX ? 0 : least;
}

/*
 * By the shape of the loop's tails; but the machine's noise is within it, and no more of the
 * units seen exceed it than may.  The tail of a few units that differ much reaches to hours, and
 * whatever may be of their type would never be late: twice what any unit of the loop took is
 * as far as its times say something.
 */
static uint64_t by_tail(const struct fit *fit, uint32_t type, int part, double rate,
			double stretch)
{
	const struct samples_times *times = &fit->loop->times[type].of[part];
	const struct tail *tail = &fit->tails[part][type];
	uint64_t may = (uint64_t)((double)times->nr * rate), least, ns;
	uint64_t most = MOST_OF_ALL * tail_largest(&fit->loop->all);

	least = may > 1 ? times_rank(times, may) : tail->largest_ns;
	if (least < level(times) + fit->noise_ns[part])
		least = level(times) + fit->noise_ns[part];
	ns = tail_limit(tail, &fit->shapes[part], rate, stretch);
	if (ns > most)
		ns = most;
	return ns > least ? ns : least;
}

/* By what units took; *@confidence falls to how sure it is. */
static uint64_t find_by_times(const struct fit *fit, uint32_t type, int part,
			  enum model_confidence *confidence)
{
	const struct samples_times *times = &fit->loop->times[type].of[part];
	struct threshold_rule rule = rule_for(fit, type);
	double stretch = *stretch_of(fit, type, part);

	if (is_full(&rule, times))
		return by_order(fit, times, rule.value);
	if (stretch > 0) {
		if (*confidence > MODEL_CONFIDENCE_FIT)
			*confidence = MODEL_CONFIDENCE_FIT;
		return by_tail(fit, type, part, rule.value, stretch);
	}
	*confidence = MODEL_CONFIDENCE_FEW;
	/* Of so few units, twice the largest says nothing. */
	return threshold_find(&rule, times, part == SAMPLES_OWN && times->nr < FEW_UNITS ?
						    &fit->loop->all : times).ns;
}

/*
 * A part's limit; as above.  What a type takes moves by some percent with the state that the
 * program and the machine are in, and training sees but a few of those: no limit is closer to the
 * median than that.  A type that moves as a whole is a regression's.
 */
static uint64_t find_part(const struct fit *fit, uint32_t type, int part,
			  enum model_confidence *confidence)
{
	const struct samples_times *times = &fit->loop->times[type].of[part];
	double least_ns = LEAST_FACTOR * (double)times_rank(times, times->nr / 2 + 1);
	uint64_t ns = find_by_times(fit, type, part, confidence);

	return (double)ns < least_ns ? (uint64_t)least_ns : ns;
}

static uint64_t units_needed(const struct fit *fit, uint32_t type)
{
	struct threshold_rule rule = rule_for(fit, type);
	uint64_t needed = threshold_units(&rule), nr = fit->loop->times[type].of[SAMPLES_OWN].nr;

	return needed > nr ? needed - nr : 0;
}

/* As the whole of a unit's own time has it by the rule, without regard to other types. */
static struct limits find_whole(const struct fit *fit, uint32_t type)
{
	const struct samples_times *own = &fit->loop->times[type].of[SAMPLES_OWN];
	struct threshold threshold = threshold_find(fit->rule, own, &fit->loop->all);

	return (struct limits){
		.ns = { [SAMPLES_OWN] = threshold.ns },
		.confidence = threshold.confidence,
		.units_needed = threshold.units_needed,
		.false_alarms = threshold.false_alarms,
	};
}

static struct limits find_type(const struct fit *fit, uint32_t type)
{
	const struct samples_parts *times = &fit->loop->times[type];
	struct limits limits = {
		.confidence = MODEL_CONFIDENCE_FULL,
		.units_needed = units_needed(fit, type),
		.false_alarms = fit->rule->value,
	};

	if (fit->rule->kind != THRESHOLD_RATE || !times->of[SAMPLES_OWN].nr)
		return find_whole(fit, type);
	for (int part = 0; part < SAMPLES_NR_PARTS; part++)
		if (is_own(fit, type, part))
			limits.ns[part] = find_part(fit, type, part, &limits.confidence);
	if (limits.confidence == MODEL_CONFIDENCE_FEW)
		limits.false_alarms = (limits_beyond(&limits, times) + 1) /
				      ((double)times->of[SAMPLES_OWN].nr + 1);
	return limits;
}

/* More units than this exceed a limit by chance hardly ever, where @mean are expected. */
static double most_by_chance(double mean)
{
	double chance = exp(-mean), sum = chance;
	double nr = 0;

	/* a normal distribution, where the exponential has no more digits */
	if (mean > 500)
		return mean + 1.645 * sqrt(mean);
	while (sum < 1 - CHANCE) {
		chance *= mean / ++nr;
		sum += chance;
	}
	return nr;
}

/* Let limits of a group and part reach further, if held-back units exceed them too often. */
static bool try_group(struct fit *fit, int group, int part)
{
	double *stretch = &fit->stretch->of[group][part], beyond = 0, expected = 0;

	if (!*stretch)
		return false;
	for (uint32_t i = 0; i < fit->loop->nr; i++) {
		struct threshold_rule rule = rule_for(fit, i);
		const struct samples_times *times = &fit->loop->times[i].of[part];
		const struct samples_times *held_back = &fit->loop->held_back[i].of[part];

		if (group_of(fit, i) != group || !fit->limits[i].ns[part] ||
		    !times->nr || is_full(&rule, times))
			continue;
		beyond += fmax(times_beyond(held_back, fit->limits[i].ns[part]) -
			       tail_stalls(held_back), 0);
		expected += rule.value * (double)held_back->nr;
	}
	if (beyond <= most_by_chance(expected))
		return false;
	*stretch *= STEP;
	if (*stretch > MAX_STRETCH)
		*stretch = 0;
	return true;
}

static bool try_all(struct fit *fit)
{
	bool has_changed = false;

	if (fit->rule->kind != THRESHOLD_RATE)
		return false;
	for (int group = 0; group < LIMITS_NR_GROUPS; group++)
		for (int part = 0; part < SAMPLES_NR_PARTS; part++)
			has_changed |= try_group(fit, group, part);
	return has_changed;
}

static int fit_init(struct fit *fit)
{
	for (int part = 0; part < SAMPLES_NR_PARTS; part++) {
		if (array_new(fit->tails[part], fit->loop->nr))
			return -ENOMEM;
		for (uint32_t i = 0; i < fit->loop->nr; i++)
			if (is_own(fit, i, part))
				fit->tails[part][i] = tail_of(&fit->loop->times[i].of[part]);
		fit->shapes[part] = tail_shape_of(fit->tails[part], fit->loop->nr);
		fit->noise_ns[part] = fit->rule->kind == THRESHOLD_RATE ? noise(fit, part) : 0;
	}
	return 0;
}

static void fit_deinit(struct fit *fit)
{
	for (int part = 0; part < SAMPLES_NR_PARTS; part++)
		free(fit->tails[part]);
}

int limits_find(const struct threshold_rule *rule, const struct limits_loop *loop,
		struct limits_stretch *stretch, struct limits *ret)
{
	struct fit fit = { .rule = rule, .loop = loop, .stretch = stretch, .limits = ret };
	int error = fit_init(&fit);

	if (!error) {
		do {
			for (uint32_t i = 0; i < loop->nr; i++)
				ret[i] = find_type(&fit, i);
		} while (loop->held_back && try_all(&fit));
	}
	fit_deinit(&fit);
	return error;
}

int limits_find_tried(const struct threshold_rule *rule, struct samples_parts *const times[2],
		      uint32_t nr, const struct samples_times *const all[2], struct limits *tried,
		      struct limits *ret)
{
	struct limits_loop loop = {
		.times = times[0], .held_back = times[1], .nr = nr, .all = *all[0],
	};
	struct limits_stretch stretch;
	int error;

	limits_stretch_init(&stretch);
	error = limits_find(rule, &loop, &stretch, tried);
	for (uint32_t i = 0; i < nr; i++)
		times_merge_parts(&times[0][i], &times[1][i]);
	times_merge(&loop.all, all[1]);
	loop.held_back = NULL;
	return error ?: limits_find(rule, &loop, &stretch, ret);
}
