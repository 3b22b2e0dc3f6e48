// SPDX-License-Identifier: GPL-2.0

#include "app/common/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "app/common/signals.h"
#include "base/duration.h"
#include "base/time.h"

#define PATIENCE_NS (5 * NSEC_PER_SEC)

static void __attribute__((noreturn))
run(const char *path, char **argv, bool to_stderr, int go, int failure)
{
	ssize_t written;
	char byte;
	int error;

	/* The other end is closed unwritten when there is no audit after all. */
	if (read(go, &byte, 1) != 1)
		_exit(127);
	if (to_stderr)
		dup2(STDERR_FILENO, STDOUT_FILENO);
	signals_restore();
	execv(path, argv);
	error = errno;
	written = write(failure, &error, sizeof(error));
	_exit(written == sizeof(error) ? 127 : 126);
}

int child_fork(struct child *child, const char *path, char **argv, bool to_stderr)
{
	int go[2], failure[2];
	int error;

	if (pipe2(go, O_CLOEXEC))
		return -errno;
	if (pipe2(failure, O_CLOEXEC)) {
		error = errno;
		close(go[0]);
		close(go[1]);
		return -error;
	}
	fflush(NULL);
	child->pid = fork();
	error = errno;
	if (child->pid == 0) {
		close(go[1]);
		run(path, argv, to_stderr, go[0], failure[1]);
	}
	close(go[0]);
	close(failure[1]);
	child->go = go[1];
	child->failure = failure[0];
	if (child->pid > 0)
		return 0;
	close(go[1]);
	close(failure[0]);
	child->pid = 0;
	return -error;
}

int child_go(struct child *child)
{
	int error = 0;

	if (write(child->go, "g", 1) != 1)
		error = errno;
	close(child->go);
	child->go = -1;
	/* Its end of the pipe is closed by a successful exec. */
	if (!error && read(child->failure, &error, sizeof(error)) < 0)
		error = errno;
	close(child->failure);
	child->failure = -1;
	return -error;
}

bool child_has_ended(struct child *child)
{
	if (!child->has_ended && child->pid > 0)
		child->has_ended = waitpid(child->pid, &child->status, WNOHANG) == child->pid;
	return child->has_ended;
}

void child_stop(struct child *child)
{
	uint64_t end_ns = time_now_ns() + PATIENCE_NS;

	if (!child->pid || child_has_ended(child))
		return;
	if (child->go >= 0) {
		/* It was never released: this ends it. */
		close(child->go);
		close(child->failure);
		child->go = -1;
	}
	kill(child->pid, SIGTERM);
	while (time_now_ns() < end_ns && !child_has_ended(child))
		poll(NULL, 0, 10);
	if (child->has_ended)
		return;
	kill(child->pid, SIGKILL);
	child->has_ended = waitpid(child->pid, &child->status, 0) == child->pid;
}
