// SPDX-License-Identifier: GPL-2.0
/*
 * What the hooks cost, in guest instructions: run under scripts/vm --icount,
 * where a nanosecond of CLOCK_MONOTONIC is one instruction.
 *
 * One line for each row: name, instructions per call.  Rows named bare-* are
 * taken before the module watches anything, after-* when it does no more.
 */

#include <arpa/inet.h>
#include <err.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <linux/futex.h>

#include "link/link.h"
#include "link/stream-reader.h"
#include "linux/perfguard.h"

/* Rounds so short that most have no tick in them. */
enum { CALLS = 500, ROUNDS = 20, NOTED = 16 };

static int epoll_fd;
static int futex_word;
static int pipe_fd;
static int ends[2]; /* of a connection: who asks, and who answers */
static struct sockaddr_in names[2]; /* of these, by datagrams */

static uint64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

static void call_epoll_wait(void)
{
	struct epoll_event event;

	epoll_wait(epoll_fd, &event, 1, 0);
}

static void call_getppid(void)
{
	syscall(SYS_getppid);
}

static void call_futex_wake(void)
{
	syscall(SYS_futex, &futex_word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

/* A wait of a place that is no boundary: what a read in mid-unit costs. */
static void call_read(void)
{
	char c;

	if (read(pipe_fd, &c, 0))
		err(1, "read");
}

/* Both in turn, as an event loop does. */
static void call_both(void)
{
	call_epoll_wait();
	call_read();
}

/* A function with a site at which a hit is noted, where that is added. */
__asm__(".pushsection .text\n"
	"noted:	mov $0x11223344, %eax\n"
	"	ret\n"
	".popsection\n");
void noted(void);

/* A unit with such calls. */
static void call_noted_and_wait(void)
{
	for (int i = 0; i < NOTED; i++)
		noted();
	call_epoll_wait();
}

static void send_byte(int from, int to)
{
	char c = 0;

	if (write(from, &c, 1) != 1 || read(to, &c, 1) != 1)
		err(1, "connection");
}

/* A unit that asks and answers itself: two writes and two reads of a connection. */
static void call_exchange(void)
{
	call_epoll_wait();
	send_byte(ends[0], ends[1]);
	send_byte(ends[1], ends[0]);
}

static void send_datagram(int from, int to)
{
	socklen_t length = sizeof(names[from]);
	char c = 0;

	if (sendto(ends[from], &c, 1, 0, (struct sockaddr *)&names[to], length) != 1 ||
	    recvfrom(ends[to], &c, 1, 0, (struct sockaddr *)&names[from], &length) != 1)
		err(1, "datagram");
}

/* The same by datagrams. */
static void call_datagrams(void)
{
	call_epoll_wait();
	send_datagram(0, 1);
	send_datagram(1, 0);
}

/* The loop that the module is to know again: always from the same place. */
static __attribute__((noinline)) uint64_t repeat(void (*call)(void), int calls)
{
	uint64_t start = now();

	for (int i = 0; i < calls; i++)
		call();
	return now() - start;
}

/* The least of some rounds: a timer tick may fall into the others. */
static void measure(const char *phase, const char *name, void (*call)(void))
{
	uint64_t best = UINT64_MAX;

	for (int round = 0; round < ROUNDS; round++) {
		uint64_t start = repeat(call, CALLS);

		best = start < best ? start : best;
	}
	printf("%s-%s %.1f\n", phase, name, (double)best / CALLS);
	fflush(stdout);
}

static void measure_all(const char *phase)
{
	measure(phase, "epoll_wait", call_epoll_wait);
	measure(phase, "futex_wake", call_futex_wake);
	measure(phase, "read", call_read);
	measure(phase, "both", call_both);
	measure(phase, "getppid", call_getppid);
}

static int take_context(struct record *record, void *arg)
{
	struct context *context = arg;

	if (record->syscall != SYS_epoll_wait || !record->nr_stacks)
		return 0;
	context->loop_id = 1;
	context->syscall = record->syscall;
	context->distance = 0;
	memcpy(&context->return_address, record->stacks[0].bytes, sizeof(uint64_t));
	return 0;
}

/* Let the module watch this process, with the epoll_wait in @call as the loop. */
static uint32_t arm(struct link *link, uint32_t flags, void (*call)(void))
{
	/* The first one is another loop's and points beyond this stack. */
	struct context contexts[2] = {
		{ .loop_id = 2, .syscall = SYS_epoll_wait, .distance = 64 * 1024 },
	};
	struct process *processes;
	struct loop *loops;
	uint64_t units = 0;
	uint32_t id, nr;

	if (link_target_new(link, -1, getpid(), NULL, flags | PERFGUARD_TARGET_FLAGS_DISCOVER,
			    1000000000, &id, &nr))
		errx(1, "target-new: %s", link_error(link));
	repeat(call, 100);
	if (link_waits(link, 0, take_context, &contexts[1]))
		errx(1, "wait-get: %s", link_error(link));
	if (!contexts[1].loop_id)
		errx(1, "no wait was recorded");
	if (link_processes(link, id, &processes, &nr) || nr != 1)
		errx(1, "process-get: %s", link_error(link));
	if (link_loop_set(link, processes[0].image_id, contexts, 2))
		errx(1, "loop-set: %s", link_error(link));
	free(processes);
	/* Discovery is over, as in a service. */
	if (link_target_set_flags(link, id, flags))
		errx(1, "target-set: %s", link_error(link));
	repeat(call, 100);
	if (link_loops(link, 0, &loops, &nr))
		errx(1, "loop-get: %s", link_error(link));
	for (uint32_t i = 0; i < nr; i++)
		units += loops[i].units;
	link_loops_free(loops, nr);
	if (units < 90)
		errx(1, "the loop's wait was not known again");
	return id;
}

static void disarm(struct link *link, uint32_t id)
{
	if (link_target_del(link, id))
		errx(1, "target-del: %s", link_error(link));
}

/* Another process is the target, and this one stands by. */
static void measure_bystander(struct link *link)
{
	uint32_t id, nr;
	pid_t child = fork();

	if (child < 0)
		err(1, "fork");
	if (!child) {
		pause();
		_exit(0);
	}
	if (link_target_new(link, -1, child, NULL, 0, 0, &id, &nr))
		errx(1, "target-new: %s", link_error(link));
	measure_all("bystander");
	disarm(link, id);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

/* A connection of this process to itself by TCP, as servers have them: nothing is held back. */
static void connect_ends(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof(address);
	int listener = socket(AF_INET, SOCK_STREAM, 0), on = 1;

	ends[0] = socket(AF_INET, SOCK_STREAM, 0);
	if (listener < 0 || ends[0] < 0 || bind(listener, (struct sockaddr *)&address, size) ||
	    listen(listener, 1) || getsockname(listener, (struct sockaddr *)&address, &size) ||
	    connect(ends[0], (struct sockaddr *)&address, size))
		err(1, "connect");
	ends[1] = accept(listener, NULL, NULL);
	for (int i = 0; i < 2; i++)
		if (setsockopt(ends[i], IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)))
			err(1, "accept");
	close(listener);
}

/* Two sockets of datagrams that are not connected, as a server's. */
static void bind_ends(void)
{
	socklen_t length = sizeof(names[0]);

	for (int i = 0; i < 2; i++) {
		names[i] = (struct sockaddr_in){ .sin_family = AF_INET,
						 .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
		ends[i] = socket(AF_INET, SOCK_DGRAM, 0);
		if (ends[i] < 0 || bind(ends[i], (struct sockaddr *)&names[i], length) ||
		    getsockname(ends[i], (struct sockaddr *)&names[i], &length))
			err(1, "bind");
	}
}

/* What following requests adds to an audit. */
static void measure_exchange(struct link *link, const char *name, void (*call)(void))
{
	uint32_t id = arm(link, PERFGUARD_TARGET_FLAGS_ACCOUNT, call);

	measure("audit", name, call);
	disarm(link, id);
	id = arm(link, PERFGUARD_TARGET_FLAGS_ACCOUNT | PERFGUARD_TARGET_FLAGS_REQUESTS, call);
	measure("requests", name, call);
	disarm(link, id);
	close(ends[0]);
	close(ends[1]);
}

static void measure_exchanges(struct link *link)
{
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
		err(1, "socketpair");
	measure_exchange(link, "exchange", call_exchange);
	connect_ends();
	measure_exchange(link, "tcp", call_exchange);
	bind_ends();
	measure_exchange(link, "datagrams", call_datagrams);
}

/* The place of a function in its file. */
static uint64_t offset_of(void (*function)(void))
{
	FILE *maps = fopen("/proc/self/maps", "r");
	uint64_t address = (uint64_t)function, ret = 0;
	unsigned long start, end, offset;
	char line[512];

	while (maps && fgets(line, sizeof(line), maps))
		if (sscanf(line, "%lx-%lx %*s %lx", &start, &end, &offset) == 3 &&
		    address >= start && address < end)
			ret = address - start + offset;
	if (!ret)
		errx(1, "a function is nowhere");
	fclose(maps);
	return ret;
}

/* What recording by jumps adds: to a hit, and to a wait, where the hits before it are fetched. */
static void measure_inline(struct link *link)
{
	struct perfguard_site_refusal *refused;
	struct perfguard_site site = { .offset = offset_of(noted) };
	struct stream *stream;
	uint32_t id, nr;
	int fd = open("/proc/self/exe", O_RDONLY);

	measure("bare", "noted", noted);
	measure("bare", "fetched", call_noted_and_wait);
	id = arm(link, PERFGUARD_TARGET_FLAGS_RECORD, call_noted_and_wait);
	if (fd < 0 || stream_open(&stream))
		errx(1, "the stream cannot be opened");
	measure("recorded", "fetched", call_noted_and_wait);
	if (link_sites_add(link, id, fd, PERFGUARD_SITE_FLAGS_INLINE, &site, 1, &refused, &nr))
		errx(1, "site-add: %s", link_error(link));
	free(refused);
	/* All that it will write to is there. */
	repeat(noted, CALLS * ROUNDS);
	call_noted_and_wait();
	measure("inline", "noted", noted);
	call_noted_and_wait();
	measure("inline", "fetched", call_noted_and_wait);
	stream_close(stream);
	disarm(link, id);
	close(fd);
}

int main(void)
{
	struct epoll_event event = { .events = EPOLLIN };
	struct link *link;
	uint32_t id;
	int fds[2];

	if (link_open(&link))
		errx(1, "link: %s", link_error(link));
	epoll_fd = epoll_create1(0);
	/* There is always something, as there is when a server's wait returns. */
	if (epoll_fd < 0 || pipe(fds) || write(fds[1], "", 1) != 1 ||
	    epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fds[0], &event))
		err(1, "setup");
	pipe_fd = fds[0];

	measure_all("bare");
	id = arm(link, 0, call_epoll_wait);
	measure_all("target");
	disarm(link, id);
	id = arm(link, PERFGUARD_TARGET_FLAGS_ACCOUNT, call_epoll_wait);
	measure_all("account");
	disarm(link, id);
	id = arm(link, PERFGUARD_TARGET_FLAGS_ACCOUNT, call_both);
	measure("mixed", "both", call_both);
	disarm(link, id);
	measure_exchanges(link);
	measure_inline(link);
	measure_bystander(link);
	measure_all("after");
	link_close(link);
	return 0;
}
