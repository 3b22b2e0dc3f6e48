/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which sites are on in the stage of structure, and when.
 *
 * At first, in a rehearsal, all functions that run have one.  Once it is known which are
 * hot, the stage begins again without those.  Where the program may be made slower by some
 * share only (slowdown.h), sites are on in short windows.
 */
#ifndef _USER_APP_RECORD_STRUCTURE_SITES_H
#define _USER_APP_RECORD_STRUCTURE_SITES_H

#include "app/record/recording.h"

/* All return 0 or an exit code, reported. */

/* Begin an empty trace with a site in each function that is covered. */
int structure_sites_begin(struct recording *recording);

/* The stream was read. */
int structure_sites_turn(struct recording *recording);

/* The stage is over. */
int structure_sites_end(struct recording *recording);

enum { STRUCTURE_SITES_TEXT_MAX = 80 };

/* "; sites were on for 1.2 s, and made it 40 % slower"; nothing without a limit. */
void structure_sites_describe(const struct recording *recording, char ret[STRUCTURE_SITES_TEXT_MAX]);

/* Hits of sites were read, or lost. */
void structure_sites_count(struct recording *recording, const struct perfguard_event *events,
			   uint32_t nr);

#endif /* _USER_APP_RECORD_STRUCTURE_SITES_H */
