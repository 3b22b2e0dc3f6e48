// SPDX-License-Identifier: GPL-2.0
/* Paths of a container: whatever its links say, they stay inside. */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/open-in-root.h"
#include "tap.h"

static char root[] = "/tmp/test-open-in-root-XXXXXX";

static const char *below(const char *path)
{
	static char text[128];

	snprintf(text, sizeof(text), "%s%s", root, path);
	return text;
}

static void make(const char *path, const char *text)
{
	FILE *file = fopen(below(path), "w");

	if (!file || fputs(text, file) < 0 || fclose(file))
		abort();
}

/* What the file that @path leads to has for a first byte; 0: there is none. */
static char first_byte(const char *path)
{
	char byte = 0;
	int fd = open_in_root(root, path, O_RDONLY);

	if (fd < 0)
		return 0;
	if (read(fd, &byte, 1) != 1 || !(fcntl(fd, F_GETFD) & FD_CLOEXEC))
		byte = '?';
	close(fd);
	return byte;
}

int main(void)
{
	plan(6);
	if (!mkdtemp(root) || mkdir(below("/etc"), 0700) ||
	    symlink("/etc/passwd", below("/absolute")) ||
	    symlink("../../../../etc/passwd", below("/etc/relative")) ||
	    symlink("/proc/self/root/etc/passwd", below("/magic")))
		abort();
	make("/etc/passwd", "inside");
	ok(first_byte("/etc/passwd") == 'i', "a file");
	ok(first_byte("/absolute") == 'i', "a link to an absolute path stays inside");
	ok(first_byte("/etc/relative") == 'i', "and one that goes up");
	ok(!first_byte("/magic") && errno == ENOENT, "and one to what is outside only");
	ok(open_in_root("/nonexistent", "/etc/passwd", O_RDONLY) < 0 && errno == ENOENT,
	   "no such root");
	unlink(below("/magic"));
	unlink(below("/absolute"));
	unlink(below("/etc/relative"));
	unlink(below("/etc/passwd"));
	rmdir(below("/etc"));
	ok(!rmdir(root), "and nothing is left");
	return tap_status();
}
