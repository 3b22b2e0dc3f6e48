// SPDX-License-Identifier: GPL-2.0

#include "store/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static int told(int error, const char *what, const char *path, char why[FILE_WHY_MAX])
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
			return -ENODATA; /* it became shorter meanwhile */
		bytes += nr;
		len -= (size_t)nr;
	}
	return 0;
}

static int write_all(int fd, const uint8_t *bytes, size_t len)
{
	while (len) {
		ssize_t nr = write(fd, bytes, len);

		if (nr < 0 && errno == EINTR)
			continue;
		if (nr < 0)
			return -errno;
		bytes += nr;
		len -= (size_t)nr;
	}
	return 0;
}

static int read_regular(int fd, size_t max, uint8_t **ret, size_t *ret_len)
{
	struct stat stat;
	int error;

	if (fstat(fd, &stat))
		return -errno;
	if (S_ISDIR(stat.st_mode))
		return -EISDIR;
	if (!S_ISREG(stat.st_mode))
		return -EINVAL;
	if ((uint64_t)stat.st_size > max)
		return -EFBIG;
	*ret_len = (size_t)stat.st_size;
	*ret = sqlite3_malloc64(*ret_len + 1);
	if (!*ret)
		return -ENOMEM;
	error = read_all(fd, *ret, *ret_len);
	if (error)
		sqlite3_free(*ret);
	return error;
}

int file_read(const char *path, size_t max, uint8_t **ret, size_t *ret_len,
	      char why[FILE_WHY_MAX])
{
	/* A pipe is not to be waited for. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	int error;

	if (fd < 0)
		return told(-errno, "open", path, why);
	error = read_regular(fd, max, ret, ret_len);
	close(fd);
	if (error == -EINVAL)
		snprintf(why, FILE_WHY_MAX, "%s is not a regular file", path);
	else if (error)
		told(error, "read", path, why);
	return error;
}

/* Where a file is replaced: beside it a new one is made. */
struct place {
	char path[PATH_MAX]; /* without links */
	char new_path[PATH_MAX + 8];
	char directory[PATH_MAX];
	struct stat old; /* st_mode 0: there is none */
};

static int find_place(const char *path, struct place *place)
{
	const char *slash;
	int len;

	memset(&place->old, 0, sizeof(place->old));
	if (!*path)
		return -ENOENT;
	if (realpath(path, place->path)) {
		if (stat(place->path, &place->old))
			return -errno;
		if (S_ISDIR(place->old.st_mode))
			return -EISDIR;
		if (!S_ISREG(place->old.st_mode))
			return -EINVAL;
	} else if (errno != ENOENT) {
		return -errno;
	} else if ((size_t)snprintf(place->path, sizeof(place->path), "%s", path) >=
		   sizeof(place->path)) {
		return -ENAMETOOLONG;
	}
	slash = strrchr(place->path, '/');
	len = slash ? (int)(slash - place->path) + 1 : 0;
	if (slash && !slash[1])
		return -EISDIR;
	snprintf(place->directory, sizeof(place->directory), "%.*s", len, place->path);
	if (!len)
		strcpy(place->directory, ".");
	snprintf(place->new_path, sizeof(place->new_path), "%s.new", place->path);
	return 0;
}

/*
 * Always the same name, so that a save that was killed leaves no more than one
 * file behind, which the next save takes over.  The lock tells it from one that
 * is being written; whoever got it must look whether the name still means the
 * file, for it may have been renamed into place by the one before.
 */
static int open_new(const struct place *place)
{
	struct stat named, opened;

	for (;;) {
		int fd = open(place->new_path,
			      O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666);

		if (fd < 0)
			return -errno;
		/* Where there are no locks, go on without. */
		if (flock(fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK) {
			close(fd);
			return -EBUSY;
		}
		if (!fstat(fd, &opened) && !lstat(place->new_path, &named) &&
		    opened.st_ino == named.st_ino && opened.st_dev == named.st_dev &&
		    S_ISREG(opened.st_mode))
			return fd;
		close(fd);
		if (!S_ISREG(opened.st_mode))
			return -EINVAL;
	}
}

static int write_new(int fd, const struct place *place, const uint8_t *bytes, size_t len)
{
	int error;

	if (ftruncate(fd, 0))
		return -errno;
	error = write_all(fd, bytes, len);
	if (error)
		return error;
	/* Only root can keep an owner; not to be able to is no reason to fail. */
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
	/* Some file systems have no such thing. */
	if (fsync(fd) && errno != EINVAL && errno != ENOTSUP)
		error = -errno;
	close(fd);
	return error;
}

int file_replace(const char *path, const uint8_t *bytes, size_t len, char why[FILE_WHY_MAX])
{
	struct place place;
	int fd, error = find_place(path, &place);

	if (error == -EINVAL) {
		snprintf(why, FILE_WHY_MAX, "%s is not a regular file", path);
		return error;
	}
	if (error)
		return told(error, "write", path, why);
	fd = open_new(&place);
	if (fd == -EBUSY) {
		snprintf(why, FILE_WHY_MAX, "%s is being written by another process", path);
		return fd;
	}
	if (fd < 0)
		return told(fd, "make", place.new_path, why);
	error = write_new(fd, &place, bytes, len);
	if (!error && rename(place.new_path, place.path))
		error = -errno;
	if (error)
		unlink(place.new_path);
	close(fd);
	if (!error)
		error = sync_directory(place.directory);
	return error ? told(error, "write", path, why) : 0;
}
