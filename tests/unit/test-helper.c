// SPDX-License-Identifier: GPL-2.0
/*
 * A helper that is in the hands of the file it reads: what it can reach, how long it
 * may take, and how much memory.
 */

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "binary/helper/confine.h"
#include "binary/helper/helper.h"
#include "tap.h"

/* What a helper found out about itself. */
struct findings {
	int opens; /* errno of each, 0 if it worked */
	int connects;
	int forks;
	int kills;
	int makes_code;
	int writes_file;
	int raises_limit;
	int nr_descriptors;
	uint64_t memory; /* bytes it could get */
};

/* CPU time of helpers that have ended: other load of the machine does not count. */
static double helpers_s(void)
{
	struct rusage usage;

	getrusage(RUSAGE_CHILDREN, &usage);
	return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
	       (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
}

static double now_s(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

static void reply(const void *message, size_t size)
{
	struct iovec part = { (void *)message, size };
	const struct msghdr header = { .msg_iov = &part, .msg_iovlen = 1 };

	(void)!sendmsg(CONFINE_SOCKET, &header, 0);
}

static int error_of(long result)
{
	return result < 0 ? errno : 0;
}

static uint64_t take_memory(void)
{
	enum { STEP = 1 << 20 };
	uint64_t got = 0;

	while (got < 4096ull * STEP &&
	       mmap(NULL, STEP, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) !=
		       MAP_FAILED)
		got += STEP;
	return got;
}

/* @arg: the process id of the parent. */
static void find_out(void *arg)
{
	struct findings found = { .nr_descriptors = 0 };
	const struct rlimit more = { RLIM_INFINITY, RLIM_INFINITY };
	char byte = 'x';

	found.opens = error_of(open("/etc/passwd", O_RDONLY));
	found.connects = error_of(socket(AF_INET, SOCK_STREAM, 0));
	found.forks = error_of(syscall(SYS_fork));
	found.kills = error_of(kill(*(pid_t *)arg, SIGKILL));
	found.makes_code = error_of((long)mmap(NULL, 4096, PROT_READ | PROT_EXEC,
					       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	found.writes_file = error_of(write(CONFINE_FILE, &byte, 1));
	found.raises_limit = error_of(setrlimit(RLIMIT_AS, &more));
	for (int fd = 0; fd < 1024; fd++)
		found.nr_descriptors += fcntl(fd, F_GETFD) >= 0;
	found.memory = take_memory();
	reply(&found, sizeof(found));
}

static void spin(void *arg)
{
	(void)arg;
	for (;;)
		getppid();
}

static void wait_forever(void *arg)
{
	char byte;

	(void)arg;
	(void)!read(CONFINE_SOCKET, &byte, 1);
}

static void say_too_much(void *arg)
{
	char bytes[8192] = { 0 };

	(void)arg;
	reply(bytes, sizeof(bytes));
}

static void end(void *arg)
{
	(void)arg;
}

static void test_confined(int file)
{
	struct findings found = { .opens = 0 };
	struct helper helper;
	pid_t self = getpid();

	ok(!helper_start(&helper, file, 10, find_out, &self) &&
	   helper_receive(&helper, &found, sizeof(found)) == sizeof(found), "a helper answers");
	ok(found.opens && found.connects && found.writes_file,
	   "it can open no file, connect to nobody, and write no file");
	ok(found.forks && found.kills, "it starts no process and signals none");
	ok(found.makes_code && found.raises_limit, "it makes no code and keeps its limits");
	ok(found.nr_descriptors == 5, "it has its file, its socket and /dev/null");
	ok(found.memory > 300ull << 20 && found.memory <= 512ull << 20,
	   "it gets at most 512 MiB of memory");
	diag("%d descriptors, %llu MiB", found.nr_descriptors,
	     (unsigned long long)(found.memory >> 20));
	helper_stop(&helper);
}

static void test_late(int file, helper_main *main, double most_cpu_s, const char *name)
{
	struct helper helper;
	double start = now_s(), cpu_start = helpers_s();
	char bytes[64];
	ssize_t received = 0;
	pid_t pid = 0;

	if (!helper_start(&helper, file, 10, main, NULL)) {
		pid = helper.pid;
		received = helper_receive(&helper, bytes, sizeof(bytes));
	}
	ok(received == -EIO && !helper.pid && now_s() - start < 6 && kill(pid, 0) &&
	   errno == ESRCH && helpers_s() - cpu_start < most_cpu_s, "%s is killed", name);
	diag("%.2f s, CPU %.2f s", now_s() - start, helpers_s() - cpu_start);
	helper_stop(&helper);
}

/* ^C, as verbs have it: blocked, and read later. */
static void test_interrupt(int file)
{
	struct helper helper = { .pid = 0 };
	double start = now_s();
	ssize_t received = 0;
	sigset_t set, old;
	char bytes[64];
	int number;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigprocmask(SIG_BLOCK, &set, &old);
	if (!helper_start(&helper, file, 10, spin, NULL)) {
		raise(SIGINT);
		received = helper_receive(&helper, bytes, sizeof(bytes));
	}
	ok(received == -EINTR && !helper.pid && now_s() - start < 1,
	   "a signal that ends us is not kept waiting");
	sigwait(&set, &number);
	sigprocmask(SIG_SETMASK, &old, NULL);
}

/* When it is asked. */
static void answer(void *arg)
{
	wait_forever(arg);
	reply("late", 5);
}

/* A helper cannot sleep by itself. */
static void ask_late(const struct helper *helper)
{
	const struct timespec most = { .tv_sec = 2, .tv_nsec = 500000000 };

	if (fork())
		return;
	nanosleep(&most, NULL);
	_exit(send(helper->socket, "", 1, 0) != 1);
}

static double begin_s, first_s; /* of what is printed */
static char first[64];

static void take_line(enum log_level level, const char *line)
{
	if (level != LOG_LEVEL_PROGRESS || first[0])
		return;
	first_s = now_s() - begin_s;
	snprintf(first, sizeof(first), "%s", line);
}

/* Nobody is to wait for two seconds without knowing what for. */
static void test_named(int file)
{
	struct helper helper;
	ssize_t received = 0;
	char bytes[64];

	log_set_writer(take_line, true);
	begin_s = now_s();
	if (!helper_start(&helper, file, 10, answer, NULL)) {
		ask_late(&helper);
		received = helper_receive(&helper, bytes, sizeof(bytes));
	}
	ok(received == 5 && first_s > 0 && first_s < 2 &&
	   !strncmp(first, "reading files of programs: ", 27), "that one is waited for is said");
	diag("after %.2f s: %s", first_s, first);
	log_set_writer(NULL, false);
	helper_stop(&helper);
}

int main(void)
{
	int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	plan(12);
	test_confined(file);
	test_late(file, spin, 2.2, "one that computes for ever");
	test_late(file, wait_forever, 1, "one that waits for ever");
	test_late(file, say_too_much, 1, "one that says too much");
	test_late(file, end, 1, "one that ends");
	test_interrupt(file);
	test_named(file);
	return tap_status();
}
