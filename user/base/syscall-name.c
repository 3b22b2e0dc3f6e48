// SPDX-License-Identifier: GPL-2.0

#include "base/syscall-name.h"

#include <stddef.h>
#include <sys/syscall.h>

#ifndef SYS_epoll_pwait2
#define SYS_epoll_pwait2 441
#endif
#ifndef SYS_futex_waitv
#define SYS_futex_waitv 449
#endif
#ifndef SYS_futex_wait
#define SYS_futex_wait 455
#endif

#define NAME(call) { SYS_##call, #call }

struct name {
	uint32_t number;
	const char *name;
};

static const struct name waits[] = {
	NAME(read),	       NAME(readv),	     NAME(pread64),
	NAME(poll),	       NAME(ppoll),	     NAME(select),
	NAME(pselect6),	       NAME(epoll_wait),     NAME(epoll_pwait),
	NAME(epoll_pwait2),    NAME(futex),	     NAME(futex_waitv),
	NAME(futex_wait),      NAME(accept),	     NAME(accept4),
	NAME(recvfrom),	       NAME(recvmsg),	     NAME(recvmmsg),
	NAME(rt_sigtimedwait), NAME(rt_sigsuspend),  NAME(pause),
	NAME(nanosleep),       NAME(clock_nanosleep), NAME(io_uring_enter),
	NAME(io_getevents),    NAME(io_pgetevents),  NAME(msgrcv),
	NAME(mq_timedreceive), NAME(semop),	     NAME(semtimedop),
	NAME(wait4),	       NAME(waitid),	     NAME(flock),
	NAME(restart_syscall), NAME(write),	     NAME(writev),
	NAME(sendto),	       NAME(sendmsg),
};

/* Others that may delay a thread. */
static const struct name others[] = {
	NAME(open),	     NAME(openat),	  NAME(close),
	NAME(stat),	     NAME(lstat),	  NAME(fstat),
	NAME(newfstatat),    NAME(statx),	  NAME(access),
	NAME(getdents64),    NAME(lseek),	  NAME(pwrite64),
	NAME(preadv),	     NAME(pwritev),	  NAME(fsync),
	NAME(fdatasync),     NAME(msync),	  NAME(sync_file_range),
	NAME(fallocate),     NAME(ftruncate),	  NAME(truncate),
	NAME(rename),	     NAME(renameat),	  NAME(renameat2),
	NAME(unlink),	     NAME(unlinkat),	  NAME(mkdir),
	NAME(rmdir),	     NAME(readlink),	  NAME(chmod),
	NAME(chown),	     NAME(utimensat),	  NAME(fcntl),
	NAME(ioctl),	     NAME(sendfile),	  NAME(splice),
	NAME(copy_file_range), NAME(sendmmsg),	  NAME(connect),
	NAME(shutdown),	     NAME(mmap),	  NAME(munmap),
	NAME(mprotect),	     NAME(mremap),	  NAME(madvise),
	NAME(brk),	     NAME(fork),	  NAME(vfork),
	NAME(clone),	     NAME(clone3),	  NAME(execve),
	NAME(exit_group),    NAME(kill),	  NAME(sched_yield),
	NAME(getrandom),     NAME(syncfs),	  NAME(sync),
	NAME(io_submit),     NAME(mq_timedsend),  NAME(msgsnd),
};

static const char *find(const struct name *names, size_t nr, uint32_t number)
{
	for (size_t i = 0; i < nr; i++)
		if (names[i].number == number)
			return names[i].name;
	return NULL;
}

const char *syscall_name(uint32_t number)
{
	return find(waits, sizeof(waits) / sizeof(waits[0]), number);
}

const char *syscall_any_name(uint32_t number)
{
	const char *name = syscall_name(number);

	return name ? name : find(others, sizeof(others) / sizeof(others[0]), number);
}
