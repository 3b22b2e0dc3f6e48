/* SPDX-License-Identifier: GPL-2.0 */
/*
 * From the trace of a structure run to samples: the event loops with their
 * boundaries, the units, their call trees and hits.
 *
 * What belongs to a unit's call tree is what handled its event: under the
 * dispatch, from there to the next; or, in an iteration, what comes after the
 * wait.  Work that an iteration does for all its events together (writing out
 * all replies) counts in the last one's time, and in no tree.  A unit without
 * an event, of a timer, has all its calls.  Hits are counted by time, as the
 * guards will see them.
 */
#ifndef _USER_TRAIN_SAMPLES_EXTRACT_H
#define _USER_TRAIN_SAMPLES_EXTRACT_H

#include <stdbool.h>
#include <stdint.h>

#include "data/samples.h"
#include "data/trace.h"

/* One unit, for those who want to see each. */
struct extract_unit {
	uint64_t start_ns; /* CLOCK_MONOTONIC */
	uint64_t end_ns;
	uint32_t pid;
	uint32_t tid;
	uint32_t loop; /* these three are indices into the samples */
	uint32_t tree;
	uint32_t variant; /* SAMPLES_NONE if it left the bottom-k sample */
	int64_t fd; /* first argument of the system call it began with */
	uint32_t hits;
	uint8_t half; /* 0: learnt from, 1: held back */
	bool is_untimed; /* it begins or ends with a hit that has no time */
};

/* How well depth identifies the calling context; the paper's section 7.3. */
struct extract_contexts {
	uint64_t calls;
	uint64_t calls_known; /* (function, depth) determines all functions up to the loop */
	uint32_t pairs; /* the same by distinct pairs of function and depth */
	uint32_t pairs_known;
};

struct extract_result {
	struct extract_unit *units; /* by loop and begin */
	uint64_t nr_units;
	struct extract_contexts contexts;
};

/*
 * The trace is sorted, and only read.  Fills in @samples (all but guards and
 * timings), and @result if it is not NULL; extract_result_deinit() frees that.
 * Returns 0, -ENOMEM, or -EBADMSG if the trace contradicts itself.
 */
int extract_samples(const struct trace *trace, struct samples *samples,
		    struct extract_result *result);

void extract_result_deinit(struct extract_result *result);

#endif /* _USER_TRAIN_SAMPLES_EXTRACT_H */
