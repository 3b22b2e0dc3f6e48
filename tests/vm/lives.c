// SPDX-License-Identifier: GPL-2.0
/*
 * A server without an event loop for its requests: a thread, or a process, for each; built
 * as victim is.
 *
 *   lives serve PORT HOW   accept connections; each has one request, which is done by
 *       given              a thread that gets it when it starts
 *       reads              a thread that reads it
 *       forks              a process that reads it
 *   lives load PORT NUMBER TYPES   so many requests, one after the other, of the first
 *                          TYPES types in turn; prints how many were answered
 *   lives ask PORT TYPE MS one request, which spins so long as well
 */

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <err.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* A function of its own, which the program exports. */
#define NOINLINE __attribute__((noinline))

enum { NR_TYPES = 3 };

struct request {
	uint32_t type;
	uint32_t ms; /* to spin */
};

struct job {
	int fd;
	bool is_read;
	struct request request;
};

void turn(uint32_t turns);
void spin_long(uint32_t ms);
void work_small(void);
void work_double(void);
void work_large(void);
void answer(int fd);
void do_request(const struct request *request);
bool read_request(int fd, struct request *request);
void do_job(struct job *job);
void *handle(void *arg);
void start_thread(struct job *job);
void start_process(struct job *job);

static volatile uint64_t sink;

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

NOINLINE void turn(uint32_t turns)
{
	for (uint32_t i = 0; i < turns; i++)
		sink += i;
}

NOINLINE void spin_long(uint32_t ms)
{
	uint64_t end = now_ns() + (uint64_t)ms * 1000000;

	while (now_ns() < end)
		turn(1000);
}

NOINLINE void work_small(void)
{
	turn(2000);
}

NOINLINE void work_double(void)
{
	turn(15000);
	work_small();
}

NOINLINE void work_large(void)
{
	turn(40000);
}

NOINLINE void answer(int fd)
{
	if (write(fd, "ok\n", 3) != 3)
		warn("write");
	close(fd);
}

NOINLINE void do_request(const struct request *request)
{
	static void (*const works[NR_TYPES])(void) = { work_small, work_double, work_large };

	works[request->type % NR_TYPES]();
	if (request->ms)
		spin_long(request->ms);
}

NOINLINE bool read_request(int fd, struct request *request)
{
	return read(fd, request, sizeof(*request)) == sizeof(*request);
}

NOINLINE void do_job(struct job *job)
{
	if (job->is_read || read_request(job->fd, &job->request))
		do_request(&job->request);
	answer(job->fd);
}

NOINLINE void *handle(void *arg)
{
	do_job(arg);
	free(arg);
	return NULL;
}

NOINLINE void start_thread(struct job *job)
{
	pthread_attr_t attr;
	pthread_t thread;

	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	if (pthread_create(&thread, &attr, handle, job))
		errx(1, "no thread");
	pthread_attr_destroy(&attr);
}

NOINLINE void start_process(struct job *job)
{
	pid_t child = fork();

	if (child < 0)
		err(1, "fork");
	if (!child) {
		do_job(job);
		_exit(0);
	}
	close(job->fd);
	free(job);
}

static struct sockaddr_in address_of(uint16_t port)
{
	return (struct sockaddr_in){
		.sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
}

static int listen_at(uint16_t port)
{
	struct sockaddr_in address = address_of(port);
	int fd = socket(AF_INET, SOCK_STREAM, 0), one = 1;

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(fd, (struct sockaddr *)&address, sizeof(address)) || listen(fd, 64))
		err(1, "port %u", port);
	return fd;
}

static void serve(uint16_t port, const char *how)
{
	int listener = listen_at(port);

	signal(SIGCHLD, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	for (;;) {
		struct job *job = calloc(1, sizeof(*job));

		if (!job)
			errx(1, "no memory");
		job->fd = accept(listener, NULL, NULL);
		if (job->fd < 0)
			err(1, "accept");
		if (!strcmp(how, "given"))
			job->is_read = read_request(job->fd, &job->request);
		if (!strcmp(how, "forks"))
			start_process(job);
		else
			start_thread(job);
	}
}

static bool ask(uint16_t port, struct request request)
{
	struct sockaddr_in address = address_of(port);
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	char text[4];
	bool ret;

	if (connect(fd, (struct sockaddr *)&address, sizeof(address)))
		err(1, "connect");
	ret = write(fd, &request, sizeof(request)) == sizeof(request) &&
	      read(fd, text, sizeof(text)) == 3;
	close(fd);
	return ret;
}

int main(int argc, char **argv)
{
	uint32_t answered = 0;

	if (argc == 4 && !strcmp(argv[1], "serve")) {
		serve((uint16_t)atoi(argv[2]), argv[3]);
	} else if (argc == 5 && !strcmp(argv[1], "load")) {
		for (int i = 0; i < atoi(argv[3]); i++) {
			struct request request = { .type = (uint32_t)(i % atoi(argv[4])) };

			answered += ask((uint16_t)atoi(argv[2]), request);
			usleep(1000);
		}
		printf("%u\n", answered);
	} else if (argc == 5 && !strcmp(argv[1], "ask")) {
		return !ask((uint16_t)atoi(argv[2]), (struct request){ (uint32_t)atoi(argv[3]),
								       (uint32_t)atoi(argv[4]) });
	} else {
		errx(2, "see the head of lives.c");
	}
	return 0;
}
