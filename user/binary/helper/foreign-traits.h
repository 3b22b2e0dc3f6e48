/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What can be said of somebody else's program by its file alone.  A helper reads it; this
 * process never does.
 */
#ifndef _USER_BINARY_HELPER_FOREIGN_TRAITS_H
#define _USER_BINARY_HELPER_FOREIGN_TRAITS_H

#include <stdbool.h>

#include "binary/code/file-traits.h"

/*
 * Read the file @fd, which the caller keeps; @path is where it is, for files with symbols.  Without
 * @counts, functions and bytes are not counted, which is quicker.  Returns 0; -ENOEXEC if it is
 * no such file; -EIO if its reader failed, or took more than 20 s; -EINTR if a signal that
 * ends us is pending; or -ENOMEM.
 */
int foreign_traits_read(int fd, const char *path, bool counts, struct file_traits *ret);

#endif /* _USER_BINARY_HELPER_FOREIGN_TRAITS_H */
