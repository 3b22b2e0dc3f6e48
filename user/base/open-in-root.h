/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Files of another mount namespace or container.
 */
#ifndef _USER_BASE_OPEN_IN_ROOT_H
#define _USER_BASE_OPEN_IN_ROOT_H

#include <stddef.h>
#include <stdint.h>

/*
 * open() @path as a process with the root directory @root would: symbolic links
 * to absolute paths, and "..", stay below @root.  O_CLOEXEC is always set.
 * Returns the descriptor, or -1 with errno.
 */
int open_in_root(const char *root, const char *path, int flags);

/*
 * What process @pid calls @path, by its root as "/proc/PID/root/PATH" if that is not ours.
 * Return: @path or @ret.
 */
const char *path_in_root(uint32_t pid, const char *path, char *ret, size_t size);

#endif /* _USER_BASE_OPEN_IN_ROOT_H */
