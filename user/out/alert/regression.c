// SPDX-License-Identifier: GPL-2.0

#include "out/alert/regression.h"

#include <string.h>

#include "base/duration.h"

enum {
	MIN_UNITS = 20,
	NR_WINDOWS = 2, /* in a row that make a change */
	FAR_OUT = 8, /* times the level's mean, and the threshold */
};

#define LATE_SHARE 0.5
#define BACK_SHARE 0.25
#define MEAN_FACTOR 1.5

static struct regression_sums less(const struct regression_sums *a, const struct regression_sums *b)
{
	return (struct regression_sums){
		.units = a->units - b->units,
		.late = a->late - b->late,
		.elapsed_ns = a->elapsed_ns - b->elapsed_ns,
		.late_elapsed_ns = a->late_elapsed_ns - b->late_elapsed_ns,
	};
}

static uint64_t count(const struct regression_sums *sums)
{
	return sums->units + sums->late;
}

static double mean(const struct regression_sums *sums)
{
	return count(sums) ? ((double)sums->elapsed_ns + (double)sums->late_elapsed_ns) /
				     (double)count(sums) :
			     0;
}

/* What its units took before: those in time, which the late ones are not. */
static double usual(const struct regression_sums *sums, double trained_ns)
{
	return sums->units >= MIN_UNITS ? (double)sums->elapsed_ns / (double)sums->units :
					  trained_ns;
}

static bool is_slow(const struct regression_sums *window, double before_ns)
{
	return (double)window->late >= LATE_SHARE * (double)count(window) &&
	       mean(window) >= MEAN_FACTOR * before_ns;
}

static bool is_back(const struct regression_sums *window)
{
	return (double)window->late < BACK_SHARE * (double)count(window);
}

static bool has_fallen(const struct regression_sums *sums, const struct regression_sums *before)
{
	return sums->units < before->units || sums->late < before->late ||
	       sums->elapsed_ns < before->elapsed_ns ||
	       sums->late_elapsed_ns < before->late_elapsed_ns;
}

static void begin_window(struct regression *regression, const struct regression_sums *sums,
			 uint64_t now_ns)
{
	regression->has_begun = true;
	regression->begin = *sums;
	regression->begin_ns = now_ns;
}

static enum regression_change change(struct regression *regression,
				     const struct regression_sums *sums)
{
	struct regression_sums since = less(sums, &regression->turned);

	regression->is_on = !regression->is_on;
	regression->level_ns = mean(&since);
	regression->since_ns = regression->turned_ns;
	regression->nr_turned = 0;
	if (!regression->is_on)
		return REGRESSION_OVER;
	regression->change = regression->turned;
	regression->units = count(&since);
	regression->late = since.late;
	return REGRESSION_BEGUN;
}

/* The end of a window: whether it speaks for a change. */
static enum regression_change judge(struct regression *regression,
				    const struct regression_sums *window,
				    const struct regression_sums *sums, double trained_ns)
{
	double before_ns;

	if (!regression->nr_turned) {
		before_ns = usual(&regression->begin, trained_ns);
		regression->turned = regression->begin;
		regression->turned_ns = regression->begin_ns;
		if (!regression->is_on)
			regression->before_ns = before_ns;
	}
	if (regression->is_on ? is_back(window) : is_slow(window, regression->before_ns))
		regression->nr_turned++;
	else
		regression->nr_turned = 0;
	return regression->nr_turned >= NR_WINDOWS ? change(regression, sums) : REGRESSION_NONE;
}

enum regression_change regression_update(struct regression *regression,
					 const struct regression_sums *sums, uint64_t now_ns,
					 double trained_ns)
{
	enum regression_change ret = REGRESSION_NONE;
	struct regression_sums window, since;

	/* Other sums than before: the profile was loaded again. */
	if (regression->has_begun && has_fallen(sums, &regression->begin))
		memset(regression, 0, sizeof(*regression));
	if (!regression->has_begun) {
		begin_window(regression, sums, now_ns);
		return REGRESSION_NONE;
	}
	if (regression->is_on) {
		since = less(sums, &regression->change);
		regression->units = count(&since);
		regression->late = since.late;
	}
	window = less(sums, &regression->begin);
	if (count(&window) < MIN_UNITS)
		return REGRESSION_NONE;
	ret = judge(regression, &window, sums, trained_ns);
	begin_window(regression, sums, now_ns);
	return ret;
}

bool regression_covers(const struct regression *regression, uint64_t elapsed_ns,
		       uint64_t threshold_ns)
{
	return regression->is_on && (elapsed_ns / FAR_OUT < threshold_ns ||
				     (double)elapsed_ns < FAR_OUT * regression->level_ns);
}
