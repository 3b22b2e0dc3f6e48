/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The tables of a recording's trace: which functions carry a site and under
 * which number, and what the addresses in the events mean.
 */
#ifndef _USER_APP_RECORD_RECORDING_TABLES_H
#define _USER_APP_RECORD_RECORDING_TABLES_H

#include "app/record/recording.h"

/* A site to be armed: a function of the program, and the number in its hits. */
struct recording_site {
	uint32_t function;
	uint32_t id;
};

/* All return 0 or an exit code, reported. */

/* Put sites into the running program.  @flags is enum perfguard_site_flags. */
int recording_arm(struct recording *recording, const struct recording_site *sites, uint32_t nr,
		  uint32_t flags);

/* True if a function of the program is recorded by a jump in the stage of structure. */
bool recording_is_window(const struct recording *recording, uint32_t function);

/*
 * Take the event loops that were found from the module, which knows them by their place
 * in memory and thus none of a profile's, and keep them; or let it know them again.
 * Returns the link's error.
 */
int recording_set_loops(struct recording *recording, bool keeps);

/* Begin an empty trace, of the functions that are covered, and put a site in each of them. */
int recording_begin_covered(struct recording *recording);
int recording_arm_trace(struct recording *recording);

/* How many wait calls the program has made since it was watched. */
int recording_waits(const struct recording *recording, uint64_t *ret);

/* Report a process whose functions were not recorded by jumps, where they were to be. */
int recording_report_inline(const struct recording *recording);

/* Sort the trace, and say what its loops and return addresses are. */
int recording_describe(struct recording *recording);

/*
 * Report an error of the link as "WHAT: WHY", or that the target was disarmed
 * (recording.c).  Returns the exit code.
 */
int recording_failed(struct recording *recording, int error, const char *what);

/*
 * What the target reports, by @flags; the rest is as the session made it
 * (recording-guards.c).  Returns the link's error.
 */
int recording_set_flags(struct recording *recording, uint32_t flags);

/* The stage of timing (recording-guards.c): begin an empty trace of units, and arm. */
int recording_arm_guards(struct recording *recording, const struct samples *samples,
			 const struct model *model);

/* Take all sites off (recording.c, as the next three). */
int recording_disarm(struct recording *recording);
/* Read what is in the stream; or drop it, except what threads send once. */
int recording_read(struct recording *recording);
int recording_drop(struct recording *recording);
/* Begin the stage once more, with its load. */
int recording_begin_again(struct recording *recording);

/* Guard no more, and record as before.  Nothing to do if nothing was armed. */
int recording_disarm_guards(struct recording *recording);

#endif /* _USER_APP_RECORD_RECORDING_TABLES_H */
