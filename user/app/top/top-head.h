/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What stands above the table, on the screen and in print.
 */
#ifndef _USER_APP_TOP_TOP_HEAD_H
#define _USER_APP_TOP_TOP_HEAD_H

#include "app/top/top-reading.h"
#include "out/top/top-cells.h"

/* How much there is, and of what time; of at most @width columns. */
char *top_head(const struct top_reader *reader, const struct top_table *table, int width,
	       char text[TOP_LINE_MAX]);

/* What to do when nothing is armed; NULL: something is. */
const char *top_nothing(const struct top_reader *reader);

#endif /* _USER_APP_TOP_TOP_HEAD_H */
