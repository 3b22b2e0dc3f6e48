// SPDX-License-Identifier: GPL-2.0
/*
 * An event loop that can be given work faster than any client could send it: a
 * semaphore of the kernel counts the units that are to be done, and the loop
 * waits for it by read().
 *
 *   flood THREADS
 *
 * The loop's threads are in a child, whose process id is printed first.  A line
 * "N" on standard input lets each do N units; "ok" is the answer when all of
 * them wait again.
 */

#include <err.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { MAX_THREADS = 64 };

static int semaphores[MAX_THREADS];
static _Atomic uint64_t *done; /* shared */

__attribute__((noinline)) static void unit(void)
{
	atomic_fetch_add(done, 1);
}

static void *loop(void *semaphore)
{
	uint64_t one;

	while (read(*(int *)semaphore, &one, sizeof(one)) == sizeof(one))
		unit();
	err(1, "read");
}

static void work(int threads)
{
	pthread_t thread;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (int i = 0; i < threads; i++)
		if (pthread_create(&thread, NULL, loop, &semaphores[i]))
			err(1, "thread");
	for (;;)
		pause();
}

static void run(uint64_t units, int threads)
{
	uint64_t end = atomic_load(done) + units * (uint64_t)threads;

	for (int i = 0; i < threads; i++)
		if (write(semaphores[i], &units, sizeof(units)) != sizeof(units))
			err(1, "write");
	while (atomic_load(done) < end)
		usleep(1000);
	/* The last unit of each ends when its thread waits. */
	usleep(100000);
}

int main(int argc, char **argv)
{
	int threads = argc > 1 ? atoi(argv[1]) : 1;
	char line[64];
	pid_t pid;

	if (threads < 1 || threads > MAX_THREADS)
		errx(2, "see the head of its source");
	done = mmap(NULL, sizeof(*done), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	for (int i = 0; i < threads; i++)
		semaphores[i] = eventfd(0, EFD_SEMAPHORE | EFD_CLOEXEC);
	pid = fork();
	if (done == MAP_FAILED || pid < 0)
		err(1, "start");
	if (!pid)
		work(threads);
	setlinebuf(stdout);
	printf("%d\n", pid);
	while (fgets(line, sizeof(line), stdin)) {
		run(strtoull(line, NULL, 0), threads);
		puts("ok");
	}
	return 0;
}
