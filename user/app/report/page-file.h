/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A page in a file, of what watch and audit have written.
 */
#ifndef _USER_APP_REPORT_PAGE_FILE_H
#define _USER_APP_REPORT_PAGE_FILE_H

#include <stddef.h>
#include <stdio.h>

struct page_file {
	const char *input; /* path of lines of JSON; "-": standard input */
	const char *output;
	const char *profile; /* path, or NULL */
};

/* Returns an enum cmd_exit; an error is reported. */
int page_file_write(const struct page_file *of);

/* The same of lines that are written now. */
struct page_stream {
	struct page *page;
	FILE *file; /* to write them to */
	char *line; /* the one that has not ended yet */
	size_t len;
};

/* Checks that @output can be written.  Returns as above; nothing is to be undone then. */
int page_stream_open(struct page_stream *stream, const char *output);

/* Write the page to @output; NULL: drop it. */
int page_stream_close(struct page_stream *stream, const char *output);

#endif /* _USER_APP_REPORT_PAGE_FILE_H */
