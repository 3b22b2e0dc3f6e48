// SPDX-License-Identifier: GPL-2.0
/*
 * A program that is always busy, and knows how much it does: each of its
 * threads does units of work, one after the other.  In a unit work() is called
 * 400 times, or often(), which takes as long, a thousand instructions; seldom()
 * four times; and rare() once in every other.
 *
 *   busy THREADS
 *
 * It says first: the address that the call of the wait returns to, the distance
 * from SP at the system call to the slot of that address; how far up the stack
 * that slot is from SP at the entry of the functions, plus 4096; and the
 * addresses of often(), seldom() and rare().  Then it takes lines:
 *
 *   hot | cool      often() is called, or work()
 *   rest US         sleep so long after each unit; 0 for not at all
 *   count MS        how often often() or work() was called in about this time,
 *                   and the time, ns
 */

#include <err.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { MAX_THREADS = 256, CALLS = 400, SELDOM = 4, TURNS = 480, RISE = 4096 };

#define NOINLINE __attribute__((noinline))

/* What a thread has done, on a line of its own. */
static struct counter {
	uint64_t units;
	_Atomic uint64_t calls; /* of those of a thousand instructions */
	char pad[48];
} counters[MAX_THREADS];

static int nr_threads, ready;
static _Atomic int is_hot, rest_us;
static uint64_t return_address, distance, slot, entry;
static volatile uint64_t sink;

static inline void turn(void)
{
	uint64_t turns = TURNS;

	__asm__ volatile("1: dec %0; jnz 1b" : "+r"(turns) : : "cc");
}

/* As real functions begin. */
#define FUNCTION(name)                          \
	NOINLINE void name(void);               \
	NOINLINE void name(void)                \
	{                                       \
		__asm__ volatile("" ::: "rbx"); \
		turn();                         \
	}

FUNCTION(work)
FUNCTION(often)
FUNCTION(seldom)
FUNCTION(rare)

static NOINLINE void note_entry(void)
{
	entry = (uint64_t)__builtin_dwarf_cfa() - 8;
}

/* There is always something. */
static NOINLINE void wait_here(void)
{
	struct pollfd fd = { .fd = ready, .events = POLLIN };
	uint64_t sp, ret;

	__asm__ volatile("mov %%rsp, %1\n\t"
			 "syscall"
			 : "=a"(ret), "=&r"(sp)
			 : "a"(SYS_poll), "D"(&fd), "S"(1L), "d"(0L)
			 : "rcx", "r11", "memory");
	return_address = (uint64_t)__builtin_return_address(0);
	slot = (uint64_t)__builtin_dwarf_cfa() - 8;
	distance = slot - sp;
}

static NOINLINE void unit(struct counter *counter)
{
	uint64_t number = counter->units++;

	wait_here();
	if (!number)
		note_entry();
	for (int i = 0; i < CALLS; i++) {
		if (is_hot)
			often();
		else
			work();
		atomic_fetch_add_explicit(&counter->calls, 1, memory_order_relaxed);
	}
	for (int i = 0; i < SELDOM; i++)
		seldom();
	if (number % 2 == 0)
		rare();
	__asm__ volatile("" ::: "memory"); /* calls, no jumps */
}

static void *run(void *arg)
{
	struct counter *counter = arg;

	for (;;) {
		unit(counter);
		if (rest_us)
			usleep((useconds_t)rest_us);
	}
	return NULL;
}

static uint64_t count(void)
{
	uint64_t ret = 0;

	for (int i = 0; i < nr_threads; i++)
		ret += counters[i].calls;
	return ret;
}

static uint64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/* A moment: how much was done until when. */
struct moment {
	uint64_t ns;
	uint64_t calls;
};

static struct moment moment(void)
{
	struct moment ret = { .ns = now() };

	ret.calls = count();
	return ret;
}

static void command(const char *line)
{
	struct moment start, end;
	int number;

	if (!strcmp(line, "hot")) {
		is_hot = 1;
		puts("ok");
	} else if (!strcmp(line, "cool")) {
		is_hot = 0;
		puts("ok");
	} else if (sscanf(line, "rest %d", &number) == 1) {
		rest_us = number;
		puts("ok");
	} else if (sscanf(line, "count %d", &number) == 1) {
		start = moment();
		usleep((useconds_t)number * 1000);
		end = moment();
		printf("%llu %llu\n", (unsigned long long)(end.calls - start.calls),
		       (unsigned long long)(end.ns - start.ns));
	} else {
		puts("no such command");
	}
}

int main(int argc, char **argv)
{
	char line[64];
	pthread_t thread;
	int fds[2];

	if (argc != 2 || (nr_threads = atoi(argv[1])) < 1 || nr_threads > MAX_THREADS)
		errx(2, "usage: busy THREADS");
	if (pipe(fds) || write(fds[1], "", 1) != 1)
		err(1, "pipe");
	ready = fds[0];
	setlinebuf(stdout);
	unit(&counters[0]);
	printf("%lx %lu %lu %lx %lx %lx\n", (unsigned long)return_address,
	       (unsigned long)distance, (unsigned long)(slot + RISE - entry),
	       (unsigned long)often, (unsigned long)seldom, (unsigned long)rare);
	for (int i = 0; i < nr_threads; i++)
		if (pthread_create(&thread, NULL, run, &counters[i]))
			err(1, "thread");
	while (fgets(line, sizeof(line), stdin)) {
		line[strcspn(line, "\n")] = '\0';
		command(line);
	}
	return 0;
}
