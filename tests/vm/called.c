// SPDX-License-Identifier: GPL-2.0
/*
 * A program that knows its own functions: outer() calls middle() calls
 * inner(), and each notes the stack pointer at its entry and where it returns
 * to.  Says where they are, then takes a command a line; a line of answer.
 *
 *   call N          outer() so often; the notes of the last round
 *   thread N        the same in a new thread, which waits for nothing before
 *   threads T N     T threads at once, outer() N times each
 *   fork            a child that calls outer() and stays; its pid
 *   share           a child with the same memory does so and ends
 *   reap            the child ends
 *   library PATH NAME  load it, and call its function of a double; the address
 *   exec            execute this program again
 *   storm MS        threads, forks and execs that call outer(), for this time
 *
 * called once: calls outer() and ends.
 */

#include <dlfcn.h>
#include <err.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct note {
	uint64_t sp;
	uint64_t return_address;
};

enum { NR_FUNCTIONS = 3, MAX_THREADS = 64 };

static __thread struct note notes[NR_FUNCTIONS];
static volatile uint64_t sink;

#define HERE(i)                                                               \
	(notes[i] = (struct note){ (uint64_t)__builtin_dwarf_cfa() - 8,       \
				   (uint64_t)__builtin_return_address(0) })

void __attribute__((noinline)) inner(void);
void __attribute__((noinline)) middle(void);
void __attribute__((noinline)) outer(void);
void __attribute__((noinline)) never(void);

void inner(void)
{
	HERE(2);
	sink++;
}

void middle(void)
{
	HERE(1);
	inner();
	sink++;
}

void outer(void)
{
	HERE(0);
	middle();
	sink++;
}

void never(void)
{
	sink--;
}

static void report(void)
{
	for (int i = 0; i < NR_FUNCTIONS; i++)
		printf("%llx %llx ", (unsigned long long)notes[i].sp,
		       (unsigned long long)notes[i].return_address);
	printf("%ld\n", syscall(SYS_gettid));
}

static void *calls(void *arg)
{
	for (long i = (long)arg; i > 0; i--)
		outer();
	return NULL;
}

static void *calls_and_tells(void *arg)
{
	calls(arg);
	report();
	return NULL;
}

static void thread(long n)
{
	pthread_t id;

	if (pthread_create(&id, NULL, calls_and_tells, (void *)n))
		err(1, "pthread_create");
	pthread_join(id, NULL);
}

static void threads(int nr, long n)
{
	pthread_t ids[MAX_THREADS];

	for (int i = 0; i < nr && i < MAX_THREADS; i++)
		if (pthread_create(&ids[i], NULL, calls, (void *)n))
			err(1, "pthread_create");
	for (int i = 0; i < nr && i < MAX_THREADS; i++)
		pthread_join(ids[i], NULL);
}

static pid_t fork_child(void)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	outer();
	for (;;)
		pause();
}

static int shared_child(void *arg)
{
	calls(arg);
	return 0;
}

static void share(void)
{
	static char stack[65536] __attribute__((aligned(16)));
	pid_t pid = clone(shared_child, stack + sizeof(stack),
			  CLONE_VM | SIGCHLD, (void *)1L);

	waitpid(pid, NULL, 0);
}

static void storm(int ms)
{
	struct timespec end, now;
	pid_t pid;

	clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_sec += ms / 1000;
	end.tv_nsec += ms % 1000 * 1000000L;
	do {
		threads(4, 20);
		pid = fork();
		if (!pid) {
			threads(2, 5);
			if (getpid() % 2)
				_exit(0);
			execl("/proc/self/exe", "called", "once", NULL);
			_exit(1);
		}
		calls((void *)10L);
		waitpid(pid, NULL, 0);
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while (now.tv_sec < end.tv_sec ||
		 (now.tv_sec == end.tv_sec && now.tv_nsec < end.tv_nsec));
}

static void library(const char *path, const char *name)
{
	void *handle = dlopen(path, RTLD_NOW);
	double (*function)(double number) = NULL;

	if (handle)
		*(void **)&function = dlsym(handle, name);
	if (function)
		function(27);
	printf("%lx\n", (unsigned long)function);
}

static void command(const char *line)
{
	char path[128], name[128];
	static pid_t child;
	long n = 1, nr = 1;

	if (sscanf(line, "call %ld", &n) == 1) {
		calls((void *)n);
		report();
	} else if (sscanf(line, "threads %ld %ld", &nr, &n) == 2) {
		threads((int)nr, n);
		puts("ok");
	} else if (sscanf(line, "thread %ld", &n) == 1) {
		thread(n);
	} else if (!strcmp(line, "fork")) {
		child = fork_child();
		printf("%d\n", child);
	} else if (!strcmp(line, "share")) {
		share();
		puts("ok");
	} else if (!strcmp(line, "reap")) {
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
		puts("ok");
	} else if (sscanf(line, "library %127s %127s", path, name) == 2) {
		library(path, name);
	} else if (!strcmp(line, "exec")) {
		execl("/proc/self/exe", "called", NULL);
	} else if (sscanf(line, "storm %ld", &n) == 1) {
		storm((int)n);
		puts("ok");
	} else {
		puts("no such command");
	}
}

int main(int argc, char **argv)
{
	char line[128];

	if (argc > 1 && !strcmp(argv[1], "once")) {
		outer();
		return 0;
	}
	setlinebuf(stdout);
	printf("%lx %lx %lx %lx\n", (unsigned long)outer, (unsigned long)middle,
	       (unsigned long)inner, (unsigned long)never);
	while (fgets(line, sizeof(line), stdin)) {
		line[strcspn(line, "\n")] = '\0';
		command(line);
	}
	return 0;
}
