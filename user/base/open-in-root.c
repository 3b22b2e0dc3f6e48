// SPDX-License-Identifier: GPL-2.0

#include "base/open-in-root.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
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
