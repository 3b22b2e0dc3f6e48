/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How long the units of a type were on the machine where it is guarded: from the
 * module's histograms, window by window, so that what a window shows that is not
 * usual is not learnt.
 */
#ifndef _USER_TRAIN_SAMPLES_LIVE_TIMES_H
#define _USER_TRAIN_SAMPLES_LIVE_TIMES_H

#include <stdbool.h>

#include "data/armed.h"
#include "data/samples.h"

/* What happened to a type in a span of time. */
struct live_window {
	bool is_degraded; /* some of its guards were off */
	uint64_t units; /* late ones too */
	uint64_t starved;
	uint64_t sum_ns; /* that they computed, and were blocked */
	struct armed_times times; /* of this window; a part of the units */
};

/* Why windows of a type were left out. */
struct live_omitted {
	uint32_t degraded;
	uint32_t starved;
	uint32_t slow;
};

/*
 * Add up the windows of a type that are as usual: @ret by half, of every second one, so that
 * what is learnt can be tried.  A window is left out if guards were off, if a quarter more
 * of its units were starved than of the median window's, or if its mean, or that of one of the
 * two before and after it, is a fifth above that of the median window.
 */
struct live_omitted live_times_sum(const struct live_window *windows, uint32_t nr,
				   struct samples_parts ret[2]);

/* What @after has more than @before: the module's counters begin again at 0. */
void live_times_since(const struct armed_times *before, const struct armed_times *after,
		      struct armed_times *ret);

/* Add the units of a histogram. */
void live_times_add(struct samples_parts *to, const struct armed_times *times);

/* Shorter times than this, in ns, it does not distinguish. */
uint64_t live_times_least(const struct armed_times *times);

#endif /* _USER_TRAIN_SAMPLES_LIVE_TIMES_H */
