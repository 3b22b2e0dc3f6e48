/* SPDX-License-Identifier: GPL-2.0 */
/* Text behind a heading, in 79 columns. */
#ifndef _USER_OUT_PARAGRAPH_H
#define _USER_OUT_PARAGRAPH_H

#include <stdio.h>

enum {
	PARAGRAPH_COLUMNS = 79,
	PARAGRAPH_INDENT = 12, /* of what stands behind a heading */
	PARAGRAPH_MAX = 512, /* bytes of a formatted one; the rest is cut off */
};

/* A line begins with a heading, which is not repeated. */
void paragraph_heading(FILE *file, const char *name);

/*
 * Print @text and a newline, broken at spaces so that it fits the columns: it
 * begins in column @at, and its other lines in column @indent.
 */
void paragraph_wrap(FILE *file, const char *text, int at, int indent);

/* The same behind a heading. */
void paragraph_print(FILE *file, const char *name, const char *text);

void paragraph_format(FILE *file, const char *name, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#endif /* _USER_OUT_PARAGRAPH_H */
