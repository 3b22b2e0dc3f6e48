/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Whether the file of a target was replaced, as an update of a package does: the target
 * has the old file, and processes that are started run the new one, unwatched.
 */
#ifndef _USER_APP_COMMON_REPLACED_H
#define _USER_APP_COMMON_REPLACED_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "link/link.h"

enum { REPLACED_MAX_PIDS = 5, REPLACED_TEXT_MAX = 3 * PATH_MAX };

struct replaced {
	enum replaced_by {
		REPLACED_NOT,
		REPLACED_BY_NOTHING, /* that is to be seen */
		REPLACED_BY_SAME_BUILD,
		REPLACED_BY_OTHER_BUILD,
		REPLACED_BY_UNKNOWN, /* one of both */
	} by;
	char path[PATH_MAX];
	uint32_t nr_pids; /* processes that run what is there now */
	uint32_t pids[REPLACED_MAX_PIDS]; /* the first of them */
};

/* Return: true if the target's file is at its path no more. */
bool replaced_is_stale(const struct target *target);

/*
 * Find out by what: @processes are those that are watched, @build_id is that of the file
 * that the target has, NULL if it is not known.
 */
void replaced_find(const struct target *target, const struct process *processes, uint32_t nr,
		   const char *build_id, struct replaced *ret);

/* What it means and what to do, with @profile, NULL if the target has none, in sentences. */
const char *replaced_text(const struct replaced *replaced, const char *profile,
			  char text[REPLACED_TEXT_MAX]);

/* "same", "other", "unknown", "nothing"; NULL: it was not replaced. */
const char *replaced_name(const struct replaced *replaced);

#endif /* _USER_APP_COMMON_REPLACED_H */
