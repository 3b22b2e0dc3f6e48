/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A page in a file, of what watch and audit have written.
 */
#ifndef _USER_APP_REPORT_PAGE_FILE_H
#define _USER_APP_REPORT_PAGE_FILE_H

struct page_file {
	const char *input; /* path of lines of JSON; "-": standard input */
	const char *output;
	const char *profile; /* path, or NULL */
};

/* Returns an enum cmd_exit; an error is reported. */
int page_file_write(const struct page_file *of);

#endif /* _USER_APP_REPORT_PAGE_FILE_H */
