// SPDX-License-Identifier: GPL-2.0
/*
 * A program that does to itself what a guarded program may do at worst, and
 * answers what it has computed, so that it is known whether that was disturbed.
 *
 * It says first where the call of its wait returns to, the distance from SP to
 * the slot of that address, and where its guards belong: step(), two
 * instructions within at_stack(), of which one can be emulated and one has to be
 * stepped, and a nop of 5 bytes.  Then it takes lines and answers "ok NUMBER"; each is a unit.
 *
 *   work N          N steps
 *   stack ADDRESS N the same with the two instructions, while SP is that
 *   edge N          the same with SP at the end of a mapping, beyond the end of
 *                   a file, and where nothing may be read
 *   maps N          N mappings, which stay
 *   nops N          N steps and nops
 *   forks N         the sum of what N children computed, all at once
 *   execs N         the same by programs that they execute, one after the other
 *   seccomp         from here on few system calls but those of its wait
 *   userns          in a user namespace of its own
 *   traced N        by a child, N steps, that is stepped through by ptrace
 *   watched N       traps of N writes that a child does to a watched variable
 *   reload PATH N   N times: load the library, call its floor(), forget it
 */

#include <dlfcn.h>
#include <err.h>
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>
#include <linux/filter.h>
#include <linux/seccomp.h>

#define NOINLINE __attribute__((noinline))

static uint64_t return_address, distance;
static volatile uint64_t watched;

/* As in guest/hostile.py. */
static NOINLINE uint64_t step(uint64_t x)
{
	__asm__ volatile("" : "+r"(x));
	return x * 6364136223846793005u + 1442695040888963407u;
}

static uint64_t work(uint64_t n)
{
	uint64_t x = n;

	while (n--)
		x = step(x);
	return x;
}

extern const char emulated_site[], stepped_site[];

/* Nothing may use the stack meanwhile. */
static NOINLINE uint64_t at_stack(uint64_t sp, uint64_t n)
{
	uint64_t x = n;

	__asm__ volatile("mov %%rsp, %%r12\n\t"
			 "mov %2, %%rsp\n"
			 "1:\n"
			 "emulated_site:\n\t"
			 "lea 7(%0), %0\n"
			 "stepped_site:\n\t"
			 "imul $11, %0, %0\n\t"
			 "dec %1\n\t"
			 "jnz 1b\n\t"
			 "mov %%r12, %%rsp"
			 : "+r"(x), "+r"(n)
			 : "r"(sp)
			 : "r12", "cc", "memory");
	return x;
}

extern const char nop_site[];

/* Some kernels replace the breakpoint on it, which must not be in two pages. */
static NOINLINE uint64_t nops(uint64_t n)
{
	uint64_t x = n;

	while (n--) {
		__asm__ volatile(".balign 8\n"
				 "nop_site:\n\t"
				 ".byte 0x0f, 0x1f, 0x44, 0x00, 0x00" : "+r"(x));
		x = step(x);
	}
	return x;
}

static uint64_t at_edges(uint64_t n)
{
	size_t page = 4096;
	FILE *file = tmpfile();
	char *hidden = mmap(NULL, 3 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *cut;
	uint64_t x = 0;

	if (!file || ftruncate(fileno(file), 100) || hidden == MAP_FAILED)
		err(1, "edge");
	cut = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_SHARED, fileno(file), 0);
	if (cut == MAP_FAILED || mprotect(hidden + page, page, PROT_READ | PROT_WRITE))
		err(1, "edge");
	x ^= at_stack((uintptr_t)hidden + 8, n);
	x += at_stack((uintptr_t)hidden + 2 * page - 8, n);
	x += at_stack((uintptr_t)hidden + 2 * page - 1, n);
	x += at_stack((uintptr_t)cut + page - 16, n);
	x += at_stack((uintptr_t)cut + page + 64, n);
	munmap(hidden, 3 * page);
	munmap(cut, 2 * page);
	fclose(file);
	return x;
}

