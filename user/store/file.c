// SPDX-License-Identifier: GPL-2.0

#include "store/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/stat.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int report(int error, const char *what, const char *path, char why[FILE_WHY_MAX])
{
	snprintf(why, FILE_WHY_MAX, "cannot %s %s: %s", what, path, strerror(-error));
	return error;
}

static int read_all(int fd, uint8_t *bytes, size_t len)
{
	while (len) {
		ssize_t nr = read(fd, bytes, len);

		if (nr < 0 && errno == EINTR)
			continue;
		if (nr < 0)
			return -errno;
		if (!nr)
			return -ENODATA; /* the file was truncated meanwhile */
		bytes += nr;
		len -= (size_t)nr;
	}
	return 0;
}

int file_open(const char *path, uint64_t *ret_size)
{
	/* Do not block on a pipe. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	int error = 0;
	struct stat stat;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &stat))
		error = -errno;
	else if (!S_ISREG(stat.st_mode))
		error = S_ISDIR(stat.st_mode) ? -EISDIR : -EINVAL;
	if (error) {
		close(fd);
		return error;
	}
	*ret_size = (uint64_t)stat.st_size;
	return fd;
}

static int read_bytes(int fd, uint64_t size, size_t max, uint8_t **ret)
{
	int error;

	if (size > max)
		return -EFBIG;
	*ret = sqlite3_malloc64(size + 1);
	if (!*ret)
		return -ENOMEM;
	error = read_all(fd, *ret, size);
	if (error)
		sqlite3_free(*ret);
	return error;
}

/* Only root, we, and nobody else can have written what is read from @fd. */
static int check_private(int fd)
{
	struct stat stat;

	if (fstat(fd, &stat))
		return -errno;
	if ((stat.st_uid && stat.st_uid != geteuid()) || stat.st_mode & (S_IWGRP | S_IWOTH))
		return -EPERM;
	return 0;
}

static int read_file(const char *path, size_t max, bool is_private, uint8_t **ret,
		     size_t *ret_len, char why[FILE_WHY_MAX])
{
	uint64_t size;
	int fd = file_open(path, &size), error = fd;

	if (fd >= 0) {
		error = is_private ? check_private(fd) : 0;
		if (!error)
			error = read_bytes(fd, size, max, ret);
		close(fd);
		*ret_len = size;
	}
	if (error == -EINVAL)
		snprintf(why, FILE_WHY_MAX, "%s is not a regular file", path);
	else if (error == -EPERM && fd >= 0)
		snprintf(why, FILE_WHY_MAX,
			 "other users can write %s; make it yours by chown and chmod go-w", path);
	else if (error)
		report(error, fd < 0 && error != -EISDIR ? "open" : "read", path, why);
	return error;
}

int file_read(const char *path, size_t max, uint8_t **ret, size_t *ret_len,
	      char why[FILE_WHY_MAX])
{
	return read_file(path, max, false, ret, ret_len, why);
}

int file_read_private(const char *path, size_t max, uint8_t **ret, size_t *ret_len,
		      char why[FILE_WHY_MAX])
{
	return read_file(path, max, true, ret, ret_len, why);
}

/* A file that is replaced by a new one in the same directory. */
struct replacement {
	char path[PATH_MAX]; /* without links */
	char new_path[PATH_MAX + 8];
	char directory[PATH_MAX];
	struct stat old; /* st_mode 0: there is none */
};

/* Find the file that @path leads to, as the kernel does: it refuses some links of others. */
static int follow(const char *path, struct replacement *place)
{
	int fd = open(path, O_PATH | O_CLOEXEC), error = 0;
	char link[32];
	ssize_t len;

	if (fd < 0)
		return -errno;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	len = readlink(link, place->path, sizeof(place->path) - 1);
	if (len < 0 || fstat(fd, &place->old))
		error = -errno;
	else
		place->path[len] = '\0';
	close(fd);
	return error;
}

static int find_replacement(const char *path, struct replacement *place)
{
	int len, error = follow(path, place);
	const char *slash;

	if (error == -ENOENT && *path) {
		place->old.st_mode = 0;
		if ((size_t)snprintf(place->path, sizeof(place->path), "%s", path) >=
		    sizeof(place->path))
			return -ENAMETOOLONG;
	} else if (error) {
		return error;
	} else if (!S_ISREG(place->old.st_mode)) {
		return S_ISDIR(place->old.st_mode) ? -EISDIR : -EINVAL;
	}
	slash = strrchr(place->path, '/');
	len = slash ? (int)(slash - place->path) + 1 : 0;
	if (slash && !slash[1])
		return -EISDIR;
	snprintf(place->directory, sizeof(place->directory), "%.*s", len, place->path);
	if (!len)
		strcpy(place->directory, ".");
	snprintf(place->new_path, sizeof(place->new_path), "%s.XXXXXX", place->path);
	return 0;
}

/*
 * A name that nobody can know before, and a file that nobody else can open: a
 * directory may be another user's, too.  A save that is killed leaves it behind.
 */
static int open_new(struct replacement *place)
{
	int fd = mkostemp(place->new_path, O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static int write_new(int fd, const struct replacement *place, file_writer *write,
		     const void *from)
{
	int error = write(fd, from);

	if (error)
		return error;
	/* Only root can keep an owner; continue without. */
	if (place->old.st_mode && fchown(fd, place->old.st_uid, place->old.st_gid))
		errno = 0;
	if (place->old.st_mode && fchmod(fd, place->old.st_mode & 07777))
		return -errno;
	if (fsync(fd))
		return -errno;
	return 0;
}

static int sync_directory(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int error = 0;

	if (fd < 0)
		return -errno;
	/* Some file systems do not support it. */
	if (fsync(fd) && errno != EINVAL && errno != ENOTSUP)
		error = -errno;
	close(fd);
	return error;
}

/* Returns the descriptor of the new file, or an error with the reason in @why. */
static int begin(const char *path, struct replacement *place, char why[FILE_WHY_MAX])
{
	int fd, error = find_replacement(path, place);

	if (error == -EINVAL) {
		snprintf(why, FILE_WHY_MAX, "%s is not a regular file", path);
		return error;
	}
	if (error)
		return report(error, "write", path, why);
	fd = open_new(place);
	if (fd >= 0)
		return fd;
	snprintf(why, FILE_WHY_MAX, "cannot write %s: no file can be made in %s: %s", path,
		 place->directory, strerror(-fd));
	return fd;
}

/* What rename() does not replace, whoever asks for it; NULL: nothing in the way. */
static const char *find_obstacle(const char *path)
{
	struct statx st;

	/* It may not be there yet, and not all file systems know. */
	if (statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, STATX_TYPE, &st))
		return NULL;
	if (st.stx_attributes & STATX_ATTR_MOUNT_ROOT)
		return "something is mounted there";
	if (st.stx_attributes & (STATX_ATTR_IMMUTABLE | STATX_ATTR_APPEND))
		return "it is immutable or only to be appended to (lsattr)";
	return NULL;
}

int file_check_replace(const char *path, char why[FILE_WHY_MAX])
{
	struct replacement place;
	int fd = begin(path, &place, why);
	const char *obstacle;

	if (fd < 0)
		return fd;
	unlink(place.new_path);
	close(fd);
	obstacle = find_obstacle(place.path);
	if (!obstacle)
		return 0;
	snprintf(why, FILE_WHY_MAX, "cannot replace %s: %s", path, obstacle);
	return -EPERM;
}

int file_replace_by(const char *path, file_writer *write, const void *from,
		    char why[FILE_WHY_MAX])
{
	struct replacement place;
	int fd = begin(path, &place, why), error;

	if (fd < 0)
		return fd;
	error = write_new(fd, &place, write, from);
	if (!error && rename(place.new_path, place.path))
		error = -errno;
	if (error)
		unlink(place.new_path);
	close(fd);
	if (!error)
		error = sync_directory(place.directory);
	return error ? report(error, "write", path, why) : 0;
}

struct span {
	const uint8_t *bytes;
	size_t len;
};

static int write_span(int fd, const void *from)
{
	struct span left = *(const struct span *)from;

	while (left.len) {
		ssize_t nr = write(fd, left.bytes, left.len);

		if (nr < 0 && errno == EINTR)
			continue;
		if (nr < 0)
			return -errno;
		left.bytes += nr;
		left.len -= (size_t)nr;
	}
	return 0;
}

int file_replace(const char *path, const uint8_t *bytes, size_t len, char why[FILE_WHY_MAX])
{
	struct span span = { bytes, len };

	return file_replace_by(path, write_span, &span, why);
}
