// SPDX-License-Identifier: GPL-2.0

#include "binary/helper/answering.h"

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "binary/file/debug-file.h"
#include "binary/helper/confine.h"
#include "binary/helper/wire.h"

bool serve_answer(const void *message, size_t size)
{
	struct iovec part = { (void *)message, size };
	const struct msghdr header = { .msg_iov = &part, .msg_iovlen = 1 };

	return sendmsg(CONFINE_SOCKET, &header, MSG_NOSIGNAL) == (ssize_t)size;
}

bool serve_receive(void *ret, size_t size, int *ret_fd)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec part = { ret, size };
	struct msghdr header = {
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};

	if (recvmsg(CONFINE_SOCKET, &header, 0) != (ssize_t)size)
		return false;
	*ret_fd = -1;
	if (CMSG_FIRSTHDR(&header))
		memcpy(ret_fd, CMSG_DATA(&control.header), sizeof(*ret_fd));
	return true;
}

static int ask_for_file(const char *path, const struct debug_file_wanted *wanted, unsigned int nr)
{
	const struct wire_wanted message = { .kind = WIRE_WANTED, .nr = nr, .wanted = *wanted };
	int error, fd;

	(void)path;
	if (!serve_answer(&message, sizeof(message)) || !serve_receive(&error, sizeof(error), &fd))
		_exit(1);
	return fd < 0 ? error : fd;
}

void serve_begin(void)
{
	debug_file_set_opener(ask_for_file);
}
