// SPDX-License-Identifier: GPL-2.0
/*
 * The watched program of the tests in the VM; built stripped and without
 * frame pointers, its functions exported as those of real programs are.
 *
 *   victim serve          an event loop: one command a line on standard input,
 *                         one "ok" a line in answer; each line is one unit
 *       nothing           end the unit at once
 *       sleep MS          in sleep_here()
 *       spin MS           in spin_here(), without a system call
 *       lock MS           wait in lock_here() for a mutex that another thread
 *                         gives back after that time; 0 for never
 *       read PATH         in read_here(), with the page cache dropped
 *       both MS           in sleep_here(), then as long in spin_here()
 *       deep MS           in sleep_here(), on top of 64 KiB of stack
 *       churn MS          in churn_here(), with 16 KiB of stack that always change
 *       hole MS           in sleep_here(), on top of 28 KiB never written to, if
 *                         it is the first command
 *       held KIND MS      as lock, for a mutex of this kind: plain, recursive,
 *                         robust, pi; first printed as "held ADDRESS TID",
 *                         and at the end as "released NS" of CLOCK_MONOTONIC
 *   victim crowd N        N threads, each with such a loop; a number on
 *                         standard input, and all do a unit that sleeps so
 *                         many ms
 *   victim burn           spin for ever
 *   victim sleepers N     N threads in 16 kinds of wait, for ever; a line on
 *                         standard input wakes them; says what was wrong
 *   victim storm SECONDS  threads, forks, signals and waits, as fast as it can
 *   victim timeouts MS S  threads that wait for MS each time, by relative timeouts, for S
 *                         seconds or once; says "begun", then how many waits were
 *                         interrupted, and by how many ms the worst was too long
 */

/* ppoll() and accept4() */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <linux/futex.h>
#include <linux/io_uring.h>

#define VISIBLE __attribute__((noinline, visibility("default")))

VISIBLE void sleep_here(unsigned int ms);
VISIBLE void spin_here(unsigned int ms);
VISIBLE void lock_here(unsigned int ms);
VISIBLE void read_here(const char *path);
VISIBLE void deep_here(unsigned int ms);
VISIBLE void churn_here(unsigned int ms);
VISIBLE void hole_here(unsigned int ms);
VISIBLE void held_here(pthread_mutex_t *mutex);
VISIBLE void command(char *line);
VISIBLE int serve(void);

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

/* ---- serve ---- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_int holding;
static volatile uint64_t sink;

VISIBLE void sleep_here(unsigned int ms)
{
	struct timespec ts = { ms / 1000, ms % 1000 * 1000000L };

	nanosleep(&ts, NULL);
	sink++;
}

VISIBLE void spin_here(unsigned int ms)
{
	/* No system call: a time stamp is read without one. */
	uint64_t end = now_ns() + ms * 1000000ULL;

	while (now_ns() < end) {
		/* Nearly all of it here, and not where the time is read. */
		for (int i = 0; i < 1000; i++)
			sink++;
	}
}

static void *holder(void *argument)
{
	unsigned int ms = (uintptr_t)argument;

	pthread_mutex_lock(&lock);
	atomic_store(&holding, 1);
	if (!ms)
		pause();
	sleep_here(ms);
	pthread_mutex_unlock(&lock);
	return NULL;
}

VISIBLE void lock_here(unsigned int ms)
{
	pthread_t thread;

	atomic_store(&holding, 0);
	if (pthread_create(&thread, NULL, holder, (void *)(uintptr_t)ms))
		errx(1, "pthread_create");
	while (!atomic_load(&holding))
		sched_yield();
	pthread_mutex_lock(&lock);
	pthread_mutex_unlock(&lock);
	pthread_join(thread, NULL);
}

VISIBLE void read_here(const char *path)
{
	static char buffer[1 << 16];
	int fd = open(path, O_RDONLY);

	if (fd < 0)
		err(1, "%s", path);
	posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
	for (int i = 0; i < 16; i++)
		if (pread(fd, buffer, sizeof(buffer), i * sizeof(buffer)) <= 0)
			break;
	sink++;
	close(fd);
}

VISIBLE void deep_here(unsigned int ms)
{
	volatile char room[64 * 1024];

	for (unsigned int i = 0; i < sizeof(room); i++)
		room[i] = i;
	sleep_here(ms);
	sink += room[ms % sizeof(room)];
}

VISIBLE void churn_here(unsigned int ms)
{
	volatile uint64_t room[2048];
	uint64_t end = now_ns() + ms * 1000000ULL, turn = 0;

	do
		for (unsigned int i = 0; i < sizeof(room) / sizeof(*room); i++)
			room[i] = turn++;
	while (now_ns() < end);
	sink += room[ms % (sizeof(room) / sizeof(*room))];
}

