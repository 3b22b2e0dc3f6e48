// SPDX-License-Identifier: GPL-2.0
/*
 * A server with one event loop, whose clients say how long it takes to answer them.
 *
 * usage: service WHERE PEER
 *
 * Both are ports of 127.0.0.1, paths or, with an '@' before it, abstract names of local sockets, by
 * which whoever listens says "hi\n" first.  A client sends lines, one at a time:
 *
 *	compute US	compute so long, then answer
 *	ask US		ask the peer to answer that much later, by a connection of this
 *			client's own, and answer when it has
 *	ask US WORK	the same, but compute for WORK us before
 *	relay US	the same, but let the peer ask its own one
 *	calls NR	call so many functions that call another one, then answer
 *	halves US	compute so long, then answer by two writes, without TCP_NODELAY
 *	silent US	compute so long, and do not answer
 *	signal US	answer when somebody sends SIGURG
 *	pool US		let a thread of a pool compute so long, then answer
 *	poolask US	let a thread of a pool ask the peer, wait for it, then answer
 *	poolwho US	as pool, and answer with the threads that gave the work, and had it
 *
 * The peer is sent "US\n", or "ask US\n", and answers a line.  Every answer is "ok\n".
 */
#include <arpa/inet.h>
#include <err.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "compute.h"

enum { MAX_FDS = 1024, LINE_MAX_BYTES = 64, NR_WORKERS = 2 };

struct job {
	int client;
	long us;
	bool asks;
	bool says_who;
	int giver, worker; /* thread ids */
	struct job *next;
};

/* Those that wait for a thread, and those that wait for the loop. */
static struct job *first_job, **last_job = &first_job, *done_jobs;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t has_job = PTHREAD_COND_INITIALIZER;
static int bell;

static int other[MAX_FDS]; /* of a client its peer, and the reverse; 0: none */
static bool is_peer[MAX_FDS];
static int epoll;
static const char *where, *peer_where;

static bool is_local(const char *name)
{
	return *name == '/' || *name == '@';
}

/* A socket that is not connected yet, and the address that the name stands for. */
static int make_socket(const char *name, struct sockaddr_storage *address, socklen_t *length)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(name)),
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	int fd = socket(is_local(name) ? AF_UNIX : AF_INET, SOCK_STREAM, 0);

	if (fd < 0)
		err(1, "socket");
	if (!is_local(name)) {
		*length = sizeof(in);
		memcpy(address, &in, sizeof(in));
		return fd;
	}
	snprintf(un.sun_path, sizeof(un.sun_path), "%s", name);
	if (*name == '@')
		un.sun_path[0] = 0;
	*length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(name));
	memcpy(address, &un, sizeof(un));
	return fd;
}

static noinline void say(int fd, const char *text)
{
	if (write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		warn("write");
}

static void follow(int fd)
{
	struct epoll_event event = { .events = EPOLLIN, .data.fd = fd };

	if (fd >= MAX_FDS || epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event))
		err(1, "connection");
	other[fd] = 0;
	is_peer[fd] = false;
}

static int connect_peer(void)
{
	struct sockaddr_storage to;
	socklen_t length;
	int fd = make_socket(peer_where, &to, &length);
	char hi[3];

	if (connect(fd, (struct sockaddr *)&to, length))
		err(1, "peer");
	if (is_local(peer_where) && read(fd, hi, sizeof(hi)) != sizeof(hi))
		errx(1, "the peer does not say hi");
	return fd;
}

static noinline void ask(int client, const char *what, long us)
{
	char line[LINE_MAX_BYTES];
	int fd = other[client];

	if (!fd) {
		fd = connect_peer();
		follow(fd);
		is_peer[fd] = true;
		other[fd] = client;
		other[client] = fd;
	}
	snprintf(line, sizeof(line), "%s%ld\n", what, us);
	say(fd, line);
}

static noinline void work(const struct job *job, int peer)
{
	char line[LINE_MAX_BYTES];

	if (!job->asks) {
		compute(job->us);
		return;
	}
	snprintf(line, sizeof(line), "%ld\n", job->us);
	say(peer, line);
	if (read(peer, line, sizeof(line)) <= 0)
		err(1, "peer");
}

static noinline struct job *take_job(void)
{
	struct job *job;

	pthread_mutex_lock(&lock);
	while (!first_job)
		pthread_cond_wait(&has_job, &lock);
	job = first_job;
	first_job = job->next;
	if (!first_job)
		last_job = &first_job;
	pthread_mutex_unlock(&lock);
	return job;
}

static void *worker(void *unused)
{
	uint64_t one = 1;
	int peer = connect_peer();
	struct job *job;

	(void)unused;
	for (;;) {
		job = take_job();
		job->worker = gettid();
		work(job, peer);
		pthread_mutex_lock(&lock);
		job->next = done_jobs;
		done_jobs = job;
		pthread_mutex_unlock(&lock);
		if (write(bell, &one, sizeof(one)) != sizeof(one))
			err(1, "bell");
	}
	return NULL;
}

static noinline void hand_over(int client, long us, const char *word)
{
	struct job *job = malloc(sizeof(*job));

	if (!job)
		errx(1, "no memory");
	*job = (struct job){ .client = client, .us = us, .asks = !strcmp(word, "poolask"),
			     .says_who = !strcmp(word, "poolwho"), .giver = gettid() };
	pthread_mutex_lock(&lock);
	*last_job = job;
	last_job = &job->next;
	pthread_mutex_unlock(&lock);
	pthread_cond_signal(&has_job);
}

static noinline void say_done(const struct job *job)
{
	char line[LINE_MAX_BYTES];

	snprintf(line, sizeof(line), "%d %d\n", job->giver, job->worker);
	say(job->client, job->says_who ? line : "ok\n");
}

