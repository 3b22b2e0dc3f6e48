/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What 'show' prints of a profile: all of it, or the call tree of a type.
 */
#ifndef _USER_APP_LEARN_PROFILE_REPORT_H
#define _USER_APP_LEARN_PROFILE_REPORT_H

#include <stdbool.h>
#include <stdint.h>

struct profile_report {
	const char *path;
	uint32_t max_types; /* of each loop */
	uint32_t type; /* number of the type whose tree is shown; 0: none */
	const char *form; /* of the tree: "tree", "svg" or "dot"; NULL: no tree */
	bool has_hits;
	bool is_json;
};

/* Returns 0 or an exit code; the error was reported. */
int profile_report_print(const struct profile_report *report);

#endif /* _USER_APP_LEARN_PROFILE_REPORT_H */
