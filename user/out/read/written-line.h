/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A line of JSON that was written before.
 */
#ifndef _USER_OUT_READ_WRITTEN_LINE_H
#define _USER_OUT_READ_WRITTEN_LINE_H

#include <stddef.h>

enum { WRITTEN_LINE_MAX = 1024 * 1024 }; /* bytes; a longer one counts as broken */

/*
 * The line without what makes an alert long: stacks, functions, contexts.  To be freed; NULL
 * without memory, or if @line is no object.
 */
char *written_line_brief(const char *line);

/* Where it was written; "" if it does not say. */
void written_line_host(const char *line, char *ret, size_t size);

#endif /* _USER_OUT_READ_WRITTEN_LINE_H */
