// SPDX-License-Identifier: GPL-2.0
/* Times and thresholds: what is declared is kept, on simulated units. */

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "synthetic.h"
#include "tap.h"
#include "train/model/threshold.h"
#include "train/samples/times.h"

enum {
	REPETITIONS = 2000,
};

/* Distributions of unit times, in ns, and the chance to exceed a time. */
enum shape {
	EXPONENTIAL,
	PARETO, /* infinite variance */
	NORMAL_LOG,
	TWO_PEAKS, /* one unit in 200 is 50 times as long */
	NR_SHAPES,
};

static const char *const names[] = { "exponential", "Pareto", "log-normal", "two peaks" };

static double normal(void)
{
	return sqrt(-2 * log(synthetic_uniform())) * cos(6.283185307179586 * synthetic_uniform());
}

static double draw(enum shape shape)
{
	switch (shape) {
	case EXPONENTIAL:
		return -1e6 * log(synthetic_uniform());
	case PARETO:
		return 1e5 * pow(synthetic_uniform(), -1 / 1.5);
	case NORMAL_LOG:
		return 1e6 * exp(normal());
	default:
		return (synthetic_below(200) ? 1e6 : 5e7) * (1 + 0.1 * synthetic_uniform());
	}
}

/* Share of all units that exceed @ns. */
static double exceedance(enum shape shape, double ns)
{
	double rare;

	switch (shape) {
	case EXPONENTIAL:
		return exp(-ns / 1e6);
	case PARETO:
		return ns < 1e5 ? 1 : pow(ns / 1e5, -1.5);
	case NORMAL_LOG:
		return 0.5 * erfc(log(ns / 1e6) / sqrt(2));
	default:
		rare = (5.5e7 - ns) / 5e6;
		rare = rare < 0 ? 0 : rare > 1 ? 1 : rare;
		ns = (1.1e6 - ns) / 1e5;
		return rare / 200 + (ns < 0 ? 0 : ns > 1 ? 1 : ns) * 199 / 200;
	}
}

/*
 * How often, of many trainings with @units units, the share of units beyond
 * the threshold is more than declared.  Times are kept to the nanosecond.
 */
static double broken_share(enum shape shape, double rate, uint32_t units, double *mean)
{
	struct threshold_rule rule = { THRESHOLD_RATE, rate };
	uint32_t broken = 0;

	*mean = 0;
	for (int i = 0; i < REPETITIONS; i++) {
		struct samples_times times = { 0 };
		struct threshold threshold;

		for (uint32_t j = 0; j < units; j++)
			times_add(&times, (uint64_t)draw(shape));
		threshold = threshold_find(&rule, &times, &times);
		if (threshold.confidence != MODEL_CONFIDENCE_FULL)
			return 1;
		broken += exceedance(shape, (double)threshold.ns) > rate;
		*mean += exceedance(shape, (double)threshold.ns) / REPETITIONS;
	}
	return (double)broken / REPETITIONS;
}

static void test_coverage(void)
{
	static const struct {
		double rate;
		uint32_t units;
	} cases[] = { { 0.01, 299 }, { 0.01, 1000 }, { 0.05, 3000 }, { 0.001, 3000 } };

	for (uint32_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		for (int shape = 0; shape < NR_SHAPES; shape++) {
			double mean, share;

			/* the last case takes as long as all others */
			if (cases[i].units > 2000 && cases[i].rate < 0.01 && shape != PARETO)
				continue;
			share = broken_share(shape, cases[i].rate, cases[i].units, &mean);
			/* 5 % and four standard errors of this simulation */
			ok(share <= 0.05 + 4 * sqrt(0.05 * 0.95 / REPETITIONS),
			   "rate %g of %u %s units: exceeded in %.1f %%", cases[i].rate,
			   cases[i].units, names[shape], 100 * share);
			diag("mean share beyond it %.5f", mean);
		}
	}
}

static void test_order(void)
{
	struct threshold_rule rule = { THRESHOLD_RATE, 0.001 };
	bool is_greatest = true;
	double rate = 0.02;

	ok(threshold_units(&rule) == 2995, "0.001 needs 2995 units");
	ok(threshold_order(2994, 0.001) == 0 && threshold_order(2995, 0.001) == 1,
	   "the largest of 2995 will do");
	ok(threshold_order(4741, 0.001) == 1 && threshold_order(4742, 0.001) == 2,
	   "the second largest of 4742");
	/* the sum of binomial chances by the plain formula */
	for (uint64_t n = 1; n < 600; n++) {
		uint64_t k = threshold_order(n, rate);
		double sum = 0, chance = pow(1 - rate, (double)n), below = 0;

		for (uint64_t j = 0; j <= k; j++) {
			below = sum;
			sum += chance;
			chance *= (double)(n - j) / (double)(j + 1) * rate / (1 - rate);
		}
		is_greatest &= below <= 0.05 && sum > 0.05;
	}
	ok(is_greatest, "and so by the binomial distribution for 600 other numbers");
	ok(threshold_order(100000000, 0.001) > 99000 && threshold_order(100000000, 0.001) < 100000,
	   "a hundred million units do not underflow");
}

static void fill(struct samples_times *times, uint32_t nr)
{
	memset(times, 0, sizeof(*times));
	for (uint32_t i = 1; i <= nr; i++)
		times_add(times, 1000 * i);
}

