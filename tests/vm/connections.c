// SPDX-License-Identifier: GPL-2.0
/*
 * A server that does with its connections what servers seldom do.
 *
 * usage: connections PORT
 *
 * A client of 127.0.0.1 sends lines, one at a time, "WORD NUMBER", and is answered "ok\n", after
 * the server has computed for NUMBER us:
 *
 *	plain		by write()
 *	dup		by a duplicate of the descriptor
 *	pass		by another process, to which the descriptor is passed, and which has the
 *			connection from then on
 *	fork		by a child, which has all connections, and ends then
 *	sendfile	from a file
 *	splice		through a pipe
 *	uring		by io_uring
 *	silent		never
 *	many		having made NUMBER connections of its own, each of which brings a message
 *	none		having closed them
 */
#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "compute.h"

enum { LINE_BYTES = 64, ANSWER_BYTES = 3, MAX_FDS = 200000 };

static const char answer[] = "ok\n";
static int epoll, passing[2], file, through[2];
static int many[MAX_FDS], nr_many;

/* A client may be gone by then. */
static void say(int fd)
{
	if (write(fd, answer, ANSWER_BYTES) != ANSWER_BYTES)
		warn("write");
}

static void follow(int fd)
{
	struct epoll_event event = { .events = EPOLLIN, .data.fd = fd };

	if (fd < 0 || epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event))
		err(1, "connection");
}

static void pass(int fd)
{
	char control[CMSG_SPACE(sizeof(fd))] = { 0 }, byte = 0;
	struct iovec data = { &byte, 1 };
	struct msghdr message = { .msg_iov = &data, .msg_iovlen = 1, .msg_control = control,
				  .msg_controllen = sizeof(control) };
	struct cmsghdr *cmsg = CMSG_FIRSTHDR(&message);

	cmsg->cmsg_level = SOL_SOCKET;
	cmsg->cmsg_type = SCM_RIGHTS;
	cmsg->cmsg_len = CMSG_LEN(sizeof(fd));
	memcpy(CMSG_DATA(cmsg), &fd, sizeof(fd));
	if (sendmsg(passing[0], &message, 0) != 1)
		err(1, "sendmsg");
	close(fd);
}

static int take(void)
{
	char control[CMSG_SPACE(sizeof(int))], byte;
	struct iovec data = { &byte, 1 };
	struct msghdr message = { .msg_iov = &data, .msg_iovlen = 1, .msg_control = control,
				  .msg_controllen = sizeof(control) };
	int fd;

	if (recvmsg(passing[1], &message, 0) != 1 || !CMSG_FIRSTHDR(&message))
		exit(0);
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(fd));
	return fd;
}

/* One ring for each answer: what it costs does not matter. */
static void say_by_ring(int fd)
{
	struct io_uring_params params = { 0 };
	int ring = (int)syscall(SYS_io_uring_setup, 1, &params);
	struct io_uring_sqe *sqe;
	char *queue;

	if (ring < 0) {
		warn("io_uring");
		say(fd);
		return;
	}
	queue = mmap(NULL, params.sq_off.array + sizeof(uint32_t), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_POPULATE, ring, IORING_OFF_SQ_RING);
	sqe = mmap(NULL, sizeof(*sqe), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring,
		   IORING_OFF_SQES);
	if (queue == MAP_FAILED || sqe == MAP_FAILED)
		err(1, "io_uring");
	*sqe = (struct io_uring_sqe){ .opcode = IORING_OP_SEND, .fd = fd,
				      .addr = (uintptr_t)answer, .len = ANSWER_BYTES };
	*(uint32_t *)(queue + params.sq_off.array) = 0;
	__atomic_store_n((uint32_t *)(queue + params.sq_off.tail), 1, __ATOMIC_RELEASE);
	if (syscall(SYS_io_uring_enter, ring, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) != 1)
		err(1, "io_uring_enter");
	munmap(sqe, sizeof(*sqe));
	munmap(queue, params.sq_off.array + sizeof(uint32_t));
	close(ring);
}

static void say_by_duplicate(int fd)
{
	int other = dup(fd);

	say(other);
	close(other);
}

