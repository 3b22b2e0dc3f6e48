// SPDX-License-Identifier: GPL-2.0
/*
 * A program all of whose system calls are by one instruction at one depth, as
 * with some C libraries.  Its loop waits in poll() for a line, reads it, and
 * sleeps for a moment: three places that only their numbers distinguish.  It is
 * in poll() first, so whoever comes later sees that one last.
 *
 *   nothing     is answered
 *   spin MS     first takes so much CPU time
 */

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static __attribute__((noinline)) long call(long nr, long a, long b, long c)
{
	long ret;

	__asm__ volatile("syscall"
			 : "=a" (ret)
			 : "a" (nr), "D" (a), "S" (b), "d" (c)
			 : "rcx", "r11", "memory");
	return ret;
}

static double seconds(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void spin(double time)
{
	double end = seconds(CLOCK_MONOTONIC) + time;

	while (seconds(CLOCK_MONOTONIC) < end)
		;
}

int main(void)
{
	struct pollfd in = { .fd = STDIN_FILENO, .events = POLLIN };
	struct timespec moment = { .tv_nsec = 1 };
	char line[64];
	long size;

	for (;;) {
		if (call(SYS_poll, (long)&in, 1, 60000) <= 0)
			continue;
		size = call(SYS_read, STDIN_FILENO, (long)line, sizeof(line) - 1);
		if (size <= 0)
			return 0;
		line[size] = 0;
		call(SYS_nanosleep, (long)&moment, 0, 0);
		if (!strncmp(line, "spin ", 5))
			spin(atof(line + 5) / 1000);
		if (write(STDOUT_FILENO, "ok\n", 3) != 3)
			return 1;
	}
}