/* Neighbours of other rights cannot become one. */
static uint64_t map_many(uint64_t n)
{
	uint64_t done = 0;

	while (done < n && mmap(NULL, 4096, done & 1 ? PROT_READ : PROT_NONE,
				MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED)
		done++;
	return done;
}

static uint64_t wait_for(pid_t pid)
{
	int status;

	if (waitpid(pid, &status, 0) < 0)
		err(1, "child");
	return WIFEXITED(status) ? (uint64_t)WEXITSTATUS(status) : 1000;
}

static pid_t start(void)
{
	pid_t pid = fork();

	if (pid < 0)
		err(1, "fork");
	return pid;
}

static uint64_t fork_many(uint64_t n)
{
	uint64_t sum = 0;

	for (uint64_t i = 0; i < n; i++)
		if (!start())
			_exit((int)(work(i) & 127));
	for (uint64_t i = 0; i < n; i++)
		sum += wait_for(-1);
	return sum;
}

static uint64_t execute_many(uint64_t n)
{
	uint64_t sum = 0;

	for (uint64_t i = 0; i < n; i++) {
		pid_t pid = start();
		char number[32];

		if (pid) {
			sum += wait_for(pid);
			continue;
		}
		snprintf(number, sizeof(number), "%lu", (unsigned long)i);
		execl("/proc/self/exe", "hostile", number, NULL);
		_exit(1);
	}
	return sum;
}

#define ALLOW(call) \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##call, 0, 1), \
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

static uint64_t confine(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		ALLOW(poll), ALLOW(read), ALLOW(write), ALLOW(exit_group),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	struct sock_fprog program = { sizeof(filter) / sizeof(*filter), filter };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		err(1, "seccomp");
	return 0;
}

static pid_t start_traced(uint64_t n)
{
	pid_t pid = start();

	if (!pid) {
		if (ptrace(PTRACE_TRACEME, 0, 0, 0))
			_exit(1);
		raise(SIGSTOP);
		while (n--)
			watched = step(watched);
		_exit((int)(watched & 127));
	}
	if (waitpid(pid, NULL, 0) != pid)
		err(1, "traced");
	return pid;
}

/* One instruction after the other. */
static uint64_t step_through(uint64_t n)
{
	pid_t pid;
	int status;

	watched = n;
	pid = start_traced(n);
	do {
		if (ptrace(PTRACE_SINGLESTEP, pid, 0, 0) || waitpid(pid, &status, 0) != pid)
			err(1, "step");
	} while (WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP);
	return WIFEXITED(status) ? (uint64_t)WEXITSTATUS(status) : 1000;
}

static void set_debug(pid_t pid, int number, uint64_t value)
{
	if (ptrace(PTRACE_POKEUSER, pid,
		   offsetof(struct user, u_debugreg) + (size_t)number * 8, value))
		err(1, "debug register %d", number);
}

static uint64_t count_writes(uint64_t n)
{
	uint64_t traps = 0;
	pid_t pid;
	int status;

	watched = n;
	pid = start_traced(n);
	set_debug(pid, 0, (uintptr_t)&watched);
	set_debug(pid, 7, 1 | 0x9 << 16); /* the first one, for writes of 8 bytes */
	for (;;) {
		if (ptrace(PTRACE_CONT, pid, 0, 0) || waitpid(pid, &status, 0) != pid)
			err(1, "watch");
		if (!WIFSTOPPED(status))
			break;
		traps += WSTOPSIG(status) == SIGTRAP;
	}
	return traps * 1000 + (uint64_t)WEXITSTATUS(status);
}

static uint64_t reload(const char *path, uint64_t n)
{
	double sum = 0;

	for (uint64_t i = 0; i < n; i++) {
		void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
		double (*function)(double) =
			library ? (double (*)(double))(uintptr_t)dlsym(library, "floor") : NULL;

		if (!function)
			errx(1, "%s", dlerror());
		sum += function((double)i + 0.5);
		dlclose(library);
	}
	return (uint64_t)sum;
}

static uint64_t carry_out(const char *line)
{
	uint64_t a = 0, b = 0;
	char word[16] = "", path[256];

	if (sscanf(line, "reload %255s %lu", path, &a) == 2)
		return reload(path, a);
	sscanf(line, "%15s %li %li", word, (long *)&a, (long *)&b);
	if (!strcmp(word, "stack"))
		return at_stack(a, b);
	if (!strcmp(word, "nops"))
		return nops(a);
	if (!strcmp(word, "edge"))
		return at_edges(a);
	if (!strcmp(word, "maps"))
		return map_many(a);
	if (!strcmp(word, "forks"))
		return fork_many(a);
	if (!strcmp(word, "execs"))
		return execute_many(a);
	if (!strcmp(word, "seccomp"))
		return confine();
	if (!strcmp(word, "userns"))
		return (uint64_t)unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWIPC);
	if (!strcmp(word, "traced"))
		return step_through(a);
	if (!strcmp(word, "watched"))
		return count_writes(a);
	return work(a);
}

/* As the loop of a program without a C library. */
static NOINLINE long wait_here(struct pollfd *fds)
{
	volatile char frame[200] = { 0 }; /* so that SP is not at the return address */
	uint64_t sp;
	long ret;

	__asm__ volatile("mov %%rsp, %1\n\t"
			 "syscall"
			 : "=a"(ret), "=&r"(sp)
			 : "a"(SYS_poll), "D"(fds), "S"(1L), "d"(fds->fd < 0 ? 0L : -1L),
			   "m"(frame)
			 : "rcx", "r11", "memory");
	return_address = (uint64_t)__builtin_return_address(0);
	distance = (uint64_t)__builtin_dwarf_cfa() - 8 - sp;
	return ret;
}

static NOINLINE void loop(struct pollfd *fds)
{
	char line[512], answer[64];
	ssize_t size;

	do {
		wait_here(fds);
		if (fds->fd < 0)
			return;
		size = read(0, line, sizeof(line) - 1);
		if (size <= 0)
			return;
		line[size] = 0;
		size = snprintf(answer, sizeof(answer), "ok %lu\n",
				(unsigned long)carry_out(line));
	} while (write(1, answer, (size_t)size) == size);
}

int main(int argc, char **argv)
{
	struct pollfd none = { .fd = -1 }, input = { .fd = 0, .events = POLLIN };

	if (argc > 1)
		return (int)(work(strtoull(argv[1], NULL, 0)) & 127);
	/* From the same place as later. */
	for (int i = 0; i < 2; i++) {
		if (i)
			dprintf(1, "%lx %lu %p %p %p %p\n", return_address, distance,
				(void *)(uintptr_t)step, (const void *)emulated_site,
				(const void *)stepped_site, (const void *)nop_site);
		loop(i ? &input : &none);
	}
	return 0;
}
