// SPDX-License-Identifier: GPL-2.0
/*
 * A server to guard: an event loop, eight kinds of requests that run their own
 * functions and shared ones in different orders, and delays on demand.  It
 * notes what each unit truly was and when.
 *
 *   guarded serve PORT LOG        a datagram on 127.0.0.1:PORT is a request
 *   guarded load PORT SEED NR FORM [SCALE]
 *                                 its normal load: NR requests, one after the
 *                                 other, FORM steady or heavy (Pareto)
 *   guarded play PORT FILE        the requests in FILE, each after its gap
 *
 * LOG begins with the number of units that ended, then a struct unit for each.
 */

#include <arpa/inet.h>
#include <err.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { NR_TYPES = 8 };
enum kind { NONE, SLEEP, SPIN, LOCK, PIPE };
enum place { BEFORE, MIDDLE, AFTER };

struct request {
	uint32_t type;
	uint32_t kind;
	uint32_t place;
	uint32_t seq;
	uint64_t delay_ns;
	uint64_t work; /* turns of a loop of two instructions, in all */
	uint64_t gap_ns; /* the client waits so long before it */
};

/* Times are CLOCK_MONOTONIC. */
struct unit {
	uint64_t start_ns;
	uint64_t delay_ns; /* when its delay began; 0 for none */
	uint64_t end_ns;
	uint32_t type;
	uint32_t seq;
	uint32_t tid;
	uint32_t kind;
};

enum { MAX_UNITS = 1 << 20 };

struct log {
	_Atomic uint64_t nr;
	struct unit units[MAX_UNITS];
};

static struct log *log_here;
static struct unit current;
static volatile uint64_t sink;

#define NOINLINE __attribute__((noinline))

static uint64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static void nap(uint64_t ns)
{
	struct timespec ts = { (time_t)(ns / 1000000000), (long)(ns % 1000000000) };

	while (nanosleep(&ts, &ts))
		;
}

/* A helper holds the lock, or lets the pipe be empty, for a time. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static sem_t held;
static int orders[2], answers[2];

static void *help(void *unused)
{
	struct request order;

	while (read(orders[0], &order, sizeof(order)) == sizeof(order)) {
		if (order.kind == LOCK) {
			pthread_mutex_lock(&mutex);
			sem_post(&held);
			nap(order.delay_ns);
			pthread_mutex_unlock(&mutex);
		} else {
			nap(order.delay_ns);
			if (write(answers[1], "", 1) != 1)
				break;
		}
	}
	return unused;
}

static NOINLINE void sleep_here(const struct request *request)
{
	nap(request->delay_ns);
	sink++;
}

static NOINLINE void spin_here(const struct request *request)
{
	uint64_t end = now() + request->delay_ns;

	while (now() < end)
		sink++;
}

static NOINLINE void lock_here(const struct request *request)
{
	if (write(orders[1], request, sizeof(*request)) < 0)
		err(1, "write");
	sem_wait(&held);
	pthread_mutex_lock(&mutex);
	sink++;
	pthread_mutex_unlock(&mutex);
}

static NOINLINE void read_here(const struct request *request)
{
	char byte;

	if (write(orders[1], request, sizeof(*request)) < 0 || read(answers[0], &byte, 1) < 0)
		err(1, "pipe");
	sink++;
}

static inline void at(const struct request *request, enum place place)
{
	if (request->kind == NONE || request->place != place)
		return;
	current.delay_ns = now();
	switch (request->kind) {
	case SLEEP: sleep_here(request); break;
	case SPIN: spin_here(request); break;
	case LOCK: lock_here(request); break;
	case PIPE: read_here(request); break;
	}
}

static inline void work(const struct request *request, uint64_t sixteenths)
{
	uint64_t turns = request->work * sixteenths / 16 + 1;

	__asm__ volatile("1: dec %0; jnz 1b" : "+r"(turns) : : "cc");
}

/* A function that does its share; @unique keeps it apart from its like. */
#define STEP(name, unique, sixteenths)                                       \
	static NOINLINE void name(const struct request *request)             \
	{                                                                    \
		work(request, sixteenths);                                   \
		sink = sink * 31 + (unique);                                 \
	}

