/* SPDX-License-Identifier: GPL-2.0 */
/*
 * From the trace of a timing run, where only guards carry sites, to samples:
 * how long the units took that met the same contexts.
 */
#ifndef _PGUARD_GATHER_TIMING_H
#define _PGUARD_GATHER_TIMING_H

#include "base/samples.h"
#include "base/trace.h"

/*
 * @profile is what the guards were chosen by; the trace's contexts refer to its
 * loops and boundaries.  @guards are functions of it, rising.  *@ret gets the
 * profile's objects, functions and loops, and the timings, to be joined to it.
 * The trace is sorted.  Returns 0, -EBADMSG if the trace contradicts the
 * profile, or -ENOMEM.
 */
int gather_timing(const struct trace *trace, const struct samples *profile,
		  const uint32_t *guards, uint32_t nr_guards, struct samples *ret);

#endif /* _PGUARD_GATHER_TIMING_H */
