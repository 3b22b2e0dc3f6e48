// SPDX-License-Identifier: GPL-2.0
/*
 * A program whose stacks are known.  Usage: victim MODE.  It goes to sleep
 * below a chain of calls, after it has written a line for each return address
 * on the way, innermost first: "ADDRESS NAME" in hex, NAME being what .dynsym
 * has for the function that is returned to, or "-"; then "ready TID".
 *
 * It is built stripped, with -rdynamic: what is not static has a name.
 */

#include <alloca.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))

enum {
	MAX_DEPTH = 1000,
};

static const char *mode;
static void *addresses[MAX_DEPTH];
static const char *names[MAX_DEPTH];
static int nr_addresses;
static volatile int keep; /* no tail calls: something is left to do after them */

void victim_outer(int n);
void victim_exported(int n);
void victim_aligned(int n);
int victim_wait(int n);

/* Note down where the function at hand returns to, into a function @name. */
#define NOTE(name) \
	do { \
		addresses[nr_addresses] = __builtin_return_address(0); \
		names[nr_addresses++] = name; \
	} while (0)

static NOINLINE void report(void)
{
	for (int i = nr_addresses - 1; i >= 0; i--)
		printf("%lx %s\n", (unsigned long)addresses[i], names[i]);
	printf("ready %ld\n", (long)syscall(SYS_gettid));
	fflush(stdout);
}

static void wait_cond(void)
{
	static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;

	pthread_mutex_lock(&mutex);
	while (!keep || keep)
		pthread_cond_wait(&cond, &mutex);
}

static int listening(void)
{
	struct sockaddr_in address = {
		.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	if (bind(fd, (void *)&address, sizeof(address)) || listen(fd, 1))
		exit(1);
	return fd;
}

static void spin(void)
{
	for (;;)
		keep++;
}

/* Sleep in the way that the mode says. */
NOINLINE int victim_wait(int n)
{
	int fds[2] = { -1, -1 }, pair[2] = { -1, -1 };
	struct epoll_event event;
	fd_set set;
	char byte;

	NOTE(n & 1 ? "victim_exported" : "-");
	if (pipe(fds) || socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
		exit(1);
	FD_ZERO(&set);
	FD_SET(fds[0], &set);
	report();
	if (!strcmp(mode, "epoll"))
		return epoll_wait(epoll_create1(0), &event, 1, -1);
	if (!strcmp(mode, "poll"))
		return poll(&(struct pollfd){ fds[0], POLLIN, 0 }, 1, -1);
	if (!strcmp(mode, "select"))
		return select(fds[0] + 1, &set, NULL, NULL, NULL);
	if (!strcmp(mode, "read"))
		return (int)read(fds[0], &byte, 1);
	if (!strcmp(mode, "recv"))
		return (int)recv(pair[0], &byte, 1, 0);
	if (!strcmp(mode, "accept"))
		return accept(listening(), NULL, NULL);
	if (!strcmp(mode, "cond"))
		wait_cond();
	if (!strcmp(mode, "spin"))
		spin();
	return (int)sleep(1000);
}

static NOINLINE void step_with_alloca(int n)
{
	char *bytes = alloca((size_t)(n & 7) * 24 + 1);

	NOTE(strcmp(mode, "jit") ? "victim_exported" : "jit");
	memset(bytes, n, 8);
	keep += bytes[1];
	victim_wait(n & ~1);
	keep += bytes[0];
}

/* Calls what its argument points to, and has no unwind rules. */
static void *make_code(void)
{
	static const unsigned char code[] = {
		0x53, /* push %rbx */
		0x55, /* push %rbp */
		0x48, 0x83, 0xec, 0x68, /* sub $0x68,%rsp */
		0x31, 0xdb, /* xor %ebx,%ebx */
		0x31, 0xed, /* xor %ebp,%ebp */
		0x48, 0x89, 0xf8, /* mov %rdi,%rax */
		0x89, 0xf7, /* mov %esi,%edi */
		0xff, 0xd0, /* call *%rax */
		0x48, 0x83, 0xc4, 0x68, /* add $0x68,%rsp */
		0x5d, 0x5b, 0xc3, /* pop %rbp; pop %rbx; ret */
	};
	void *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		exit(1);
	memcpy(memory, code, sizeof(code));
	return memory;
}

static void on_signal(int number)
{
	nr_addresses = 0; /* the chain begins again in the interrupted function */
	victim_wait(number & ~1);
	keep++;
}

/* Before it, in the file, lies a static function that it must not be taken for. */
NOINLINE void victim_exported(int n)
{
	void (*call)(void (*function)(int), int n);

	NOTE(!strcmp(mode, "aligned") ? "victim_aligned" : n < 40 ? "victim_outer" :
	     "victim_exported");
	if (!strcmp(mode, "deep") && n < 140) {
		victim_exported(n < 40 ? 40 : n + 1);
	} else if (!strcmp(mode, "deeper") && n < 540) {
		victim_exported(n < 40 ? 40 : n + 1);
	} else if (!strcmp(mode, "jit")) {
		*(void **)&call = make_code();
		call(step_with_alloca, n);
	} else if (!strcmp(mode, "signal")) {
		signal(SIGUSR1, on_signal);
		raise(SIGUSR1);
	} else {
		step_with_alloca(n);
	}
	keep++;
}

/* Its frame is found by a saved copy of the stack pointer only. */
NOINLINE void victim_aligned(int n)
{
	char bytes[64] __attribute__((aligned(64)));
	char *more = alloca((size_t)n + 16);

	NOTE("victim_outer");
	memset(bytes, n, sizeof(bytes));
	memset(more, n, 16);
	victim_exported(n + more[1] - more[0]);
	keep += bytes[n & 63] + more[3];
}

NOINLINE void victim_outer(int n)
{
	if (!strcmp(mode, "aligned"))
		victim_aligned(n);
	else
		victim_exported(n);
	keep++;
}

static void *run(void *argument)
{
	victim_outer(argument ? 3 : 5);
	keep++;
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	alarm(120);
	if (argc < 2)
		return 2;
	mode = argv[1];
	if (argc > 2) { /* in a thread of its own */
		if (pthread_create(&thread, NULL, run, NULL))
			return 1;
		pthread_join(thread, NULL);
	} else {
		run(&thread);
	}
	return 0;
}