VISIBLE void hole_here(unsigned int ms)
{
	volatile char room[28 * 1024];

	room[sizeof(room) - 1] = ms;
	sleep_here(ms);
	sink += room[sizeof(room) - 1];
}

struct held {
	pthread_mutex_t mutex;
	unsigned int ms;
	atomic_int tid;
	uint64_t released_ns;
};

static void held_init(struct held *held, const char *kind)
{
	pthread_mutexattr_t attr;

	pthread_mutexattr_init(&attr);
	if (!strcmp(kind, "recursive"))
		pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE);
	else if (!strcmp(kind, "robust"))
		pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
	else if (!strcmp(kind, "pi"))
		pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_INHERIT);
	else if (strcmp(kind, "plain"))
		errx(2, "unknown kind of mutex %s", kind);
	if (pthread_mutex_init(&held->mutex, &attr))
		errx(1, "pthread_mutex_init");
}

static void *held_hold(void *argument)
{
	struct held *held = argument;

	pthread_mutex_lock(&held->mutex);
	atomic_store(&held->tid, syscall(SYS_gettid));
	sleep_here(held->ms);
	held->released_ns = now_ns();
	pthread_mutex_unlock(&held->mutex);
	return NULL;
}

VISIBLE void held_here(pthread_mutex_t *mutex)
{
	pthread_mutex_lock(mutex);
	sink++;
	pthread_mutex_unlock(mutex);
}

static void held_command(const char *kind, unsigned int ms)
{
	struct held held = { .ms = ms };
	pthread_t thread;

	held_init(&held, kind);
	if (pthread_create(&thread, NULL, held_hold, &held))
		errx(1, "pthread_create");
	while (!atomic_load(&held.tid))
		sched_yield();
	if (dprintf(1, "held %p %d\n", (void *)&held.mutex, atomic_load(&held.tid)) < 0)
		exit(1);
	held_here(&held.mutex);
	pthread_join(thread, NULL);
	if (dprintf(1, "released %llu\n", (unsigned long long)held.released_ns) < 0)
		exit(1);
}

VISIBLE void command(char *line)
{
	char *word = strtok(line, " \n");
	char *rest = strtok(NULL, "\n");
	unsigned int ms = rest ? atoi(rest) : 0;
	char kind[16];

	if (!word || !strcmp(word, "nothing"))
		;
	else if (!strcmp(word, "sleep"))
		sleep_here(ms);
	else if (!strcmp(word, "spin"))
		spin_here(ms);
	else if (!strcmp(word, "lock"))
		lock_here(ms);
	else if (!strcmp(word, "read"))
		read_here(rest);
	else if (!strcmp(word, "both"))
		sleep_here(ms), spin_here(ms);
	else if (!strcmp(word, "deep"))
		deep_here(ms);
	else if (!strcmp(word, "churn"))
		churn_here(ms);
	else if (!strcmp(word, "hole"))
		hole_here(ms);
	else if (!strcmp(word, "held") && rest && sscanf(rest, "%15s %u", kind, &ms) == 2)
		held_command(kind, ms);
	else
		errx(2, "unknown command %s", word);
}

VISIBLE int serve(void)
{
	struct epoll_event event = { .events = EPOLLIN };
	int epoll_fd = epoll_create1(0);
	char line[4096];
	ssize_t size;

	if (epoll_ctl(epoll_fd, EPOLL_CTL_ADD, 0, &event))
		err(1, "epoll_ctl");
	for (;;) {
		while (epoll_wait(epoll_fd, &event, 1, -1) < 0)
			if (errno != EINTR)
				err(1, "epoll_wait");
		size = read(0, line, sizeof(line) - 1);
		if (size <= 0)
			return 0;
		line[size] = '\0';
		command(line);
		if (write(1, "ok\n", 3) != 3)
			return 1;
	}
}

/* ---- sleepers ---- */

struct sleeper {
	pthread_t thread;
	unsigned int kind;
	int fds[2];	/* a pipe or a socket pair to wake it by */
	int futex;
	int listen_fd;
	struct sockaddr_un address;
	char problem[80];
};

static atomic_int nr_asleep;

/* Kinds of wait; the last ones are not woken, and must not return. */
enum { FIRST_ENDLESS = 14, NR_KINDS = 16 };

static void expect(struct sleeper *sleeper, const char *call, long ret, long wanted)
{
	if (ret != wanted && !sleeper->problem[0])
		snprintf(sleeper->problem, sizeof(sleeper->problem), "%s: %ld (%s), not %ld",
			 call, ret, ret < 0 ? strerror(errno) : "", wanted);
}

