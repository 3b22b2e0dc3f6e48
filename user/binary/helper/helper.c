// SPDX-License-Identifier: GPL-2.0

#include "binary/helper/helper.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/duration.h"
#include "base/long-step.h"
#include "base/pending.h"
#include "base/time.h"
#include "binary/helper/confine.h"

#define PATIENCE_NS (1200 * NSEC_PER_MSEC)

enum {
	LOOK_MS = 50, /* for signals, and at the CPU time */
	REAP_MS = 100,
};

int helper_start(struct helper *helper, int file, unsigned int cpu_s, helper_main *main, void *arg)
{
	int sockets[2], error;

	*helper = (struct helper){ .socket = -1, .max_cpu_ns = HELPER_CPU_NS };
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets))
		return -errno;
	helper->pid = fork();
	error = errno;
	if (!helper->pid) {
		if (!confine(sockets[1], file, cpu_s))
			main(arg);
		_exit(1);
	}
	close(sockets[1]);
	if (helper->pid > 0) {
		helper->socket = sockets[0];
		return 0;
	}
	close(sockets[0]);
	helper->pid = 0;
	return -error;
}

/* One that sleeps in the kernel, where a file's server does not answer, stays behind. */
void helper_stop(struct helper *helper)
{
	if (!helper->pid)
		return;
	close(helper->socket);
	kill(helper->pid, SIGKILL);
	for (int ms = 0; ms < REAP_MS && !waitpid(helper->pid, NULL, WNOHANG); ms++)
		poll(NULL, 0, 1);
	*helper = (struct helper){ .socket = -1 };
}

static int fail(struct helper *helper, int error)
{
	helper_stop(helper);
	return error;
}

static int send_message(struct helper *helper, const struct msghdr *message, size_t size)
{
	ssize_t sent;

	if (!helper->pid)
		return -EIO;
	sent = sendmsg(helper->socket, message, MSG_NOSIGNAL | MSG_DONTWAIT);
	return sent == (ssize_t)size ? 0 : fail(helper, -EIO);
}

int helper_send(struct helper *helper, const void *message, size_t size)
{
	struct iovec part = { (void *)message, size };
	const struct msghdr header = { .msg_iov = &part, .msg_iovlen = 1 };

	return send_message(helper, &header, size);
}

int helper_send_file(struct helper *helper, const void *message, size_t size, int fd)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = { .header = {
		.cmsg_len = CMSG_LEN(sizeof(int)),
		.cmsg_level = SOL_SOCKET,
		.cmsg_type = SCM_RIGHTS,
	} };
	struct iovec part = { (void *)message, size };
	const struct msghdr header = {
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};

	memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
	return send_message(helper, &header, size);
}

static uint64_t cpu_ns(const struct helper *helper)
{
	struct timespec ts;
	clockid_t clock;

	if (clock_getcpuclockid(helper->pid, &clock) || clock_gettime(clock, &ts))
		return 0;
	return (uint64_t)ts.tv_sec * NSEC_PER_SEC + (uint64_t)ts.tv_nsec;
}

static int wait_long(const struct helper *helper)
{
	struct pollfd file = { .fd = helper->socket, .events = POLLIN };
	uint64_t start_ns = time_now_ns(), cpu_start_ns = cpu_ns(helper);

	for (;;) {
		if (pending_end())
			return -EINTR;
		if (poll(&file, 1, LOOK_MS) > 0)
			return 0;
		if (time_now_ns() - start_ns > 2 * helper->max_cpu_ns + PATIENCE_NS ||
		    cpu_ns(helper) - cpu_start_ns > helper->max_cpu_ns)
			return -EIO;
	}
}

/* Returns 0 when there is a message, or the end; most answers are there at once. */
static int wait_for(const struct helper *helper)
{
	struct pollfd file = { .fd = helper->socket, .events = POLLIN };
	int ret;

	if (poll(&file, 1, LOOK_MS) > 0)
		return 0;
	long_step_begin("reading files of programs");
	ret = wait_long(helper);
	long_step_end();
	return ret;
}

ssize_t helper_receive(struct helper *helper, void *ret, size_t size)
{
	ssize_t received;
	int error;

	if (!helper->pid)
		return -EIO;
	error = wait_for(helper);
	if (error)
		return fail(helper, error);
	received = recv(helper->socket, ret, size, MSG_TRUNC | MSG_DONTWAIT);
	return received > 0 && received <= (ssize_t)size ? received : fail(helper, -EIO);
}