static void say_by_child(int fd)
{
	if (fork())
		return;
	say(fd);
	_exit(0);
}

static void say_from_file(int fd)
{
	off_t from = 0;

	if (sendfile(fd, file, &from, ANSWER_BYTES) != ANSWER_BYTES)
		warn("sendfile");
}

static void say_through_pipe(int fd)
{
	say(through[1]);
	if (splice(through[0], NULL, fd, NULL, ANSWER_BYTES, 0) != ANSWER_BYTES)
		warn("splice");
}

static void make_many(int nr)
{
	char byte = 0;
	int pair[2];

	for (; nr_many + 2 <= nr && nr_many + 2 <= MAX_FDS; nr_many += 2) {
		if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
			err(1, "socketpair");
		if (write(pair[0], &byte, 1) != 1 || read(pair[1], &byte, 1) != 1)
			err(1, "pair");
		many[nr_many] = pair[0];
		many[nr_many + 1] = pair[1];
	}
}

static void close_many(void)
{
	while (nr_many)
		close(many[--nr_many]);
}

static void serve(int fd, const char *line)
{
	char word[LINE_BYTES];
	long number;

	if (sscanf(line, "%63s %ld", word, &number) != 2)
		errx(1, "what is '%s'?", line);
	if (!strcmp(word, "many")) {
		make_many((int)number);
		say(fd);
		return;
	}
	compute(number);
	if (!strcmp(word, "dup"))
		say_by_duplicate(fd);
	else if (!strcmp(word, "pass"))
		pass(fd);
	else if (!strcmp(word, "fork"))
		say_by_child(fd);
	else if (!strcmp(word, "sendfile"))
		say_from_file(fd);
	else if (!strcmp(word, "splice"))
		say_through_pipe(fd);
	else if (!strcmp(word, "uring"))
		say_by_ring(fd);
	else if (strcmp(word, "silent"))
		say(fd);
	if (!strcmp(word, "none"))
		close_many();
}

static void read_line(int fd)
{
	char line[LINE_BYTES];
	ssize_t len = read(fd, line, sizeof(line) - 1);

	if (len <= 0) {
		close(fd);
		return;
	}
	line[len] = 0;
	serve(fd, line);
}

/* Serve those whose descriptors come; the first request is answered at once. */
static void serve_passed(void)
{
	struct epoll_event event;
	int fd;

	epoll = epoll_create1(0);
	follow(passing[1]);
	while (epoll_wait(epoll, &event, 1, -1) == 1) {
		if (event.data.fd != passing[1]) {
			read_line(event.data.fd);
			continue;
		}
		fd = take();
		say(fd);
		follow(fd);
	}
	err(1, "epoll_wait");
}

static void open_all(void)
{
	const struct rlimit files = { MAX_FDS + 1000, MAX_FDS + 1000 };

	signal(SIGCHLD, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	file = fileno(tmpfile());
	if (setrlimit(RLIMIT_NOFILE, &files) || pipe(through) ||
	    socketpair(AF_UNIX, SOCK_DGRAM, 0, passing))
		err(1, "files");
	say(file);
}

int main(int argc, char **argv)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct epoll_event event;
	int listener, one = 1;

	if (argc != 2)
		errx(2, "usage: connections PORT");
	at.sin_port = htons((uint16_t)atoi(argv[1]));
	open_all();
	if (!fork()) {
		close(passing[0]);
		serve_passed();
	}
	epoll = epoll_create1(0);
	listener = socket(AF_INET, SOCK_STREAM, 0);
	setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (epoll < 0 || listener < 0 || bind(listener, (struct sockaddr *)&at, sizeof(at)) ||
	    listen(listener, 64))
		err(1, "listen");
	follow(listener);
	for (;;) {
		if (epoll_wait(epoll, &event, 1, -1) != 1) {
			/* What is left to do of a ring interrupts it. */
			if (errno != EINTR)
				err(1, "epoll_wait");
			continue;
		}
		if (event.data.fd == listener)
			follow(accept(listener, NULL, NULL));
		else
			read_line(event.data.fd);
	}
}
