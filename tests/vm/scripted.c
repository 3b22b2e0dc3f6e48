// SPDX-License-Identifier: GPL-2.0
/*
 * A program that calls its functions as a script says, at any stack depth, and
 * notes the stack pointer at each entry.  It says where all is, then takes
 * lines:
 *
 *   run SCRIPT LOG THREADS   so many threads run the script, each with a log
 *                            LOG.N; answers "ok"
 *   fork SCRIPT LOG          a child does, and ends
 *
 * As "scripted unserved" its threads have stacks in whose mappings, above all frames, lie
 * pages that are not there and that nobody serves: who touches one waits for ever.
 *
 * A script is an array of struct step.  A step "wait" is the loop's wait, of at
 * most room milliseconds; what is between two of them is a unit.  A step "rest"
 * is the same from another place.  A step "nap" sleeps room microseconds, a step
 * "spin" computes as long, within a unit.  A log is the thread's id, the stack
 * pointer at its waits, and then the stack pointer at the entry of each
 * function called, words of 64 bits.
 *
 * It says first: the address that the call of the wait returns to, the distance
 * from SP at the system call to the slot of that address, the addresses of the
 * functions, and what the call of the rest returns to.
 */

#include <alloca.h>
#include <err.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { WAIT = 0xffff, NAP = 0xfffe, REST = 0xfffd, SPIN = 0xfffc };
enum { NR_FUNCTIONS = 48, MAX_WORDS = 1 << 20 };

/* A call; the @nested steps that follow, and theirs, are calls by it. */
struct step {
	uint16_t function;
	uint16_t nested;
	uint32_t room; /* bytes of stack it takes before */
};

/* A thread's way through the script. */
struct run {
	const struct step *at;
	const struct step *end;
	const char *path;
	uint64_t wait_sp;
	uint64_t *words;
	uint64_t nr_words;
};

static __thread struct run *run;
static uint64_t return_address, distance, rest_address;

#define NOINLINE __attribute__((noinline))

static void call(void);

#define FUNCTION(n)                                                          \
	static NOINLINE __attribute__((used)) void function_##n(uint32_t room,\
								uint32_t nested)\
	{                                                                    \
		volatile char *place = alloca(room + 1);                     \
                                                                             \
		place[0] = n;                                                \
		if (run->nr_words < MAX_WORDS)                               \
			run->words[run->nr_words++] =                        \
				(uint64_t)__builtin_dwarf_cfa() - 8;         \
		while (nested--)                                             \
			call();                                              \
		place[room] = n;                                             \
	}

/* The same behind an instruction of five bytes, in whose place there can be a jump. */
#define WINDOW(n)                                                            \
	FUNCTION(n)                                                          \
	void window_##n(uint32_t room, uint32_t nested);                     \
	__asm__(".pushsection .text\n"                                       \
		"window_" #n ":\n"                                           \
		"	mov $0x11223344, %eax\n"                             \
		"	jmp function_" #n "\n"                               \
		".popsection\n");

