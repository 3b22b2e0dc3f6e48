// SPDX-License-Identifier: GPL-2.0
/*
 * A program whose sites are instructions of each kind that a jump can replace, and which knows what
 * they compute.  Says where they are, "ADDRESS SP-DELTA" each, and how often round() comes by
 * each; then takes a command a line; a line of answer each.
 *
 *   run N           round() so often; the wrong results, and the thread
 *   threads T N     T threads at once, which wait once, then N rounds each; the wrong results
 *   fork            a child that stays; its pid
 *   child N         the child runs so many rounds; the wrong results
 *   reap            the child ends
 *   storm MS        for this time threads, short-lived ones, forks, vforks and execs, with a signal
 *                   each millisecond whose handler runs round(), too, and exceptions' way out by
 *                   longjmp(); the wrong results, and how many rounds, forks and execs
 *   nap MS          rounds until a signal comes upon them, whose handler sleeps so long; the wrong
 *                   results of these, and of a round after it
 *   library PATH NAME
 *                   load it if it is not, and call its function of a number; the result
 *   unmap, protect, move, remap
 *                   all that is mapped of the module, by the system call of that name; errno
 *   scribble        random words over the module's writable mapping, while round() runs
 *   gs              use the base of GS
 *   share           a child with the same memory, which stays
 *   generate        have code in memory that is of no file
 *   limit           have no room for more mappings
 *
 * inlined once: round(); the exit status says whether all was right.
 */

#include <asm/prctl.h>
#include <dlfcn.h>
#include <err.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/*
 * Each takes a number and returns it plus one of its own, to which it comes by the instruction at
 * its site.  site_rsp has what it needs in the red zone.
 */
__asm__(
	".pushsection .text\n"
	".globl site_plain, site_rip, site_rsp, site_call, site_jump, site_branch, site_fs\n"
	"site_plain:\n"
	"	mov $0x11223344, %eax\n"		/* the site */
	"	add %rdi, %rax\n"
	"	ret\n"
	"site_rip:\n"
	"	mov number_at_a_place(%rip), %rax\n"	/* the site */
	"	add %rdi, %rax\n"
	"	ret\n"
	"before_rsp:\n"
	"	movq $77, -8(%rsp)\n"
	"	movq $33, -120(%rsp)\n"
	"site_rsp:\n"
	"	add -8(%rsp), %rdi; nop\n"
	"	movq $22, -16(%rsp)\n"			/* the site is here, see site_rsp_at */
	"	add -120(%rsp), %rdi\n"
	"	lea (%rdi), %rax\n"
	"	ret\n"
	"site_call:\n"
	"	.byte 0xe8; .long other - 1f\n"		/* the site */
	"1:	lea 5(%rax), %rax\n"
	"	ret\n"
	"site_jump:\n"
	"	.byte 0xe9; .long other - 1f\n"		/* the site */
	"1:	ud2\n"
	"before_branch:\n"
	"	test $1, %dil\n"
	"site_branch:\n"
	"	.byte 0x0f, 0x84; .long 2f - 1f\n"	/* the site */
	"1:	lea 1(%rdi), %rax\n"
	"	ret\n"
	"2:	lea 2(%rdi), %rax\n"
	"	ret\n"
	"site_fs:\n"
	"	mov %fs:0x28, %rax\n"			/* the site */
	"	sub %fs:0x28, %rax\n"
	"	lea 9(%rax, %rdi), %rax\n"
	"	ret\n"
	"other:\n"
	"	lea 3(%rdi), %rax\n"
	"	ret\n"
	".popsection\n");

uint64_t number_at_a_place = 0x1234567;

uint64_t site_plain(uint64_t x), site_rip(uint64_t x), before_rsp(uint64_t x), site_call(uint64_t x),
	site_jump(uint64_t x), before_branch(uint64_t x), site_fs(uint64_t x);
extern const char site_rsp[], site_branch[];

enum { MAX_THREADS = 32, RSP_AT = 6 };