STEP(parse, 1, 2)
STEP(verify, 2, 4)
STEP(lookup, 3, 3)
STEP(load_item, 4, 2)
STEP(store, 5, 5)
STEP(append, 6, 2)
STEP(format, 7, 2)
STEP(compare, 8, 1)
STEP(forget, 9, 4)
STEP(expire_one, 10, 3)
STEP(add_one, 11, 2)

static NOINLINE void find(const struct request *request)
{
	lookup(request);
	load_item(request);
	sink++;
}

static NOINLINE void reply(const struct request *request)
{
	format(request);
	sink += 3;
}

static NOINLINE void journal(const struct request *request)
{
	append(request);
	work(request, 1);
	sink += 5;
}

static NOINLINE void collect(const struct request *request)
{
	for (int i = 0; i < 2; i++)
		load_item(request);
	sink += 7;
}

static NOINLINE void arrange(const struct request *request, int depth)
{
	compare(request);
	if (depth)
		arrange(request, depth - 1);
	sink += 11;
}

/* The eight kinds. */
static NOINLINE void do_get(const struct request *request)
{
	parse(request);
	find(request);
	at(request, MIDDLE);
	reply(request);
}

static NOINLINE void do_put(const struct request *request)
{
	parse(request);
	lookup(request);
	at(request, MIDDLE);
	store(request);
	journal(request);
	reply(request);
}

static NOINLINE void do_list(const struct request *request)
{
	parse(request);
	collect(request);
	at(request, MIDDLE);
	collect(request);
	reply(request);
}

static NOINLINE void do_sort(const struct request *request)
{
	parse(request);
	collect(request);
	at(request, MIDDLE);
	arrange(request, 3);
	reply(request);
}

static NOINLINE void do_sum(const struct request *request)
{
	parse(request);
	for (int i = 0; i < 3; i++)
		add_one(request);
	at(request, MIDDLE);
	add_one(request);
	reply(request);
}

static NOINLINE void do_check(const struct request *request)
{
	verify(request);
	find(request);
	at(request, MIDDLE);
	verify(request);
	parse(request);
}

static NOINLINE void do_drop(const struct request *request)
{
	parse(request);
	lookup(request);
	at(request, MIDDLE);
	forget(request);
	journal(request);
}

static NOINLINE void do_expire(const struct request *request)
{
	for (int i = 0; i < 4; i++)
		expire_one(request);
	at(request, MIDDLE);
	journal(request);
}

static void (*const kinds[NR_TYPES])(const struct request *request) = {
	do_get, do_put, do_list, do_sort, do_sum, do_check, do_drop, do_expire,
};

