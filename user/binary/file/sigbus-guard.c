// SPDX-License-Identifier: GPL-2.0
/*
 * libelf maps files, and a check of the size holds only at that moment.  So the
 * handler replaces the page that cannot be read by one of zeros, which the
 * reader takes for a damaged file.
 */

#include "binary/file/sigbus-guard.h"

#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

static uintptr_t page_bytes;

/* mmap() is a plain system call, so a signal handler may call it. */
static void on_sigbus(int signal_number, siginfo_t *info, void *context)
{
	uintptr_t page = (uintptr_t)info->si_addr & -page_bytes;

	(void)context;
	if (info->si_code == BUS_ADRERR &&
	    mmap((void *)page, page_bytes, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED)
		return;
	/* The instruction runs again, and the signal kills the process. */
	signal(signal_number, SIG_DFL);
}

void sigbus_guard_enable(void)
{
	struct sigaction action = { .sa_sigaction = on_sigbus, .sa_flags = SA_SIGINFO };

	page_bytes = (uintptr_t)sysconf(_SC_PAGESIZE);
	sigaction(SIGBUS, &action, NULL);
}