static void test_few(void)
{
	struct threshold_rule rule = { THRESHOLD_RATE, 0.001 }, sigma = { THRESHOLD_SIGMA, 4 };
	struct samples_times none = { 0 }, times, loop;
	struct threshold threshold;

	fill(&loop, 10000);
	threshold = threshold_find(&rule, &none, &loop);
	ok(threshold.confidence == MODEL_CONFIDENCE_NONE && threshold.ns == 10000000 &&
	   threshold.units_needed == 2995, "no unit: the loop's largest");
	fill(&times, 100);
	threshold = threshold_find(&rule, &times, &loop);
	ok(threshold.confidence == MODEL_CONFIDENCE_FEW && threshold.units_needed == 2895 &&
	   threshold.ns == times_rank(&loop, threshold_order(10000, 0.001)),
	   "very few: at least the loop's threshold");
	fill(&times, 1000);
	threshold = threshold_find(&rule, &times, &loop);
	ok(threshold.confidence == MODEL_CONFIDENCE_FEW && threshold.ns == 2000000,
	   "few: twice the largest");
	fill(&times, 20000);
	threshold = threshold_find(&rule, &times, &loop);
	ok(threshold.confidence == MODEL_CONFIDENCE_FULL && !threshold.units_needed &&
	   threshold.ns == 1000 * (20001 - threshold_order(20000, 0.001)),
	   "enough: that order statistic");
	ok(threshold.false_alarms > 0 && threshold.false_alarms <= 0.001,
	   "and fewer alarms than declared are expected");
	threshold = threshold_find(&rule, &none, &none);
	ok(threshold.ns == 0, "nothing timed at all: no threshold");
	fill(&times, 101);
	threshold = threshold_find(&sigma, &times, &loop);
	ok(threshold.confidence == MODEL_CONFIDENCE_FULL && threshold.ns == 168200,
	   "sigma:4 is the mean and four deviations (%llu)", (unsigned long long)threshold.ns);
}

static void test_parse(void)
{
	static const char *const wrong[] = { "", "rate:", "rate:0", "rate:1", "rate:-0.1",
					     "rate:nan", "rate:0.1x", "sigma:", "sigma:0",
					     "sigma:1e9", "sigma:inf", "mean", "rate:0x1", "rate:." };
	struct threshold_rule rule = { 0 };
	bool all_refused = true;

	ok(!threshold_parse("rate:0.001", &rule) && rule.kind == THRESHOLD_RATE &&
	   fabs(rule.value - 0.001) < 1e-12, "rate:0.001 is understood");
	ok(!threshold_parse("sigma:4", &rule) && rule.kind == THRESHOLD_SIGMA &&
	   fabs(rule.value - 4) < 1e-12, "so is sigma:4");
	for (uint32_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		if (!threshold_parse(wrong[i], &rule)) {
			diag("%s is taken", wrong[i]);
			all_refused = false;
		}
	}
	ok(all_refused, "nothing else is");
}

static void test_merge(void)
{
	struct samples_times parts[7] = { 0 }, all = { 0 }, up = { 0 }, down = { 0 };
	uint64_t sorted_beyond = 0;

	for (uint32_t i = 0; i < 5000; i++) {
		uint64_t ns = (uint64_t)draw(PARETO);

		times_add(&parts[synthetic_below(7)], ns);
		times_add(&all, ns);
	}
	for (int i = 0; i < 7; i++) {
		times_merge(&up, &parts[i]);
		times_merge(&down, &parts[6 - i]);
	}
	times_merge(&parts[1], &parts[0]);
	times_merge(&parts[3], &parts[2]);
	times_merge(&parts[5], &parts[4]);
	times_merge(&parts[5], &parts[3]);
	times_merge(&parts[6], &parts[1]);
	times_merge(&parts[6], &parts[5]);
	ok(!memcmp(&up, &all, sizeof(all)), "times joined are those of all units");
	ok(!memcmp(&up, &down, sizeof(up)) && !memcmp(&up, &parts[6], sizeof(up)),
	   "in whatever order and grouping");
	for (uint32_t i = 0; i < all.nr_largest; i++)
		sorted_beyond += i && all.largest_ns[i] > all.largest_ns[i - 1];
	ok(all.nr_largest == 64 && !sorted_beyond, "the largest 64 are kept, falling");
}

static int compare_times(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x < y) - (x > y);
}

static void test_ranks(void)
{
	static uint64_t sorted[3000];
	struct samples_times times = { 0 };
	bool exact = true, bound = true, near = true;
	double sum = 0, squares = 0;

	for (uint32_t i = 0; i < 3000; i++) {
		sorted[i] = (uint64_t)draw(NORMAL_LOG);
		times_add(&times, sorted[i]);
		sum += (double)sorted[i];
	}
	for (uint32_t i = 0; i < 3000; i++)
		squares += pow((double)sorted[i] - sum / 3000, 2);
	qsort(sorted, 3000, sizeof(*sorted), compare_times);
	for (uint32_t i = 0; i < 3000; i++) {
		uint64_t rank = times_rank(&times, i + 1);
		double beyond = times_beyond(&times, sorted[i]);

		exact &= i >= 64 || (rank == sorted[i] && fabs(beyond - i) < 0.5);
		bound &= rank >= sorted[i] && (double)rank <= 1.07 * (double)sorted[i];
		near &= fabs(beyond - i) <= 100;
	}
	ok(exact, "the largest are known exactly");
	ok(bound, "others from above, to 7 %%");
	ok(near, "and how many are beyond about");
	ok(fabs(times_mean(&times) - sum / 3000) < 1 &&
	   fabs(times_deviation(&times) - sqrt(squares / 2999)) < 1, "mean and deviation");
}

int main(void)
{
	plan(35);
	test_order();
	test_few();
	test_parse();
	test_merge();
	test_ranks();
	test_coverage();
	return tap_status();
}
