/* SPDX-License-Identifier: GPL-2.0 */
/*
 * From the trace of a timing run to samples: how long the units took that met
 * the same contexts.
 *
 * The module cuts, by a profile that it was given, and reports each unit and
 * the hits of its guards.  So the units are those that are judged later, and their
 * times, too: without the guards' checks, and without the stream's work, which
 * is done in them.
 */
#ifndef _USER_TRAIN_SAMPLES_EXTRACT_TIMING_H
#define _USER_TRAIN_SAMPLES_EXTRACT_TIMING_H

#include <stddef.h>

#include "data/samples.h"
#include "data/trace.h"

/*
 * How many of the first of @nr units of a loop do not count.  They pay for guards that were
 * just put on: pages are copied, and the module finds out what sets of contexts mean.
 */
static inline size_t extract_warm_up(size_t nr)
{
	enum { MOST = 8, SHARE = 20 };

	return nr / SHARE < MOST ? nr / SHARE : MOST;
}

/*
 * @profile is what the guards were chosen by; the trace's functions and loops
 * are among its own.  *@ret gets the profile's objects, functions and loops,
 * and the timings, to be joined to it.  The trace is sorted.  Returns 0,
 * -EBADMSG if the trace contradicts itself or the profile, or -ENOMEM.
 */
int extract_timing(const struct trace *trace, const struct samples *profile, struct samples *ret);

#endif /* _USER_TRAIN_SAMPLES_EXTRACT_TIMING_H */
