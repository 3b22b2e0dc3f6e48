// SPDX-License-Identifier: GPL-2.0
/*
 * Threads that each wait for work in a loop of its own, by one kind of call.  They sleep when the
 * program says "asleep TID...", in the order of kinds, and do not wake unless they are told to:
 *
 *   KIND MS   its thread has a unit that sleeps for so long; answers "done", with how its wait
 *             ended if that was not as it should be
 *
 * Of a kind that waits for all of eight bytes (all) there are four when it says so.
 */

#include <err.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <linux/futex.h>

#define VISIBLE __attribute__((noinline, visibility("default")))

enum { EPOLL, POLL, READ, RECV, ALL, FUTEX, NR_KINDS };

static const char *const names[NR_KINDS] = { "epoll", "poll", "read", "recv", "all", "futex" };

static struct worker {
	pthread_t thread;
	pid_t tid;
	int fds[2];		/* a socket pair: its own end, and that of who gives it work */
	int epoll_fd;
	uint32_t word;		/* of the futex: a unit is wanted */
	unsigned int ms;	/* of that */
	long ret;		/* what its wait returned, */
	int error;		/* and why */
} workers[NR_KINDS];

/* Each by a function of its own, so that their places differ. */
VISIBLE void epoll_loop(struct worker *worker);
VISIBLE void poll_loop(struct worker *worker);
VISIBLE void read_loop(struct worker *worker);
VISIBLE void recv_loop(struct worker *worker);
VISIBLE void all_loop(struct worker *worker);
VISIBLE void futex_loop(struct worker *worker);
VISIBLE void work(struct worker *worker, long ret);

VISIBLE void work(struct worker *worker, long ret)
{
	struct timespec time = { worker->ms / 1000, worker->ms % 1000 * 1000000L };

	worker->ret = ret;
	worker->error = errno;
	nanosleep(&time, NULL);
	printf("done %ld %s\n", ret, ret < 0 ? strerror(worker->error) : "");
	fflush(stdout);
}

static void take(struct worker *worker)
{
	char bytes[8];

	if (recv(worker->fds[0], bytes, sizeof(bytes), MSG_DONTWAIT) < 0)
		err(1, "recv");
}

VISIBLE void epoll_loop(struct worker *worker)
{
	struct epoll_event event = { .events = EPOLLIN };

	worker->epoll_fd = epoll_create1(0);
	if (epoll_ctl(worker->epoll_fd, EPOLL_CTL_ADD, worker->fds[0], &event))
		err(1, "epoll_ctl");
	for (;;) {
		long ret = epoll_wait(worker->epoll_fd, &event, 1, 3600 * 1000);

		if (ret > 0)
			take(worker);
		work(worker, ret);
	}
}

VISIBLE void poll_loop(struct worker *worker)
{
	for (;;) {
		struct pollfd fd = { .fd = worker->fds[0], .events = POLLIN };
		long ret = poll(&fd, 1, 3600 * 1000);

		if (ret > 0)
			take(worker);
		work(worker, ret);
	}
}

VISIBLE void read_loop(struct worker *worker)
{
	char bytes[8];

	for (;;)
		work(worker, read(worker->fds[0], bytes, sizeof(bytes)));
}

VISIBLE void recv_loop(struct worker *worker)
{
	char bytes[8];

	for (;;)
		work(worker, recv(worker->fds[0], bytes, sizeof(bytes), 0));
}

VISIBLE void all_loop(struct worker *worker)
{
	char bytes[8];

	for (;;)
		work(worker, recv(worker->fds[0], bytes, sizeof(bytes), MSG_WAITALL));
}

VISIBLE void futex_loop(struct worker *worker)
{
	for (;;) {
		long ret = syscall(SYS_futex, &worker->word, FUTEX_WAIT_PRIVATE, 0, NULL);

		__atomic_store_n(&worker->word, 0, __ATOMIC_RELEASE);
		work(worker, ret);
	}
}

static void *start(void *arg)
{
	static void (*const loops[NR_KINDS])(struct worker *) = {
		epoll_loop, poll_loop, read_loop, recv_loop, all_loop, futex_loop,
	};
	struct worker *worker = arg;

	__atomic_store_n(&worker->tid, gettid(), __ATOMIC_RELEASE);
	loops[worker - workers](worker);
	return NULL;
}

static void give(struct worker *worker, const char *bytes)
{
	if (send(worker->fds[1], bytes, strlen(bytes), 0) < 0)
		err(1, "send");
}

static void command(const char *line)
{
	unsigned int ms, i;
	char name[16];

	if (sscanf(line, "%15s %u", name, &ms) != 2)
		errx(2, "unknown command %s", line);
	for (i = 0; i < NR_KINDS && strcmp(name, names[i]); i++)
		;
	if (i == NR_KINDS)
		errx(2, "unknown kind %s", name);
	workers[i].ms = ms;
	if (i == FUTEX) {
		__atomic_store_n(&workers[i].word, 1, __ATOMIC_RELEASE);
		syscall(SYS_futex, &workers[i].word, FUTEX_WAKE_PRIVATE, 1);
	} else {
		give(&workers[i], i == ALL ? "four" : "work");
	}
}

/* Returns true if the thread waits for work. */
static int is_asleep(const struct worker *worker)
{
	pid_t tid = __atomic_load_n(&worker->tid, __ATOMIC_ACQUIRE);
	char path[64], state = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
	file = tid ? fopen(path, "r") : NULL;
	if (!file)
		return 0;
	if (fscanf(file, "%*d %*s %c", &state) != 1)
		state = 0;
	fclose(file);
	return state == 'S';
}

int main(void)
{
	char line[64];

	for (int i = 0; i < NR_KINDS; i++) {
		if (socketpair(AF_UNIX, SOCK_STREAM, 0, workers[i].fds) ||
		    pthread_create(&workers[i].thread, NULL, start, &workers[i]))
			err(1, "cannot start a thread");
		while (!is_asleep(&workers[i]))
			usleep(1000);
	}
	give(&workers[ALL], "four");
	usleep(200000);
	printf("asleep");
	for (int i = 0; i < NR_KINDS; i++)
		printf(" %d", workers[i].tid);
	puts("");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin))
		command(line);
	return 0;
}
