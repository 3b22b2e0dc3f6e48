// SPDX-License-Identifier: GPL-2.0

#include "binary/helper/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/capabilities.h"

enum {
	NR_DESCRIPTORS = 16,
};

#define MEMORY_BYTES (512ull << 20)

#define LOAD(member) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, member))
#define RETURN(what) BPF_STMT(BPF_RET | BPF_K, what)
/* Skip the next instruction unless the loaded word is @value. */
#define UNLESS(value) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1)
#define ALLOW(call) UNLESS(__NR_##call), RETURN(SECCOMP_RET_ALLOW)
/* These may not make memory executable. */
#define ALLOW_MEMORY(call)                                                   \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_##call, 0, 4), LOAD(args[2]), \
	BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC, 0, 1), REFUSE,        \
	RETURN(SECCOMP_RET_ALLOW)
#define REFUSE RETURN(SECCOMP_RET_ERRNO | EPERM)

/* What malloc(), libelf, libdw and the answers need. */
static struct sock_filter filter[] = {
	LOAD(arch), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0),
	RETURN(SECCOMP_RET_KILL_PROCESS),
	LOAD(nr),
	ALLOW(pread64), ALLOW(read), ALLOW(lseek), ALLOW(fstat), ALLOW(close),
	ALLOW(sendmsg), ALLOW(recvmsg),
	ALLOW(brk), ALLOW(munmap), ALLOW(mremap), ALLOW(madvise), ALLOW(futex), ALLOW(getrandom),
	ALLOW(rt_sigreturn), ALLOW(exit_group),
	ALLOW_MEMORY(mmap),
	ALLOW_MEMORY(mprotect),
	/* libelf looks whether a descriptor is one; fstat() of newer C libraries */
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_fcntl, 0, 3), LOAD(args[1]),
	UNLESS(F_GETFD), RETURN(SECCOMP_RET_ALLOW),
	LOAD(nr), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_newfstatat, 0, 3), LOAD(args[3]),
	UNLESS(AT_EMPTY_PATH), RETURN(SECCOMP_RET_ALLOW),
	REFUSE,
};

static int limit(int resource, uint64_t most)
{
	const struct rlimit both = { most, most };

	return setrlimit(resource, &both) ? -errno : 0;
}

/* Bytes of address space that this process has. */
static uint64_t memory_now(void)
{
	FILE *file = fopen("/proc/self/statm", "re");
	unsigned long long pages = 0;

	if (file && fscanf(file, "%llu", &pages) != 1)
		pages = 0;
	if (file)
		fclose(file);
	return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static int keep_descriptors(int socket, int file)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	/* out of the way of the numbers they get */
	socket = fcntl(socket, F_DUPFD, NR_DESCRIPTORS);
	file = fcntl(file, F_DUPFD, NR_DESCRIPTORS);
	if (null < 0 || socket < 0 || file < 0)
		return -errno;
	for (int fd = 0; fd <= STDERR_FILENO; fd++)
		if (dup2(null, fd) < 0)
			return -errno;
	if (dup2(socket, CONFINE_SOCKET) < 0 || dup2(file, CONFINE_FILE) < 0 ||
	    syscall(__NR_close_range, CONFINE_FILE + 1, ~0u, 0))
		return -errno;
	return 0;
}

static void reset_signals(void)
{
	sigset_t none;

	sigemptyset(&none);
	for (int number = 1; number < NSIG; number++)
		signal(number, SIG_DFL);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

static int enter_filter(void)
{
	struct sock_fprog program = {
		.len = sizeof(filter) / sizeof(filter[0]), .filter = filter,
	};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		return -errno;
	return 0;
}

int confine(int socket, int file, unsigned int cpu_s)
{
	int err;

	/* in no process group of a terminal: ^C is for the parent */
	if (setpgid(0, 0) || prctl(PR_SET_PDEATHSIG, SIGKILL) || prctl(PR_SET_DUMPABLE, 0))
		return -errno;
	reset_signals();
	err = limit(RLIMIT_AS, memory_now() + MEMORY_BYTES);
	if (!err)
		err = limit(RLIMIT_CPU, cpu_s);
	if (!err)
		err = limit(RLIMIT_FSIZE, 0);
	if (!err)
		err = keep_descriptors(socket, file);
	if (!err)
		err = limit(RLIMIT_NOFILE, NR_DESCRIPTORS);
	if (!err)
		err = capabilities_drop();
	return err ? err : enter_filter();
}