static noinline void finish_jobs(void)
{
	struct job *job, *next;
	uint64_t nr;

	if (read(bell, &nr, sizeof(nr)) != sizeof(nr))
		err(1, "bell");
	pthread_mutex_lock(&lock);
	job = done_jobs;
	done_jobs = NULL;
	pthread_mutex_unlock(&lock);
	for (; job; job = next) {
		next = job->next;
		say_done(job);
		free(job);
	}
}

static void start_pool(void)
{
	pthread_t thread;

	bell = eventfd(0, 0);
	if (bell < 0)
		err(1, "eventfd");
	follow(bell);
	for (int i = 0; i < NR_WORKERS; i++)
		if (pthread_create(&thread, NULL, worker, NULL))
			errx(1, "no thread");
}

/* Somebody will send a signal for it. */
static int signals, waits_for_signal;

static void start_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGURG);
	/* Threads that are started later have it blocked, too. */
	sigprocmask(SIG_BLOCK, &set, NULL);
	signals = signalfd(-1, &set, SFD_NONBLOCK);
	if (signals < 0)
		err(1, "signalfd");
	follow(signals);
}

static void take_signal(void)
{
	struct signalfd_siginfo info;

	if (read(signals, &info, sizeof(info)) == sizeof(info) && waits_for_signal)
		say(waits_for_signal, "ok\n");
	waits_for_signal = 0;
}

/* It is answered later: by the time that the loop's wait is given, or by a timer's descriptor. */
static int pauses, pause_ms = -1, timer, waits_for_timer;

static void start_timer(void)
{
	timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
	if (timer < 0)
		err(1, "timerfd");
	follow(timer);
}

static void pause_by_wait(int fd, long us)
{
	pauses = fd;
	pause_ms = us / 1000;
}

static void end_pause(void)
{
	pause_ms = -1;
	say(pauses, "ok\n");
}

static void pause_by_timer(int fd, long us)
{
	const struct itimerspec at = { .it_value = { us / 1000000, us % 1000000 * 1000 } };

	waits_for_timer = fd;
	timerfd_settime(timer, 0, &at, NULL);
}

static void take_timer(void)
{
	uint64_t nr;

	if (read(timer, &nr, sizeof(nr)) == sizeof(nr))
		say(waits_for_timer, "ok\n");
}

static void hang_up(int fd)
{
	if (!is_peer[fd] && other[fd])
		close(other[fd]);
	close(fd);
}

static volatile unsigned int sum;

static noinline void add_one(void)
{
	sum++;
}

static noinline void call_one(void)
{
	add_one();
	sum ^= 1;
}

static noinline void call_each(long nr)
{
	while (nr--)
		call_one();
}

static noinline void serve(int fd)
{
	char line[LINE_MAX_BYTES], word[LINE_MAX_BYTES];
	ssize_t len = read(fd, line, sizeof(line) - 1);
	long us, before = 0;

	if (len <= 0) {
		hang_up(fd);
		return;
	}
	line[len] = 0;
	if (is_peer[fd]) {
		say(other[fd], "ok\n");
		return;
	}
	/* As a peer it is sent the time alone. */
	if (sscanf(line, "%ld", &us) == 1)
		strcpy(word, "compute");
	else if (sscanf(line, "%63s %ld %ld", word, &us, &before) < 2)
		errx(1, "what is '%s'?", line);
	if (!strcmp(word, "ask")) {
		compute(before);
		ask(fd, "", us);
		return;
	}
	if (!strcmp(word, "relay")) {
		ask(fd, "ask ", us);
		return;
	}
	if (!strcmp(word, "signal")) {
		waits_for_signal = fd;
		return;
	}
	if (!strcmp(word, "pause") || !strcmp(word, "timer")) {
		*word == 'p' ? pause_by_wait(fd, us) : pause_by_timer(fd, us);
		return;
	}
	if (!strncmp(word, "pool", 4)) {
		hand_over(fd, us, word);
		return;
	}
	if (!strcmp(word, "calls")) {
		call_each(us);
		say(fd, "ok\n");
		return;
	}
	compute(us);
	if (!strcmp(word, "compute")) {
		say(fd, "ok\n");
	} else if (!strcmp(word, "halves")) {
		say(fd, "o");
		say(fd, "k\n");
	}
}

static void welcome(int fd)
{
	follow(fd);
	if (is_local(where))
		say(fd, "hi\n");
}

int main(int argc, char **argv)
{
	struct sockaddr_storage at;
	struct epoll_event event;
	int listener, ready, one = 1;
	socklen_t length;

	if (argc != 3)
		errx(2, "usage: service WHERE PEER");
	where = argv[1];
	peer_where = argv[2];
	/* Who only tries whether it is there does not wait for what is said. */
	signal(SIGPIPE, SIG_IGN);
	epoll = epoll_create1(0);
	listener = make_socket(where, &at, &length);
	setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (epoll < 0 || bind(listener, (struct sockaddr *)&at, length) || listen(listener, 64))
		err(1, "listen");
	follow(listener);
	start_signals();
	start_timer();
	start_pool();
	while ((ready = epoll_wait(epoll, &event, 1, pause_ms)) >= 0) {
		if (!ready)
			end_pause();
		else if (event.data.fd == listener)
			welcome(accept(listener, NULL, NULL));
		else if (event.data.fd == timer)
			take_timer();
		else if (event.data.fd == bell)
			finish_jobs();
		else if (event.data.fd == signals)
			take_signal();
		else
			serve(event.data.fd);
	}
	err(1, "epoll_wait");
}
