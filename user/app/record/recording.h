/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Records what training needs of a target that runs: an audit's session that
 * also has sites in the program and reads the training stream, one stage after
 * the other.
 *
 *	coverage	one-shot sites in all functions: which run at all?  The
 *			event loops are found meanwhile.
 *	structure	a site in each function that runs: the call trees
 *	timing		guarded by what was learnt, as later: how long units take
 */
#ifndef _USER_APP_RECORD_RECORDING_H
#define _USER_APP_RECORD_RECORDING_H

#include <stdbool.h>
#include <stdint.h>

#include "app/audit/session.h"
#include "app/record/keeping-up.h"
#include "app/record/program.h"
#include "app/record/slowdown.h"
#include "data/model.h"
#include "data/samples.h"
#include "data/trace.h"

struct stream;

enum recording_stage {
	RECORDING_COVERAGE,
	RECORDING_STRUCTURE,
	RECORDING_TIMING,
	RECORDING_OVER,
};

struct recording {
	/* Set by the operator: selector of the session, and these. */
	struct session session;
	const char *workload; /* a shell command, run in each stage; or NULL */
	bool is_load_loose; /* it may fail */
	uint64_t stage_ns[RECORDING_OVER]; /* how long each is, without a workload */
	uint64_t max_events;
	bool follows_requests; /* while units are timed */
	bool is_inline; /* structure by jumps, where a function has a window */
	struct slowdown slowdown; /* while structure is recorded; its first two members */

	/* Kept while it runs. */
	struct stream *stream;
	struct program program;
	enum recording_stage stage;
	uint64_t begin_ns; /* of the stage */
	uint64_t armed_ns; /* since when all its sites are there, */
	uint64_t disarmed_ns; /* and until when; 0: they still are */
	uint64_t look_ns; /* when the processes were looked at last */
	uint64_t progress_ns; /* when progress was reported last */
	struct child load;
	bool *covered; /* by function of the program */
	uint32_t nr_covered;
	uint32_t nr_known; /* functions that covered has entries for */
	uint32_t nr_armed; /* functions that were given a one-shot site, if they need one */
	uint32_t nr_refused; /* by the kernel */
	struct perfguard_event *starts; /* of the threads that are there */
	size_t max_starts;
	uint32_t nr_starts;
	uint32_t profile_id; /* in the module, while units are timed; else 0 */
	uint32_t *source; /* the program's function, by that of the trace */
	uint64_t *hits; /* by function of the trace, for the hot ones */
	bool is_rehearsal;
	uint64_t rehearsed_ns; /* since when there are hits in it */
	uint64_t calls; /* hooked system calls since hits are counted, while sites were on */
	uint64_t on_ns; /* how long sites were on in windows */
	uint64_t cpu_look_ns; /* when the program's CPU time was looked at last */
	struct keeping_up keeping_up; /* while coverage and structure are recorded */
	bool is_full; /* max_events are there */
	struct trace trace; /* of the stage at hand */
};

/* Fill in what an operator may leave out. */
void recording_init(struct recording *recording);

/* Begin: arm the target, and look at the program.  Returns 0 or an exit code, reported. */
int recording_begin(struct recording *recording);

/*
 * Record coverage and structure; what was covered before still is.  On success
 * the trace is complete and sorted.  Returns as above, like the next.
 */
int recording_structure(struct recording *recording);

/* Warn if events were lost. */
void recording_report_lost(const struct recording *recording);

/*
 * Then record timing, guarded by @model, which was made from @samples.  The
 * structure's trace is gone after this.
 */
int recording_timing(struct recording *recording, const struct samples *samples,
		     const struct model *model);

void recording_deinit(struct recording *recording);

#endif /* _USER_APP_RECORD_RECORDING_H */
