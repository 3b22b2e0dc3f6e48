/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Whole files: read at once, replaced at once.
 */
#ifndef _USER_STORE_FILE_H
#define _USER_STORE_FILE_H

#include <stddef.h>
#include <stdint.h>

#define FILE_WHY_MAX 8704

/*
 * Open the regular file at @path for reading.  Returns the descriptor, an error
 * of open(), -EISDIR or -EINVAL (not a regular file).
 */
int file_open(const char *path, uint64_t *ret_size);

/*
 * Read the regular file at @path, of at most @max bytes, into memory of
 * sqlite3_malloc64().  Returns 0 or an error of open() or read(), -EISDIR,
 * -EINVAL (not a regular file), -EFBIG, -ENOMEM, with
 * the reason in @why.
 */
int file_read(const char *path, size_t max, uint8_t **ret, size_t *ret_len,
	      char why[FILE_WHY_MAX]);

/* The same, but -EPERM if somebody besides root and us can write the file. */
int file_read_private(const char *path, size_t max, uint8_t **ret, size_t *ret_len,
		      char why[FILE_WHY_MAX]);

/*
 * Find out now whether file_replace() can make its new file and put it at @path, as
 * it is called after long work.  Leaves nothing behind.  Returns 0 or an error, with the reason in @why.
 */
int file_check_replace(const char *path, char why[FILE_WHY_MAX]);

/*
 * Put @bytes at @path: the old file or the new one is there at any moment, and
 * the new one is on the disk when this returns 0.  Else @why has the error.
 * Follows a link at @path.  A file that was there keeps its owner and mode, a new
 * one is readable by its owner only.
 */
int file_replace(const char *path, const uint8_t *bytes, size_t len, char why[FILE_WHY_MAX]);

/* Write @from to @fd, and leave it open.  Returns 0 or a negative errno. */
typedef int file_writer(int fd, const void *from);

/* The same with the bytes that @write writes. */
int file_replace_by(const char *path, file_writer *write, const void *from,
		    char why[FILE_WHY_MAX]);

#endif /* _USER_STORE_FILE_H */
