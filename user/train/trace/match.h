/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the numbers in the trace of a timing run mean in the profile that it was
 * recorded for.
 */
#ifndef _USER_TRAIN_TRACE_MATCH_H
#define _USER_TRAIN_TRACE_MATCH_H

#include <stdint.h>

#include "data/samples.h"
#include "data/trace.h"

/*
 * The profile's function for each of the trace's, by file and offset, in @ret.
 * Returns 0, -EBADMSG if the profile has not all of them, or -ENOMEM.
 */
int match_functions(const struct trace *trace, const struct samples *profile, uint32_t *ret);

/* The profile's loop for each of the trace's, by hash.  Returns 0 or -EBADMSG. */
int match_loops(const struct trace *trace, const struct samples *profile, uint32_t *ret);

#endif /* _USER_TRAIN_TRACE_MATCH_H */
