/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Pieces of text for people that several reports share.
 */
#ifndef _USER_OUT_TEXT_H
#define _USER_OUT_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "data/alert-record.h"
#include "data/frame.h"

/* Room for a share, a count with separators. */
#define TEXT_MAX 32

/* Emphasis, where @file is a terminal that is not dumb, and NO_COLOR is not set; else "". */
const char *text_colour(FILE *file, const char *sequence);
#define text_bold(file) text_colour(file, "\033[1m")
#define text_red(file) text_colour(file, "\033[1;31m")
#define text_green(file) text_colour(file, "\033[1;32m")
#define text_plain(file) text_colour(file, "\033[0m")

/* "93.1 %", "-" if @whole is 0. */
char *text_share(uint64_t part, uint64_t whole, char text[TEXT_MAX]);

/* "12,345,678" */
char *text_count(uint64_t count, char text[TEXT_MAX]);

/* "s", or "" of one */
const char *text_plural(uint64_t nr);

/* "1 unit", "12,345 units" */
void text_counted(FILE *file, uint64_t nr, const char *noun);

/* The begin of a line of a list: "  guards     ". */
void text_heading(FILE *file, const char *name);
/* The whole line, by text_safe(). */
void text_line(FILE *file, const char *name, const char *text);

/* The last component of a path; "?" for NULL. */
const char *text_basename(const char *path);

/*
 * "function+0x12  module", "module+0xoffset" without a name, or the bare
 * address, without a newline.
 */
void text_frame(FILE *file, const struct frame *frame);

/* "CPU 93.1 %, run queue 2.0 %, ..." without a newline. */
void text_account(FILE *file, const struct account *account);

/* Return: true if the time account was kept for the unit. */
bool text_has_account(const struct account *account);

/* @text, or as much as fits @max bytes with "..." behind it; @size > 3. */
char *text_cut(const char *text, size_t max, char *ret, size_t size);

/* Append to @text, which has @size bytes, as much as fits. */
void text_append(char *text, size_t size, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * Print @text with '?' for each character that a terminal would not just show.
 * All text that others chose goes through here, utf8_make_plain() or JSON.
 */
void text_safe(FILE *file, const char *text);
void text_print(FILE *file, const char *text, size_t len);

/* Paragraphs: text behind a heading, in 79 columns. */
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

#endif /* _USER_OUT_TEXT_H */
