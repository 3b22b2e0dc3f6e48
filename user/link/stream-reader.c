// SPDX-License-Identifier: GPL-2.0

#include "link/stream-reader.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEVICE "/dev/" PERFGUARD_FAMILY_NAME
#define NO_DEVICE "there is no " DEVICE "; load the module with 'modprobe perfguard'"
#define NO_RIGHT "not permitted to read the training stream; run this as root"

struct stream {
	int fd;
	char error[256];
};

static int explain_open(struct stream *stream, int error)
{
	static const struct {
		int error;
		const char *why;
	} texts[] = {
		{ EBUSY, "another program reads the training stream; only one can at a time" },
		{ ENOENT, NO_DEVICE }, { ENODEV, NO_DEVICE }, { ENXIO, NO_DEVICE },
		{ EPERM, NO_RIGHT }, { EACCES, NO_RIGHT },
		{ ENOMEM, "no memory for the training stream; lower the module's parameter stream_mib" },
	};

	snprintf(stream->error, sizeof(stream->error), "cannot open " DEVICE ": %s", strerror(error));
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (texts[i].error == error)
			snprintf(stream->error, sizeof(stream->error), "%s", texts[i].why);
	return -error;
}

int stream_open(struct stream **ret)
{
	struct stream *stream = calloc(1, sizeof(*stream));

	*ret = stream;
	if (!stream)
		return -ENOMEM;
	stream->fd = open(DEVICE, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	return stream->fd < 0 ? explain_open(stream, errno) : 0;
}

void stream_close(struct stream *stream)
{
	if (!stream)
		return;
	if (stream->fd >= 0)
		close(stream->fd);
	free(stream);
}

const char *stream_error(const struct stream *stream)
{
	return stream ? stream->error : "out of memory";
}

int stream_fd(const struct stream *stream)
{
	return stream->fd;
}

int stream_read(struct stream *stream, struct perfguard_event *events,
		uint32_t max)
{
	ssize_t bytes;

	/* The kernel reads no more than 2 GiB at once. */
	if (max > INT_MAX / sizeof(*events))
		max = INT_MAX / sizeof(*events);
	do {
		bytes = read(stream->fd, events, max * sizeof(*events));
	} while (bytes < 0 && errno == EINTR);
	if (bytes >= 0)
		return (int)(bytes / (ssize_t)sizeof(*events));
	if (errno == EAGAIN)
		return 0;
	snprintf(stream->error, sizeof(stream->error),
		 "cannot read the training stream: %s", strerror(errno));
	return -errno;
}