static struct sockaddr_in local(long port)
{
	return (struct sockaddr_in){
		.sin_family = AF_INET,
		.sin_port = htons((uint16_t)port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
}

/* What the loop waits by, and for. */
static int epoll, listener;
static long port;

static void open_loop(void)
{
	struct sockaddr_in address = local(port);
	struct epoll_event event = { .events = EPOLLIN };

	listener = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	epoll = epoll_create1(EPOLL_CLOEXEC);
	if (listener < 0 || bind(listener, (struct sockaddr *)&address, sizeof(address)) ||
	    epoll < 0 || epoll_ctl(epoll, EPOLL_CTL_ADD, listener, &event))
		err(1, "port %ld", port);
}

static void open_log(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (fd < 0 || ftruncate(fd, sizeof(*log_here)))
		err(1, "%s", path);
	log_here = mmap(NULL, sizeof(*log_here), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (log_here == MAP_FAILED)
		err(1, "%s", path);
	close(fd);
	current.tid = (uint32_t)syscall(SYS_gettid);
}

static void note(void)
{
	uint64_t nr = log_here->nr;

	current.end_ns = now();
	if (nr == MAX_UNITS)
		errx(1, "the log is full");
	log_here->units[nr] = current;
	log_here->nr = nr + 1;
}

static NOINLINE void do_request(void)
{
	struct sockaddr_in from;
	socklen_t size = sizeof(from);
	struct request request;

	if (recvfrom(listener, &request, sizeof(request), 0, (struct sockaddr *)&from, &size) !=
	    sizeof(request))
		return;
	current.type = request.type;
	current.seq = request.seq;
	current.kind = request.kind;
	at(&request, BEFORE);
	if (request.type < NR_TYPES)
		kinds[request.type](&request);
	at(&request, AFTER);
	/* Whoever has the answer finds the unit in the log. */
	note();
	sendto(listener, &request, sizeof(request), 0, (struct sockaddr *)&from, size);
}

static void serve(const char *log)
{
	struct epoll_event event;
	pthread_t helper;

	open_loop();
	/* Whoever finds the log can send requests. */
	open_log(log);
	sem_init(&held, 0, 0);
	if (pipe2(orders, O_CLOEXEC) || pipe2(answers, O_CLOEXEC) ||
	    pthread_create(&helper, NULL, help, NULL))
		err(1, "helper");
	for (;;) {
		if (epoll_wait(epoll, &event, 1, -1) != 1)
			continue;
		current.start_ns = now();
		current.delay_ns = 0;
		do_request();
	}
}

static int open_client(void)
{
	struct timeval patience = { .tv_sec = 1000000 };
	struct sockaddr_in address = local(port);
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)) ||
	    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)))
		err(1, "port %ld", port);
	return fd;
}

static void ask(int fd, struct request *request)
{
	if (request->gap_ns)
		nap(request->gap_ns);
	if (send(fd, request, sizeof(*request), 0) != sizeof(*request) ||
	    recv(fd, request, sizeof(*request), 0) != sizeof(*request))
		err(1, "request %u", request->seq);
}

/* splitmix64 */
static uint64_t state;

static double uniform(void)
{
	uint64_t z = state += 0x9e3779b97f4a7c15;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return (double)((z ^ (z >> 31)) >> 11) / 0x1p53;
}

/* Turns of the shortest request of a kind. */
static const double least[NR_TYPES] = { 2000, 4000, 3000, 6000, 5000, 9000, 2500, 12000 };

static void load(uint64_t nr, const char *form, double scale)
{
	int is_heavy = !strcmp(form, "heavy"), fd = open_client();

	for (uint64_t i = 0; i < nr; i++) {
		struct request request = { .seq = (uint32_t)i };
		double times;

		request.type = (uint32_t)(uniform() * NR_TYPES);
		/* 5 % up or down; or Pareto of index 2, half of all below 1.41 */
		times = is_heavy ? 1 / sqrt(1 - uniform()) : 0.95 + 0.1 * uniform();
		request.work = (uint64_t)(least[request.type] * scale * times);
		ask(fd, &request);
	}
}

static void play(const char *path)
{
	FILE *file = fopen(path, "re");
	struct request request;
	int fd = open_client();

	if (!file)
		err(1, "%s", path);
	while (fread(&request, sizeof(request), 1, file) == 1)
		ask(fd, &request);
	fclose(file);
}

int main(int argc, char **argv)
{
	const char *verb = argc > 3 ? argv[1] : "";

	port = argc > 3 ? atol(argv[2]) : 0;
	if (!strcmp(verb, "serve")) {
		serve(argv[3]);
	} else if (!strcmp(verb, "load") && argc > 5) {
		state = strtoull(argv[3], NULL, 0);
		load(strtoull(argv[4], NULL, 0), argv[5], argc > 6 ? atof(argv[6]) : 1);
	} else if (!strcmp(verb, "play")) {
		play(argv[3]);
	} else {
		errx(2, "see the head of its source");
	}
	return 0;
}