static atomic_ulong wrong, rounds, forks, execs;
static atomic_bool ends;

static bool is(uint64_t got, uint64_t wanted)
{
	if (got == wanted)
		return true;
	atomic_fetch_add(&wrong, 1);
	return false;
}

/* Returns how many results were wrong. */
static unsigned int do_round(uint64_t x)
{
	return !is(site_plain(x), x + 0x11223344) + !is(site_rip(x), x + number_at_a_place) +
	       !is(before_rsp(x), x + 77 + 33) + !is(site_call(x), x + 8) +
	       !is(site_jump(x), x + 3) + !is(before_branch(x), x + (x & 1 ? 1 : 2)) +
	       !is(site_fs(x), x + 9);
}

static void *work(void *nr)
{
	for (uintptr_t i = 0; i < (uintptr_t)nr; i++)
		do_round(i);
	return NULL;
}

/* With a wait, by which a new thread is known. */
static void *wait_and_work(void *nr)
{
	usleep(1000);
	return work(nr);
}

static void run_threads(unsigned int nr, uintptr_t nr_rounds)
{
	pthread_t threads[MAX_THREADS];

	for (unsigned int i = 0; i < nr; i++)
		if (pthread_create(&threads[i], NULL, wait_and_work, (void *)nr_rounds))
			errx(1, "no thread");
	for (unsigned int i = 0; i < nr; i++)
		pthread_join(threads[i], NULL);
}

/* A child, which answers commands by itself: "child N" goes to it. */
static pid_t child;
static int to_child[2], from_child[2];

static void child_serve(void)
{
	uint64_t nr, ret;

	while (read(to_child[0], &nr, sizeof(nr)) == sizeof(nr)) {
		atomic_store(&wrong, 0);
		work((void *)(uintptr_t)nr);
		ret = atomic_load(&wrong);
		if (write(from_child[1], &ret, sizeof(ret)) != sizeof(ret))
			break;
	}
	_exit(0);
}

static pid_t child_start(void)
{
	if (pipe(to_child) || pipe(from_child))
		err(1, "pipe");
	child = fork();
	if (!child) {
		close(to_child[1]);
		child_serve();
	}
	close(to_child[0]);
	return child;
}

static uint64_t child_run(uint64_t nr)
{
	uint64_t ret = UINT64_MAX;

	if (write(to_child[1], &nr, sizeof(nr)) != sizeof(nr) ||
	    read(from_child[0], &ret, sizeof(ret)) != sizeof(ret))
		warn("child");
	return ret;
}

static void handler(int signal)
{
	(void)signal;
	do_round(11);
}

static void storm_round(uint64_t x)
{
	jmp_buf out;

	if (!setjmp(out)) {
		do_round(x);
		longjmp(out, 1);
	}
	atomic_fetch_add(&rounds, 1);
}

static void *storm_work(void *unused)
{
	for (uint64_t x = 0; !atomic_load(&ends); x++)
		storm_round(x);
	return unused;
}

static void *short_work(void *unused)
{
	for (uint64_t x = 0; x < 100; x++)
		storm_round(x);
	return unused;
}

static void wait_right(pid_t pid)
{
	int status;

	if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
		atomic_fetch_add(&wrong, 1);
}

static void storm_fork(void)
{
	pid_t pid = fork();

	if (!pid) {
		unsigned int bad = 0;

		for (uint64_t x = 0; x < 200; x++)
			bad += do_round(x);
		_exit(!!bad);
	}
	wait_right(pid);
	atomic_fetch_add(&forks, 1);
}

/* posix_spawn() shares the memory until the exec. */
static void storm_exec(void)
{
	char *const argv[] = { (char *)"inlined", (char *)"once", NULL };
	extern char **environ;
	pid_t pid;

	if (posix_spawn(&pid, "/proc/self/exe", NULL, NULL, argv, environ))
		pid = -1;
	wait_right(pid);
	atomic_fetch_add(&execs, 1);
}

