// SPDX-License-Identifier: GPL-2.0

#include "app/common/holder.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/time.h"

enum { PATH_BYTES = 64, LINE_BYTES = 128 };

static void path_of(uint32_t target_id, char path[PATH_BYTES])
{
	snprintf(path, PATH_BYTES, HOLDER_DIRECTORY "/target-%" PRIu32, target_id);
}

int holder_begin(uint32_t target_id, const char *verb)
{
	struct flock lock = { .l_type = F_WRLCK };
	char path[PATH_BYTES];
	int fd;

	mkdir(HOLDER_DIRECTORY, 0755);
	path_of(target_id, path);
	fd = open(path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0644);
	if (fd < 0)
		return 0;
	if (fcntl(fd, F_OFD_SETLK, &lock)) {
		close(fd);
		return 0;
	}
	holder_note(fd, verb, "");
	return fd;
}

void holder_note(int fd, const char *verb, const char *stage)
{
	char line[LINE_BYTES];
	/* Each is as long as the one before, which it is written over. */
	int len = snprintf(line, sizeof(line), "%s %" PRId32 " %" PRIu64 " %-11s\n", verb,
			   (int32_t)getpid(), time_wall_ns(), stage);

	if (fd && pwrite(fd, line, (size_t)len, 0) != len)
		log_warning("cannot note in " HOLDER_DIRECTORY " what this does: %s", strerror(errno));
}

void holder_end(int fd, uint32_t target_id)
{
	char path[PATH_BYTES];

	if (!fd)
		return;
	path_of(target_id, path);
	unlink(path);
	close(fd);
}

/* Who logged in, even if root runs it now; that is not known of a service. */
static uint32_t user_of(uint32_t pid, uint32_t owner)
{
	uint32_t uid = UINT32_MAX;
	char path[PATH_BYTES];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/loginuid", pid);
	file = fopen(path, "re");
	if (!file)
		return owner;
	if (fscanf(file, "%" SCNu32, &uid) != 1)
		uid = UINT32_MAX;
	fclose(file);
	return uid == UINT32_MAX ? owner : uid;
}

/*
 * A file that nobody has locked has been left behind. The lock is asked for and not tried: for
 * a moment who tries has it, and holder_begin() would fail.
 */
static bool is_held(int fd)
{
	struct flock lock = { .l_type = F_RDLCK };

	return !fcntl(fd, F_OFD_GETLK, &lock) && lock.l_type != F_UNLCK;
}

static bool read_line(int fd, char line[LINE_BYTES], uint32_t *ret_owner)
{
	struct stat st;
	ssize_t len;

	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_mode & (S_IWGRP | S_IWOTH) ||
	    !is_held(fd))
		return false;
	*ret_owner = st.st_uid;
	len = pread(fd, line, LINE_BYTES - 1, 0);
	line[len > 0 ? len : 0] = '\0';
	return len > 0;
}

bool holder_find(uint32_t target_id, struct holder *ret)
{
	char path[PATH_BYTES], line[LINE_BYTES];
	uint32_t owner;
	bool found;
	int fd;

	*ret = (struct holder){ 0 };
	path_of(target_id, path);
	fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return false;
	found = read_line(fd, line, &owner) &&
		sscanf(line, "%11s %" SCNu32 " %" SCNu64 " %11s", ret->verb, &ret->pid,
		       &ret->since_ns, ret->stage) >= 3;
	close(fd);
	if (found)
		ret->uid = user_of(ret->pid, owner);
	return found;
}

const char *holder_text(const struct holder *holder, char *text, size_t size)
{
	const struct passwd *user = getpwuid(holder->uid);
	char number[16];

	snprintf(number, sizeof(number), "user %" PRIu32, holder->uid);
	snprintf(text, size, "'pg-collect %s', process %" PRIu32 " of %s", holder->verb,
		 holder->pid, user ? user->pw_name : number);
	return text;
}
