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

static struct drift_sums less(const struct drift_sums *a, const struct drift_sums *b)
{
	return (struct drift_sums){
		.units = a->units - b->units,
		.late = a->late - b->late,
		.elapsed_ns = a->elapsed_ns - b->elapsed_ns,
		.late_elapsed_ns = a->late_elapsed_ns - b->late_elapsed_ns,
	};
}

static uint64_t count(const struct drift_sums *sums)
{
	return sums->units + sums->late;
}

static double mean(const struct drift_sums *sums)
{
	return count(sums) ? ((double)sums->elapsed_ns + (double)sums->late_elapsed_ns) /
				     (double)count(sums) :
			     0;
}

/* What its units took before: those in time, which the late ones are not. */
static double usual(const struct drift_sums *sums, double trained_ns)
{
	return sums->units >= MIN_UNITS ? (double)sums->elapsed_ns / (double)sums->units :
					  trained_ns;
}

static bool is_slow(const struct drift_sums *window, double before_ns)
{
	return (double)window->late >= LATE_SHARE * (double)count(window) &&
	       mean(window) >= MEAN_FACTOR * before_ns;
}

static bool is_back(const struct drift_sums *window)
{
	return (double)window->late < BACK_SHARE * (double)count(window);
}

static bool has_fallen(const struct drift_sums *sums, const struct drift_sums *before)
{
	return sums->units < before->units || sums->late < before->late ||
	       sums->elapsed_ns < before->elapsed_ns ||
	       sums->late_elapsed_ns < before->late_elapsed_ns;
}

static void begin_window(struct drift *drift, const struct drift_sums *sums, uint64_t now_ns)
{
	drift->has_begun = true;
	drift->begin = *sums;
	drift->begin_ns = now_ns;
}

static enum drift_change change(struct drift *drift, const struct drift_sums *sums)
{
	struct drift_sums since = less(sums, &drift->turned);

	drift->is_on = !drift->is_on;
	drift->level_ns = mean(&since);
	drift->since_ns = drift->turned_ns;
	drift->nr_turned = 0;
	if (!drift->is_on)
		return DRIFT_OVER;
	drift->change = drift->turned;
	drift->units = count(&since);
	drift->late = since.late;
	return DRIFT_BEGUN;
}

/* The end of a window: whether it speaks for a change. */
static enum drift_change judge(struct drift *drift, const struct drift_sums *window,
			       const struct drift_sums *sums, double trained_ns)
{
	double before_ns;

	if (!drift->nr_turned) {
		before_ns = usual(&drift->begin, trained_ns);
		drift->turned = drift->begin;
		drift->turned_ns = drift->begin_ns;
		if (!drift->is_on)
			drift->before_ns = before_ns;
	}
	if (drift->is_on ? is_back(window) : is_slow(window, drift->before_ns))
		drift->nr_turned++;
	else
		drift->nr_turned = 0;
	return drift->nr_turned >= NR_WINDOWS ? change(drift, sums) : DRIFT_NONE;
}

enum drift_change drift_look(struct drift *drift, const struct drift_sums *sums, uint64_t now_ns,
			     double trained_ns)
{
	enum drift_change ret = DRIFT_NONE;
	struct drift_sums window, since;

	/* Other sums than before: the profile was loaded again. */
	if (drift->has_begun && has_fallen(sums, &drift->begin))
		memset(drift, 0, sizeof(*drift));
	if (!drift->has_begun) {
		begin_window(drift, sums, now_ns);
		return DRIFT_NONE;
	}
	if (drift->is_on) {
		since = less(sums, &drift->change);
		drift->units = count(&since);
		drift->late = since.late;
	}
	window = less(sums, &drift->begin);
	if (count(&window) < MIN_UNITS)
		return DRIFT_NONE;
	ret = judge(drift, &window, sums, trained_ns);
	begin_window(drift, sums, now_ns);
	return ret;
}

bool drift_covers(const struct drift *drift, uint64_t elapsed_ns, uint64_t threshold_ns)
{
	return drift->is_on && (elapsed_ns / FAR_OUT < threshold_ns ||
				(double)elapsed_ns < FAR_OUT * drift->level_ns);
}
