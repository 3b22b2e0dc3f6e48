// SPDX-License-Identifier: GPL-2.0

#include "syscall.h"

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

static const struct {
	uint32_t number;
	const char *name;
} names[] = {
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

const char *syscall_name(uint32_t number)
{
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (names[i].number == number)
			return names[i].name;
	return NULL;
}
