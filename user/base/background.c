// SPDX-License-Identifier: GPL-2.0

#include "base/background.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

/*
 * Where the kernel groups tasks by session (sched_autogroup_enabled), a
 * priority holds within the group only.  A service leads a session of its own;
 * in a terminal the session is the shell's and is left alone.
 */
static void lower_session(void)
{
	static const char nice[] = "19";
	int fd;

	if (getsid(0) != getpid())
		return;
	fd = open("/proc/self/autogroup", O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	(void)!write(fd, nice, sizeof(nice) - 1);
	close(fd);
}

void background_take(pid_t pid)
{
	const struct sched_param none = { 0 };

	setpriority(PRIO_PROCESS, (id_t)pid, 19);
	sched_setscheduler(pid, SCHED_BATCH, &none);
}

void background_enter(void)
{
	background_take(0);
	lower_session();
}