static long futex_wait(int *word, const struct timespec *timeout)
{
	return syscall(SYS_futex, word, FUTEX_WAIT, 0, timeout, NULL, 0);
}

static int epoll_of(int fd)
{
	struct epoll_event event = { .events = EPOLLIN };
	int epoll_fd = epoll_create1(0);

	epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event);
	return epoll_fd;
}

/* One of the calls, until it is woken; long but finite timeouts count too. */
static void sleep_in(struct sleeper *s)
{
	const struct timespec long_time = { 600, 0 };
	struct pollfd poll_fd = { .fd = s->fds[0], .events = POLLIN };
	struct timeval select_time = { 600, 0 };
	struct epoll_event event;
	struct io_uring_params ring = { 0 };
	struct msghdr message = { 0 };
	char byte;
	fd_set set;

	FD_ZERO(&set);
	FD_SET(s->fds[0], &set);
	switch (s->kind) {
	case 0:
		expect(s, "epoll_wait", epoll_wait(epoll_of(s->fds[0]), &event, 1, -1), 1);
		break;
	case 1:
		expect(s, "epoll_wait timeout",
		       epoll_wait(epoll_of(s->fds[0]), &event, 1, 600000), 1);
		break;
	case 2:
		expect(s, "epoll_pwait",
		       epoll_pwait(epoll_of(s->fds[0]), &event, 1, -1, NULL), 1);
		break;
	case 3:
		expect(s, "poll", poll(&poll_fd, 1, -1), 1);
		break;
	case 4:
		expect(s, "ppoll", ppoll(&poll_fd, 1, &long_time, NULL), 1);
		break;
	case 5:
		expect(s, "select", select(s->fds[0] + 1, &set, NULL, NULL, &select_time), 1);
		break;
	case 6:
		expect(s, "pselect", pselect(s->fds[0] + 1, &set, NULL, NULL, NULL, NULL), 1);
		break;
	case 7:
		expect(s, "futex", futex_wait(&s->futex, NULL), 0);
		break;
	case 8:
		expect(s, "futex timeout", futex_wait(&s->futex, &long_time), 0);
		break;
	case 9:
		expect(s, "read", read(s->fds[0], &byte, 1), 1);
		break;
	case 10:
		expect(s, "recv", recv(s->fds[0], &byte, 1, 0), 1);
		break;
	case 11:
		message.msg_iov = &(struct iovec) { &byte, 1 };
		message.msg_iovlen = 1;
		expect(s, "recvmsg", recvmsg(s->fds[0], &message, 0), 1);
		break;
	case 12:
		expect(s, "accept", accept(s->listen_fd, NULL, NULL) >= 0, 1);
		break;
	case 13:
		expect(s, "accept4", accept4(s->listen_fd, NULL, NULL, SOCK_CLOEXEC) >= 0, 1);
		break;
	case 14:
		/* Nothing but time ends it; it must not end before that. */
		expect(s, "nanosleep", nanosleep(&(struct timespec) { 600, 0 }, NULL), 0);
		break;
	case 15:
		/* Nothing was submitted, so nothing ever completes. */
		expect(s, "io_uring_enter",
		       syscall(SYS_io_uring_enter, syscall(SYS_io_uring_setup, 4, &ring), 0, 1,
			       IORING_ENTER_GETEVENTS, NULL, 0), 0);
		break;
	}
}

static void *sleeper_run(void *argument)
{
	atomic_fetch_add(&nr_asleep, 1);
	sleep_in(argument);
	return NULL;
}

static void sleeper_start(struct sleeper *s, unsigned int i)
{
	s->kind = i % NR_KINDS;
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, s->fds))
		err(1, "socketpair");
	if (s->kind == 12 || s->kind == 13) {
		s->listen_fd = socket(AF_UNIX, SOCK_STREAM, 0);
		s->address.sun_family = AF_UNIX;
		snprintf(s->address.sun_path + 1, sizeof(s->address.sun_path) - 1,
			 "victim-%d-%u", getpid(), i);
		if (bind(s->listen_fd, (struct sockaddr *)&s->address, sizeof(s->address)) ||
		    listen(s->listen_fd, 1))
			err(1, "listen");
	}
	if (pthread_create(&s->thread, NULL, sleeper_run, s))
		errx(1, "pthread_create");
}

