/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What watch and audit have written, in a file for another program.
 */
#ifndef _USER_APP_REPORT_EXPORT_FILE_H
#define _USER_APP_REPORT_EXPORT_FILE_H

struct export_file {
	const char *input; /* path of lines of JSON or of a spool; "-": standard input */
	const char *output;
	unsigned int format; /* enum export_format */
};

/* Returns an enum cmd_exit; an error is reported. */
int export_file_write(const struct export_file *of);

#endif /* _USER_APP_REPORT_EXPORT_FILE_H */
