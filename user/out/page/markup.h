/* SPDX-License-Identifier: GPL-2.0 */
/*
 * HTML around texts that others chose.  Such a text goes through markup_text(),
 * or through the %s of markup_format(): there is no other way into the page.
 */
#ifndef _USER_OUT_PAGE_MARKUP_H
#define _USER_OUT_PAGE_MARKUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Characters of a text that are shown; the rest is "…". */
enum { MARKUP_MAX_TEXT = 160 };

/*
 * Escaped for an element and for an attribute in quotes; '?' for what is no UTF-8, or
 * is not just shown (utf8_is_plain()).  NULL is "?".  At most @max characters.
 */
void markup_text_cut(FILE *file, const char *text, size_t max);
void markup_text(FILE *file, const char *text);

/* As fprintf(), with the text of the only "%s" in @format by markup_text(). */
void markup_put(FILE *file, const char *format, const char *text);

/* An element with a text in it, and a newline: markup_element(file, "h2", "Types"). */
void markup_element(FILE *file, const char *tag, const char *text);

/* Cells of a row: a text; a duration ("-" for 0); a number. */
void markup_cell(FILE *file, const char *text);
void markup_cell_ns(FILE *file, uint64_t ns);
void markup_cell_count(FILE *file, uint64_t count);

/* <table> with a caption and a heading for each column; those of numbers begin with '#'. */
void markup_table(FILE *file, const char *caption, const char *const *columns);
void markup_table_end(FILE *file);

/* "function", "module+0x12", "0x12", into @ret. */
char *markup_place(const char *module, const char *function, uint64_t offset, char *ret,
		   size_t size);

#endif /* _USER_OUT_PAGE_MARKUP_H */