static void *storm_processes(void *unused)
{
	while (!atomic_load(&ends)) {
		pthread_t thread;

		storm_fork();
		storm_exec();
		if (!pthread_create(&thread, NULL, short_work, NULL))
			pthread_join(thread, NULL);
	}
	return unused;
}

static void storm(unsigned int ms)
{
	const struct itimerval each = { .it_interval.tv_usec = 1000, .it_value.tv_usec = 1000 };
	const struct itimerval none = { .it_value.tv_sec = 0 };
	struct timespec time = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L };
	struct sigaction action = { .sa_handler = handler, .sa_flags = SA_RESTART };
	pthread_t threads[4];

	atomic_store(&ends, false);
	sigaction(SIGALRM, &action, NULL);
	for (unsigned int i = 0; i < 4; i++)
		if (pthread_create(&threads[i], NULL, i ? storm_work : storm_processes, NULL))
			errx(1, "no thread");
	setitimer(ITIMER_REAL, &each, NULL);
	while (nanosleep(&time, &time) && errno == EINTR)
		;
	setitimer(ITIMER_REAL, &none, NULL);
	atomic_store(&ends, true);
	for (unsigned int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
}

static unsigned int nap_ms;

static void nap_handler(int signal)
{
	(void)signal;
	usleep(1000 * nap_ms);
	atomic_store(&ends, true);
}

static void nap(unsigned int ms)
{
	const struct itimerval once = { .it_value.tv_usec = 200000 };
	struct sigaction action = { .sa_handler = nap_handler };

	nap_ms = ms;
	atomic_store(&ends, false);
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &once, NULL);
	for (uint64_t x = 0; !atomic_load(&ends); x++)
		do_round(x);
	do_round(7);
}

/* Call a function for each mapping of the module: errno of the last one. */
static int each_mapping(int (*call)(char *start, size_t size, bool is_writable))
{
	FILE *file = fopen("/proc/self/maps", "r");
	unsigned long starts[64], ends_at[64];
	bool are_writable[64];
	unsigned int nr = 0;
	char line[512], mode[8];
	int ret = ENOENT;

	while (file && nr < 64 && fgets(line, sizeof(line), file))
		if (strstr(line, "perfguard-") &&
		    sscanf(line, "%lx-%lx %7s", &starts[nr], &ends_at[nr], mode) == 3)
			are_writable[nr++] = mode[1] == 'w';
	if (file)
		fclose(file);
	for (unsigned int i = 0; i < nr; i++)
		ret = call((char *)starts[i], ends_at[i] - starts[i], are_writable[i]) ? errno : 0;
	return ret;
}

static int map_unmap(char *start, size_t size, bool is_writable)
{
	/* A part of it; all of its landings would be the program's end. */
	return is_writable ? munmap(start, size / 2 / 4096 * 4096) : -1;
}

static int map_protect(char *start, size_t size, bool is_writable)
{
	(void)is_writable;
	return mprotect(start, size, PROT_READ | PROT_WRITE | PROT_EXEC);
}

static int map_move(char *start, size_t size, bool is_writable)
{
	(void)is_writable;
	return mremap(start, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, (void *)0x7000000000) ==
	       MAP_FAILED ? -1 : 0;
}

/* Maps the file again, by the kernel's own hand. */
static int map_remap(char *start, size_t size, bool is_writable)
{
	(void)is_writable;
	return (int)syscall(SYS_remap_file_pages, start, size, 0, 0, 0);
}

static int map_scribble(char *start, size_t size, bool is_writable)
{
	uint64_t random = 88172645463325252;

	for (unsigned int i = 0; is_writable && i < 200000; i++) {
		random ^= random << 13;
		random ^= random >> 7;
		random ^= random << 17;
		/* Heads as well as entries, of the first areas. */
		memcpy(start + random % (size / 64 / 8) * 8, &random, 8);
		if (i % 100 == 0) {
			memcpy(start + size / 512 * (i / 100 % 4), &random, 8);
			do_round(i);
		}
	}
	return 0;
}

static int sleep_for_ever(void *unused)
{
	(void)unused;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;)
		pause();
	return 0;
}

