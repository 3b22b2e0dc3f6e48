/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A confined process (confine.h) that answers questions about one file.  What it
 * answers may be a lie.  If it does not answer in time, it is killed.
 */
#ifndef _USER_BINARY_HELPER_HELPER_H
#define _USER_BINARY_HELPER_HELPER_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/duration.h"

struct helper {
	pid_t pid; /* 0: none */
	int socket;
	uint64_t max_cpu_ns; /* for an answer: HELPER_CPU_NS, unless it is set */
	uint32_t nr_wanted; /* files with symbols that it asked for, see wanted.h */
};

#define HELPER_CPU_NS (1900 * NSEC_PER_MSEC) /* with what is not noticed, 2 s */

/* Answers what comes by the socket CONFINE_SOCKET about CONFINE_FILE, until its end. */
typedef void helper_main(void *arg);

/*
 * Start a helper that reads @file, which the caller keeps.  It runs @main with @arg in a
 * copy of this process, which may take @cpu_s in all.  Returns 0 or a negative errno, then
 * there is none.
 */
int helper_start(struct helper *helper, int file, unsigned int cpu_s, helper_main *main,
		 void *arg);

/* Send one message.  Returns 0; on -EIO the helper was stopped. */
int helper_send(struct helper *helper, const void *message, size_t size);

/* The same with a copy of descriptor @fd. */
int helper_send_file(struct helper *helper, const void *message, size_t size, int fd);

/*
 * Wait for one message of at most @size bytes: while the helper takes its max_cpu_ns, and
 * twice that and 1.2 s in all.  Returns its size.  The helper was stopped on -EIO, when it has
 * ended, is late or sent too much; and on -EINTR, when a signal is pending that ends us.
 */
ssize_t helper_receive(struct helper *helper, void *ret, size_t size);

/* Kill it, if there is one. */
void helper_stop(struct helper *helper);

#endif /* _USER_BINARY_HELPER_HELPER_H */
