// SPDX-License-Identifier: GPL-2.0

#include "train/model/threshold.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "train/samples/times.h"

/* Chance that the declared rate is exceeded for all that. */
#define RISK 0.05

enum {
	MIN_SIGMA_UNITS = 30,
	/* Less than 1/FEW of the units needed is very few. */
	FEW = 10,
	SAFETY = 2,
};

int threshold_parse(const char *text, struct threshold_rule *ret)
{
	struct threshold_rule rule;
	double most;
	char *end;

	if (!strncmp(text, "rate:", 5)) {
		rule.kind = THRESHOLD_RATE;
		most = 0.5;
		text += 5;
	} else if (!strncmp(text, "sigma:", 6)) {
		rule.kind = THRESHOLD_SIGMA;
		most = 1000;
		text += 6;
	} else {
		return -EINVAL;
	}
	/* digits and one point, no more: strtod() takes much else */
	if (!*text || strspn(text, "0123456789.") != strlen(text))
		return -EINVAL;
	rule.value = strtod(text, &end);
	if (*end || !(rule.value > 0) || rule.value > most)
		return -EINVAL;
	*ret = rule;
	return 0;
}

uint64_t threshold_units(const struct threshold_rule *rule)
{
	double units;

	if (rule->kind == THRESHOLD_SIGMA)
		return MIN_SIGMA_UNITS;
	units = ceil(log(RISK) / log1p(-rule->value));
	return units < 1e18 ? (uint64_t)units : (uint64_t)1e18;
}

uint64_t threshold_order(uint64_t nr, double rate)
{
	double n = (double)nr, mean = n * rate, chance, sum = 0;
	/* what is further below the mean than this adds nothing */
	double below = mean - 10 * sqrt(mean) - 10;
	uint64_t k = below > 0 ? (uint64_t)below : 0;

	if (!nr)
		return 0;
	chance = exp(lgamma(n + 1) - lgamma((double)k + 1) - lgamma(n - (double)k + 1) +
		     (double)k * log(rate) + (n - (double)k) * log1p(-rate));
	for (; k < nr; k++) {
		sum += chance;
		if (sum > RISK)
			break;
		chance *= (n - (double)k) / ((double)k + 1) * rate / (1 - rate);
	}
	return k;
}

static uint64_t twice(uint64_t ns)
{
	return ns > UINT64_MAX / SAFETY ? UINT64_MAX : SAFETY * ns;
}

/* By the rule, without regard to how many units there are; 0 if it has no answer. */
static uint64_t by_rule(const struct threshold_rule *rule, const struct samples_times *times)
{
	double ns;

	if (times->nr < threshold_units(rule))
		return 0;
	if (rule->kind == THRESHOLD_RATE)
		return times_rank(times, threshold_order(times->nr, rule->value));
	ns = times_mean(times) + rule->value * times_deviation(times);
	return ns < 1e19 ? (uint64_t)ns : (uint64_t)1e19;
}

static uint64_t for_loop(const struct threshold_rule *rule, const struct samples_times *loop)
{
	uint64_t ns = by_rule(rule, loop);

	return ns ? ns : twice(times_largest(loop));
}

struct threshold threshold_find(const struct threshold_rule *rule,
				const struct samples_times *times,
				const struct samples_times *loop)
{
	uint64_t needed = threshold_units(rule);
	struct threshold threshold = {
		.confidence = MODEL_CONFIDENCE_FULL,
		.ns = by_rule(rule, times),
	};

	if (!times->nr) {
		threshold.confidence = MODEL_CONFIDENCE_NONE;
		threshold.ns = times_largest(loop);
		threshold.units_needed = needed;
		times = loop;
	} else if (times->nr < needed) {
		uint64_t at_least = times->nr < needed / FEW ? for_loop(rule, loop) : 0;

		threshold.confidence = MODEL_CONFIDENCE_FEW;
		threshold.ns = twice(times_largest(times));
		if (threshold.ns < at_least)
			threshold.ns = at_least;
		threshold.units_needed = needed - times->nr;
	}
	if (times->nr)
		threshold.false_alarms = (times_beyond(times, threshold.ns) + 1) /
					 ((double)times->nr + 1);
	return threshold;
}
