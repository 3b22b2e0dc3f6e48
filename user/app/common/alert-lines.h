/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Lines of JSON that were written before: in a file, on standard input, or in a spool.
 */
#ifndef _USER_APP_COMMON_ALERT_LINES_H
#define _USER_APP_COMMON_ALERT_LINES_H

#include <stddef.h>
#include <stdint.h>

/* Alerts that are not among the lines of a spool. */
struct alert_lines_missing {
	uint64_t dropped; /* old ones that made room */
	uint64_t unsaved; /* that could not be written */
};

/* Takes a line without its newline.  Returns 0 or -ENOMEM. */
typedef int (*alert_line_fn)(void *arg, const char *line, size_t len);

/*
 * Hand out the lines of @path, "-" being standard input; of one that is too long so much that it
 * shows.  @ret_missing, which may be NULL, is 0 for what is no spool.  Returns an enum cmd_exit; what
 * is wrong was reported.
 */
int alert_lines_read(const char *path, alert_line_fn fn, void *arg,
		     struct alert_lines_missing *ret_missing);

/* The same for its reader: all lines broken are a mistake, some are worth a warning. */
int alert_lines_check(const char *path, unsigned long long nr, unsigned long long nr_broken);

#endif /* _USER_APP_COMMON_ALERT_LINES_H */
