/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The table of 'top' as lines of text, as wide as there is room.
 */
#ifndef _USER_OUT_TOP_TOP_CELLS_H
#define _USER_OUT_TOP_TOP_CELLS_H

#include <stddef.h>
#include <stdint.h>

#include "out/top/top-table.h"

enum {
	TOP_CELL_MAX = 32, /* bytes of a cell but the name, */
	TOP_LINE_MAX = 1024, /* and of a line */
};

/* The column whose key it is; TOP_NR_COLUMNS: none. */
enum top_column top_column_of_key(int key);
/* "UNITS/S" */
const char *top_column_heading(enum top_column column);
/* For help: its key, and what is in it. */
char top_column_key(enum top_column column);
const char *top_column_help(enum top_column column);

/* Any but the name; "-" if it is not known. */
char *top_cell(const struct top_row *row, enum top_column column, char text[TOP_CELL_MAX]);

/* Lines of at most @width columns, without a newline.  The one of @sort is marked. */
char *top_heading(enum top_column sort, int width, char text[TOP_LINE_MAX]);
char *top_line(const struct top_row *row, int width, char text[TOP_LINE_MAX]);

/* What else is to be said of an armed program: its guards and its budget. */
char *top_note(const struct top_program *program, const struct top_row *row, int width,
	       char text[TOP_LINE_MAX]);

/* A container that some of its processes are in. */
char *top_container_line(const struct top_container *container, int width, char text[TOP_LINE_MAX]);

#endif /* _USER_OUT_TOP_TOP_CELLS_H */
