/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A confined process (confine.h) that answers questions about one file.  What it
 * answers may be a lie.  If it does not answer in time, it is killed.
 */
#ifndef _USER_BINARY_HELPER_HELPER_H
#define _USER_BINARY_HELPER_HELPER_H

#include <stddef.h>
#include <sys/types.h>

struct helper {
	pid_t pid; /* 0: none */
	int socket;
};

/* Answers what comes by the socket CONFINE_SOCKET about CONFINE_FILE, until its end. */
typedef void helper_main(void *arg);

/*
 * Start a helper that reads @file, which the caller keeps.  It runs @main with @arg in a
 * copy of this process.  Returns 0 or a negative errno, then there is none.
 */
int helper_start(struct helper *helper, int file, helper_main *main, void *arg);

/* Send one message.  Returns 0; on -EIO the helper was stopped. */
int helper_send(struct helper *helper, const void *message, size_t size);

/* The same with a copy of descriptor @fd. */
int helper_send_file(struct helper *helper, const void *message, size_t size, int fd);

/*
 * Wait for one message of at most @size bytes: while it takes the helper 2 s of CPU time,
 * and 5 s in all.  Returns its size.  The helper was stopped on -EIO, when it has
 * ended, is late or sent too much; and on -EINTR, when a signal is pending that ends us.
 */
ssize_t helper_receive(struct helper *helper, void *ret, size_t size);

/* Kill it, if there is one. */
void helper_stop(struct helper *helper);

#endif /* _USER_BINARY_HELPER_HELPER_H */
