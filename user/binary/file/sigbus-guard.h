/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Files that are cut short while they are mapped: an update that writes a
 * program in place, a file system that fails.
 */
#ifndef _USER_BINARY_FILE_SIGBUS_GUARD_H
#define _USER_BINARY_FILE_SIGBUS_GUARD_H

/*
 * From now on, what is read of a mapped file where there is no file any more
 * is zeros, and not the end of this process by SIGBUS.
 */
void shrunk_read_zeros(void);

#endif /* _USER_BINARY_FILE_SIGBUS_GUARD_H */
