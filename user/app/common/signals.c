// SPDX-License-Identifier: GPL-2.0

#include "app/common/signals.h"

#include <errno.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

static sigset_t original;
static void (*original_pipe)(int);

int signals_open(void)
{
	sigset_t set;
	int fd;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGCHLD);
	if (sigprocmask(SIG_BLOCK, &set, &original))
		return -errno;
	fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int signals_next(int fd)
{
	struct signalfd_siginfo info;

	if (read(fd, &info, sizeof(info)) != sizeof(info))
		return 0;
	return (int)info.ssi_signo;
}

void signals_ignore_pipe(void)
{
	original_pipe = signal(SIGPIPE, SIG_IGN);
}

void signals_restore_pipe(void)
{
	signal(SIGPIPE, original_pipe);
}

void signals_restore(void)
{
	signals_restore_pipe();
	sigprocmask(SIG_SETMASK, &original, NULL);
}