#define EIGHT(n)                                                             \
	WINDOW(n##0) FUNCTION(n##1) WINDOW(n##2) FUNCTION(n##3)              \
	WINDOW(n##4) FUNCTION(n##5) WINDOW(n##6) WINDOW(n##7)

EIGHT(1) EIGHT(2) EIGHT(3) EIGHT(4) EIGHT(5) EIGHT(6)

#define NAMES(n)                                                             \
	window_##n##0, function_##n##1, window_##n##2, function_##n##3,      \
	window_##n##4, function_##n##5, window_##n##6, window_##n##7

static void (*const functions[NR_FUNCTIONS])(uint32_t room, uint32_t nested) = {
	NAMES(1), NAMES(2), NAMES(3), NAMES(4), NAMES(5), NAMES(6),
};

static void call(void)
{
	const struct step *step = run->at++;

	functions[step->function](step->room, step->nested);
}

/* Nothing ever comes: it waits for the time alone. */
static NOINLINE void wait_here(uint64_t ms)
{
	volatile char frame[200]; /* so that SP is not at the return address */
	uint64_t sp, ret;

	frame[0] = 0;

	__asm__ volatile("mov %%rsp, %1\n\t"
			 "xor %%r10d, %%r10d\n\t"
			 "syscall"
			 : "=a"(ret), "=&r"(sp)
			 : "a"(SYS_poll), "D"(frame), "S"(0L), "d"(ms)
			 : "rcx", "r10", "r11", "memory");
	run->wait_sp = sp;
	return_address = (uint64_t)__builtin_return_address(0);
	distance = (uint64_t)__builtin_dwarf_cfa() - 8 - sp;
}

static NOINLINE void rest_here(uint64_t ms)
{
	uint64_t sp = run->wait_sp;

	wait_here(ms);
	rest_address = return_address;
	run->wait_sp = sp;
}

static uint64_t cpu_time_us(void)
{
	struct timespec time;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	return (uint64_t)time.tv_sec * 1000000 + (uint64_t)time.tv_nsec / 1000;
}

static void spin(uint32_t us)
{
	uint64_t end = cpu_time_us() + us;

	while (cpu_time_us() < end)
		;
}

static NOINLINE void loop(void)
{
	while (run->at < run->end) {
		switch (run->at->function) {
		case WAIT: wait_here((run->at++)->room); break;
		case REST: rest_here((run->at++)->room); break;
		case NAP: usleep((run->at++)->room); break;
		case SPIN: spin((run->at++)->room); break;
		default: call();
		}
	}
}

static void *run_script(void *arg)
{
	uint64_t head[2];
	FILE *file;

	run = arg;
	run->words = malloc(MAX_WORDS * sizeof(*run->words));
	if (!run->words)
		err(1, "log");
	loop();
	file = fopen(run->path, "we");
	head[0] = (uint64_t)syscall(SYS_gettid);
	head[1] = run->wait_sp;
	if (!file || fwrite(head, sizeof(head), 1, file) != 1 ||
	    fwrite(run->words, sizeof(*run->words), run->nr_words, file) != run->nr_words ||
	    fclose(file))
		err(1, "%s", run->path);
	free(run->words);
	return NULL;
}

static struct step *load_script(const char *path, size_t *ret_nr)
{
	FILE *file = fopen(path, "re");
	struct step *steps = NULL;
	long size;

	if (!file || fseek(file, 0, SEEK_END) || (size = ftell(file)) < 0)
		err(1, "%s", path);
	rewind(file);
	*ret_nr = (size_t)size / sizeof(*steps);
	steps = malloc((size_t)size + 1);
	if (!steps || fread(steps, sizeof(*steps), *ret_nr, file) != *ret_nr)
		err(1, "%s", path);
	fclose(file);
	return steps;
}

enum { MAX_THREADS = 16, STACK_BYTES = 256 * 1024, UNSERVED_BYTES = 256 * 1024 };

static int unserved = -1; /* a userfaultfd that nobody reads */

static void unserved_open(void)
{
	struct uffdio_api api = { .api = UFFD_API };

	unserved = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	if (unserved < 0 || ioctl(unserved, UFFDIO_API, &api))
		err(1, "userfaultfd");
}

/* One mapping: a stack that is there, and above it what is not. */
static void stack_set(pthread_attr_t *attr)
{
	char *stack = mmap(NULL, STACK_BYTES + UNSERVED_BYTES, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	struct uffdio_register range = {
		.range = { (uintptr_t)stack, STACK_BYTES + UNSERVED_BYTES },
		.mode = UFFDIO_REGISTER_MODE_MISSING,
	};

	if (stack == MAP_FAILED)
		err(1, "stack");
	madvise(stack, STACK_BYTES + UNSERVED_BYTES, MADV_NOHUGEPAGE);
	memset(stack, 0, STACK_BYTES);
	if (ioctl(unserved, UFFDIO_REGISTER, &range) ||
	    pthread_attr_setstack(attr, stack, STACK_BYTES))
		err(1, "stack");
}

static void run_threads(const char *script, const char *log, int nr)
{
	pthread_t threads[MAX_THREADS];
	struct run runs[MAX_THREADS] = { 0 };
	pthread_attr_t attr;
	char paths[MAX_THREADS][256];
	size_t nr_steps;
	struct step *steps = load_script(script, &nr_steps);

	for (int i = 0; i < nr && i < MAX_THREADS; i++) {
		snprintf(paths[i], sizeof(paths[i]), "%s.%d", log, i);
		runs[i].path = paths[i];
		runs[i].at = steps;
		runs[i].end = steps + nr_steps;
		pthread_attr_init(&attr);
		if (unserved >= 0)
			stack_set(&attr);
		if (pthread_create(&threads[i], &attr, run_script, &runs[i]))
			err(1, "thread");
		pthread_attr_destroy(&attr);
	}
	for (int i = 0; i < nr && i < MAX_THREADS; i++)
		pthread_join(threads[i], NULL);
	free(steps);
}

static void hello(void)
{
	const struct step steps[] = { { REST, 0, 0 }, { WAIT, 0, 0 } };
	struct run nothing = { .at = steps, .end = steps + 2 };

	run = &nothing;
	loop();
	printf("%lx %lu", (unsigned long)return_address, (unsigned long)distance);
	for (int i = 0; i < NR_FUNCTIONS; i++)
		printf(" %lx", (unsigned long)functions[i]);
	printf(" %lx\n", (unsigned long)rest_address);
}

int main(int argc, char **argv)
{
	char line[600], script[256], log[256];
	int nr = 1;

	if (argc > 1 && !strcmp(argv[1], "unserved"))
		unserved_open();
	setlinebuf(stdout);
	hello();
	while (fgets(line, sizeof(line), stdin)) {
		if (sscanf(line, "run %255s %255s %d", script, log, &nr) == 3) {
			run_threads(script, log, nr);
		} else if (sscanf(line, "fork %255s %255s", script, log) == 2) {
			pid_t pid = fork();

			if (!pid) {
				run_threads(script, log, 1);
				_exit(0);
			}
			waitpid(pid, NULL, 0);
		}
		puts("ok");
	}
	return 0;
}
