// SPDX-License-Identifier: GPL-2.0

#include "out/alert/starvation.h"

#include "base/duration.h"

#define CALM_NS (10 * NSEC_PER_SEC)

enum {
	MIN_STARVED = 10,
	MIN_SHARE = 100, /* one in so many */
};

static struct starvation_sums less(const struct starvation_sums *a, const struct starvation_sums *b)
{
	return (struct starvation_sums){ a->units - b->units, a->starved - b->starved };
}

static bool is_starved(const struct starvation_sums *interval)
{
	return interval->starved >= MIN_STARVED &&
	       interval->starved >= interval->units / MIN_SHARE;
}

static enum starvation_change change(struct starvation *starvation,
				     const struct starvation_sums *interval, uint64_t now_ns)
{
	if (is_starved(interval)) {
		starvation->seen_ns = now_ns;
		if (starvation->is_on)
			return STARVATION_NONE;
		starvation->is_on = true;
		starvation->since_ns = starvation->read_ns;
		starvation->counts = *interval;
		return STARVATION_BEGUN;
	}
	if (!starvation->is_on || now_ns - starvation->seen_ns < CALM_NS)
		return STARVATION_NONE;
	starvation->is_on = false;
	return STARVATION_OVER;
}

enum starvation_change starvation_update(struct starvation *starvation,
					 const struct starvation_sums *sums, uint64_t now_ns)
{
	struct starvation_sums interval = less(sums, &starvation->read);
	enum starvation_change ret = STARVATION_NONE;

	/* A profile has come or gone: another begin. */
	if (!starvation->has_begun || sums->units < starvation->read.units ||
	    sums->starved < starvation->read.starved)
		interval = (struct starvation_sums){ 0 };
	if (starvation->is_on) {
		starvation->counts.units += interval.units;
		starvation->counts.starved += interval.starved;
	}
	ret = change(starvation, &interval, now_ns);
	starvation->has_begun = true;
	starvation->read = *sums;
	starvation->read_ns = now_ns;
	return ret;
}
