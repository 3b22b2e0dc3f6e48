// SPDX-License-Identifier: GPL-2.0
/*
 * A server with one event loop, whose clients ask by datagrams how long it takes to answer them.
 *
 * usage: datagrams PORT PEER [several]
 *
 * Both are UDP ports of 127.0.0.1.  A client sends one of
 *
 *	compute US	compute so long, then answer
 *	ask US		ask the peer to answer that much later, and answer when it has
 *	silent US	compute so long, and do not answer
 *
 * All clients come by one socket, and the peer is asked by another one.  That is sent "US N", and
 * sends the same back; N is who asked.  As a peer it computes so long before.  Every other answer
 * is "ok".  With "several" it uses calls that could read and write more than one datagram.
 */
#include <arpa/inet.h>
#include <err.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "compute.h"

enum { LINE_MAX_BYTES = 64, MAX_ASKERS = 64, NR_SEVERAL = 4 };

static struct sockaddr_in askers[MAX_ASKERS], peer;
static int clients, upstream, nr_askers;
static bool uses_several;

static struct sockaddr_in address(int port)
{
	return (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = htons((uint16_t)port),
				     .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
}

static noinline void say(int fd, const struct sockaddr_in *to, char *text)
{
	struct iovec bytes = { text, strlen(text) };
	struct mmsghdr message = { .msg_hdr = { .msg_name = (void *)to, .msg_namelen = sizeof(*to),
						.msg_iov = &bytes, .msg_iovlen = 1 } };

	if (uses_several ? sendmmsg(fd, &message, 1, 0) < 0 :
			   sendto(fd, text, strlen(text), 0, (const struct sockaddr *)to,
				  sizeof(*to)) < 0)
		warn("say");
}

static noinline void ask(const struct sockaddr_in *client, long us)
{
	char line[LINE_MAX_BYTES];

	askers[nr_askers] = *client;
	snprintf(line, sizeof(line), "%ld %d", us, nr_askers);
	nr_askers = (nr_askers + 1) % MAX_ASKERS;
	say(upstream, &peer, line);
}

static noinline void serve(const struct sockaddr_in *client, char *line)
{
	char word[LINE_MAX_BYTES], answer[] = "ok";
	long us;
	int who;

	if (sscanf(line, "%ld %d", &us, &who) == 2) {
		compute(us);
		say(clients, client, line);
		return;
	}
	if (sscanf(line, "%63s %ld", word, &us) != 2)
		errx(1, "what is '%s'?", line);
	if (!strcmp(word, "ask")) {
		ask(client, us);
		return;
	}
	compute(us);
	if (!strcmp(word, "compute"))
		say(clients, client, answer);
}

static noinline void finish(const char *line)
{
	char answer[] = "ok";
	long us;
	int who;

	if (sscanf(line, "%ld %d", &us, &who) != 2)
		errx(1, "what is '%s'?", line);
	say(clients, &askers[who], answer);
}

static noinline void take(int fd, const struct sockaddr_in *from, char *line, ssize_t len)
{
	if (len < 0)
		err(1, "read");
	line[len] = 0;
	if (fd == clients)
		serve(from, line);
	else
		finish(line);
}

static noinline void take_several(int fd)
{
	char lines[NR_SEVERAL][LINE_MAX_BYTES + 1];
	struct mmsghdr messages[NR_SEVERAL];
	struct sockaddr_in from[NR_SEVERAL];
	struct iovec bytes[NR_SEVERAL];
	int nr;

	for (int i = 0; i < NR_SEVERAL; i++) {
		bytes[i] = (struct iovec){ lines[i], LINE_MAX_BYTES };
		messages[i] = (struct mmsghdr){ .msg_hdr = {
			.msg_name = &from[i], .msg_namelen = sizeof(from[i]),
			.msg_iov = &bytes[i], .msg_iovlen = 1 } };
	}
	nr = recvmmsg(fd, messages, NR_SEVERAL, MSG_DONTWAIT, NULL);
	for (int i = 0; i < nr; i++)
		take(fd, &from[i], lines[i], messages[i].msg_len);
}

static noinline void take_one(int fd)
{
	char line[LINE_MAX_BYTES + 1];
	struct sockaddr_in from;
	socklen_t len = sizeof(from);

	take(fd, &from, line, recvfrom(fd, line, LINE_MAX_BYTES, 0, (struct sockaddr *)&from, &len));
}

static int udp(int epoll, int port)
{
	struct epoll_event event = { .events = EPOLLIN };
	struct sockaddr_in at = address(port);

	event.data.fd = socket(AF_INET, SOCK_DGRAM, 0);
	if (event.data.fd < 0 || bind(event.data.fd, (struct sockaddr *)&at, sizeof(at)) ||
	    epoll_ctl(epoll, EPOLL_CTL_ADD, event.data.fd, &event))
		err(1, "udp");
	return event.data.fd;
}

int main(int argc, char **argv)
{
	int epoll = epoll_create1(0);
	struct epoll_event event;

	if (argc != 3 && argc != 4)
		errx(2, "usage: datagrams PORT PEER [several]");
	uses_several = argc == 4;
	peer = address(atoi(argv[2]));
	clients = udp(epoll, atoi(argv[1]));
	upstream = udp(epoll, 0);
	while (epoll_wait(epoll, &event, 1, -1) == 1) {
		if (uses_several)
			take_several(event.data.fd);
		else
			take_one(event.data.fd);
	}
	err(1, "epoll_wait");
}