static void sleeper_wake(struct sleeper *s)
{
	if (s->kind == 7 || s->kind == 8)
		syscall(SYS_futex, &s->futex, FUTEX_WAKE, 1, NULL, NULL, 0);
	else if (s->kind == 12 || s->kind == 13)
		connect(socket(AF_UNIX, SOCK_STREAM, 0), (struct sockaddr *)&s->address,
			sizeof(s->address));
	else if (write(s->fds[1], "x", 1) != 1)
		err(1, "write");
}

static int sleepers(unsigned int nr)
{
	struct sleeper *all = calloc(nr, sizeof(*all));
	unsigned int bad = 0;
	char line[16];

	for (unsigned int i = 0; i < nr; i++)
		sleeper_start(&all[i], i);
	while (atomic_load(&nr_asleep) < (int)nr)
		usleep(1000);
	usleep(200000);
	puts("asleep");
	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin))
		return 1;
	for (unsigned int i = 0; i < nr; i++)
		if (all[i].kind < FIRST_ENDLESS)
			sleeper_wake(&all[i]);
	for (unsigned int i = 0; i < nr; i++) {
		if (all[i].kind < FIRST_ENDLESS)
			pthread_join(all[i].thread, NULL);
		if (all[i].problem[0]) {
			printf("thread %u: %s\n", i, all[i].problem);
			bad++;
		}
	}
	printf("bad %u\n", bad);
	fflush(stdout);
	_exit(bad != 0);
}

/* ---- crowd ---- */

static atomic_uint crowd_ms;

static void *crowd_member(void *argument)
{
	struct epoll_event event;
	int *fd = argument;
	int epoll_fd = epoll_of(*fd);
	uint64_t value;

	for (;;) {
		if (epoll_wait(epoll_fd, &event, 1, -1) != 1)
			continue;
		if (read(*fd, &value, sizeof(value)) != sizeof(value))
			errx(1, "read");
		sleep_here(atomic_load(&crowd_ms));
	}
	return NULL;
}

static int crowd(unsigned int nr)
{
	int *fds = calloc(nr, sizeof(*fds));
	const uint64_t one = 1;
	pthread_t thread;
	char line[16];

	for (unsigned int i = 0; i < nr; i++) {
		fds[i] = eventfd(0, 0);
		if (pthread_create(&thread, NULL, crowd_member, &fds[i]))
			errx(1, "pthread_create");
	}
	while (fgets(line, sizeof(line), stdin)) {
		atomic_store(&crowd_ms, atoi(line));
		for (unsigned int i = 0; i < nr; i++)
			if (write(fds[i], &one, sizeof(one)) != sizeof(one))
				err(1, "write");
		puts("ok");
		fflush(stdout);
	}
	_exit(0);
}

/* ---- storm ---- */

static uint64_t storm_end;
static atomic_ulong storm_bad;

static void on_signal(int number)
{
	(void)number;
}

/* Pass a token back and forth; every round waits in another call. */
static void *storm_pair(void *argument)
{
	int *fds = argument;
	struct pollfd poll_fd = { .fd = fds[0], .events = POLLIN };
	int epoll_fd = epoll_of(fds[0]);
	struct epoll_event event;
	uint64_t one = 1, value;
	int ret = 0;

	for (unsigned int round = 0; now_ns() < storm_end; round++) {
		if (write(fds[1], &one, sizeof(one)) != sizeof(one))
			atomic_fetch_add(&storm_bad, 1);
		do {
			ret = round % 2 ? poll(&poll_fd, 1, 1000) :
					  epoll_wait(epoll_fd, &event, 1, 1000);
		} while (ret < 0 && errno == EINTR);
		if (ret == 1 && read(fds[0], &value, sizeof(value)) != sizeof(value))
			atomic_fetch_add(&storm_bad, 1);
		if (ret < 0)
			atomic_fetch_add(&storm_bad, 1);
	}
	return NULL;
}

/* Children that wait, execute, exit or are killed. */
static void *storm_forks(void *argument)
{
	(void)argument;
	for (unsigned int round = 0; now_ns() < storm_end; round++) {
		pid_t child = fork();

		if (!child) {
			if (round % 4 == 0)
				execl("/bin/true", "true", NULL);
			if (round % 4 == 1)
				pause();
			usleep(1000);
			_exit(0);
		}
		if (round % 4 == 1)
			kill(child, SIGKILL);
		while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
			;
		usleep(3000);
	}
	return NULL;
}

static void *storm_leaf(void *argument)
{
	(void)argument;
	usleep(500);
	return NULL;
}

static void *storm_threads(void *argument)
{
	pthread_t thread;

	(void)argument;
	while (now_ns() < storm_end)
		if (!pthread_create(&thread, NULL, storm_leaf, NULL))
			pthread_join(thread, NULL);
	return NULL;
}

