// SPDX-License-Identifier: GPL-2.0

#include "base/open-in-root.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

int open_in_root(const char *root, const char *path, int flags)
{
	struct open_how how = {
		.flags = (unsigned int)(flags | O_CLOEXEC),
		.resolve = RESOLVE_IN_ROOT,
	};
	int directory = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC), fd, error;

	if (directory < 0)
		return -1;
	fd = (int)syscall(SYS_openat2, directory, path, &how, sizeof(how));
	error = errno;
	close(directory);
	errno = error;
	return fd;
}

static bool is_same_file(const char *a, const char *b)
{
	struct stat left, right;

	return !stat(a, &left) && !stat(b, &right) && left.st_dev == right.st_dev &&
	       left.st_ino == right.st_ino;
}

const char *path_in_root(uint32_t pid, const char *path, char *ret, size_t size)
{
	char root[48], mounts[48];

	snprintf(root, sizeof(root), "/proc/%" PRIu32 "/root", pid);
	snprintf(mounts, sizeof(mounts), "/proc/%" PRIu32 "/ns/mnt", pid);
	if (path[0] != '/' ||
	    (is_same_file(root, "/proc/self/root") && is_same_file(mounts, "/proc/self/ns/mnt")))
		return path;
	return snprintf(ret, size, "%s%s", root, path) < (int)size ? ret : path;
}