static int share(void)
{
	static char stack[65536] __attribute__((aligned(16)));

	child = clone(sleep_for_ever, stack + sizeof(stack), CLONE_VM | SIGCHLD, NULL);
	return child < 0 ? errno : 0;
}

static int generate(void)
{
	void *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return code == MAP_FAILED ? errno : 0;
}

static int limit(void)
{
	const struct rlimit room = { 64UL << 20, 64UL << 20 };

	return setrlimit(RLIMIT_AS, &room) ? errno : 0;
}

static double library(const char *path, const char *name)
{
	void *handle = dlopen(path, RTLD_NOW);
	double (*function)(double number) = NULL;

	if (handle)
		*(void **)&function = dlsym(handle, name);
	return function ? function(27) : -1;
}

static void command(char *line)
{
	char path[128], name[64];
	unsigned long a = 0, b = 0;

	atomic_store(&wrong, 0);
	if (sscanf(line, "run %lu", &a) == 1) {
		work((void *)a);
		printf("%lu %d\n", atomic_load(&wrong), gettid());
	} else if (sscanf(line, "threads %lu %lu", &a, &b) == 2) {
		run_threads(a < MAX_THREADS ? (unsigned int)a : MAX_THREADS, b);
		printf("%lu\n", atomic_load(&wrong));
	} else if (!strcmp(line, "fork")) {
		printf("%d\n", child_start());
	} else if (sscanf(line, "child %lu", &a) == 1) {
		printf("%lu\n", (unsigned long)child_run(a));
	} else if (!strcmp(line, "reap")) {
		close(to_child[1]);
		waitpid(child, NULL, 0);
		puts("0");
	} else if (sscanf(line, "storm %lu", &a) == 1) {
		storm((unsigned int)a);
		printf("%lu %lu %lu %lu\n", atomic_load(&wrong), atomic_load(&rounds),
		       atomic_load(&forks), atomic_load(&execs));
	} else if (sscanf(line, "nap %lu", &a) == 1) {
		nap((unsigned int)a);
		printf("%lu\n", atomic_load(&wrong));
	} else if (sscanf(line, "library %127s %63s", path, name) == 2) {
		printf("%f\n", library(path, name));
	} else if (!strcmp(line, "unmap")) {
		printf("%d\n", each_mapping(map_unmap));
	} else if (!strcmp(line, "protect")) {
		printf("%d\n", each_mapping(map_protect));
	} else if (!strcmp(line, "move")) {
		printf("%d\n", each_mapping(map_move));
	} else if (!strcmp(line, "remap")) {
		printf("%d\n", each_mapping(map_remap));
	} else if (!strcmp(line, "scribble")) {
		printf("%d %lu\n", each_mapping(map_scribble), atomic_load(&wrong));
	} else if (!strcmp(line, "gs")) {
		printf("%ld\n", syscall(SYS_arch_prctl, ARCH_SET_GS, &number_at_a_place));
	} else if (!strcmp(line, "share")) {
		printf("%d\n", share());
	} else if (!strcmp(line, "generate")) {
		printf("%d\n", generate());
	} else if (!strcmp(line, "limit")) {
		printf("%d\n", limit());
	} else {
		puts("what?");
	}
}

int main(int argc, char **argv)
{
	char line[256];

	if (argc > 1 && !strcmp(argv[1], "once")) {
		for (uint64_t x = 0; x < 50; x++)
			do_round(x);
		return !!atomic_load(&wrong);
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("%lx:0 %lx:0 %lx:0 %lx:0 %lx:0 %lx:0 %lx:0\n", (unsigned long)site_plain,
	       (unsigned long)site_rip, (unsigned long)site_rsp + RSP_AT, (unsigned long)site_call,
	       (unsigned long)site_jump, (unsigned long)site_branch, (unsigned long)site_fs);
	while (fgets(line, sizeof(line), stdin)) {
		line[strcspn(line, "\n")] = 0;
		command(line);
	}
	return 0;
}