static int storm(unsigned int seconds)
{
	struct sigaction action = { .sa_handler = on_signal };
	pthread_t threads[4];
	int fds[2][2];

	sigaction(SIGUSR1, &action, NULL);
	action.sa_flags = SA_RESTART;
	sigaction(SIGUSR2, &action, NULL);
	storm_end = now_ns() + seconds * 1000000000ULL;
	for (int i = 0; i < 2; i++) {
		fds[i][0] = eventfd(0, 0);
		fds[i][1] = fds[i][0];
		pthread_create(&threads[i], NULL, storm_pair, fds[i]);
	}
	pthread_create(&threads[2], NULL, storm_forks, NULL);
	pthread_create(&threads[3], NULL, storm_threads, NULL);
	for (unsigned int round = 0; now_ns() < storm_end; round++) {
		usleep(2000);
		pthread_kill(threads[round % 2], round % 4 < 2 ? SIGUSR1 : SIGUSR2);
	}
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	printf("bad %lu\n", atomic_load(&storm_bad));
	return atomic_load(&storm_bad) != 0;
}

/* ---- timeouts ---- */

enum { BY_POLL, BY_SELECT, BY_NANOSLEEP, BY_FUTEX, BY_EPOLL, NR_BY, TIMERS = 8 * NR_BY };

static unsigned int timeout_ms;
static atomic_ulong interrupted, overrun_ms;

/* Wait in vain; false if that was interrupted. */
static int wait_in_vain(int by, int epoll_fd)
{
	struct timeval tv = { timeout_ms / 1000, timeout_ms % 1000 * 1000L };
	struct timespec ts = { timeout_ms / 1000, timeout_ms % 1000 * 1000000L };
	struct epoll_event event;
	uint32_t word = 0;
	int ret = -1;

	switch (by) {
	case BY_POLL: ret = poll(NULL, 0, (int)timeout_ms); break;
	case BY_SELECT: ret = select(0, NULL, NULL, NULL, &tv); break;
	case BY_NANOSLEEP: ret = nanosleep(&ts, NULL); break;
	case BY_FUTEX: ret = syscall(SYS_futex, &word, FUTEX_WAIT, 0, &ts, NULL, 0); break;
	case BY_EPOLL: ret = epoll_wait(epoll_fd, &event, 1, (int)timeout_ms); break;
	}
	return ret == 0 || errno == ETIMEDOUT;
}

static void raise_to(atomic_ulong *maximum, unsigned long value)
{
	unsigned long old = atomic_load(maximum);

	while (old < value && !atomic_compare_exchange_weak(maximum, &old, value))
		;
}

static void *timer(void *argument)
{
	int by = (int)(uintptr_t)argument, epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	uint64_t begun, ms;

	do {
		begun = now_ns();
		if (!wait_in_vain(by, epoll_fd))
			atomic_fetch_add(&interrupted, 1);
		ms = (now_ns() - begun) / 1000000;
		/* What epoll_wait has left cannot be known once it is woken. */
		if (by != BY_EPOLL && ms > timeout_ms)
			raise_to(&overrun_ms, ms - timeout_ms);
	} while (now_ns() < storm_end);
	close(epoll_fd);
	return NULL;
}

static int timeouts(unsigned int ms, unsigned int seconds)
{
	pthread_t threads[TIMERS];

	timeout_ms = ms;
	storm_end = now_ns() + seconds * 1000000000ULL;
	for (uintptr_t i = 0; i < TIMERS; i++)
		if (pthread_create(&threads[i], NULL, timer, (void *)(i % NR_BY)))
			err(1, "thread");
	puts("begun");
	fflush(stdout);
	for (int i = 0; i < TIMERS; i++)
		pthread_join(threads[i], NULL);
	printf("%lu %lu\n", atomic_load(&interrupted), atomic_load(&overrun_ms));
	return 0;
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";
	unsigned int number = argc > 2 ? atoi(argv[2]) : 0;

	if (!strcmp(mode, "serve"))
		return serve();
	if (!strcmp(mode, "burn"))
		for (;;)
			sink++;
	if (!strcmp(mode, "crowd"))
		return crowd(number);
	if (!strcmp(mode, "sleepers"))
		return sleepers(number);
	if (!strcmp(mode, "storm"))
		return storm(number);
	if (!strcmp(mode, "timeouts"))
		return timeouts(number, argc > 3 ? atoi(argv[3]) : 0);
	fprintf(stderr, "usage: victim serve|crowd N|burn|sleepers N|storm SECONDS|"
		"timeouts MS S\n");
	return 2;
}
