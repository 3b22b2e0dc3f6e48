/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Looks for work that found none, and what the thread waited in next.
 *
 * A worker that is idle does not always wait in one place.  It looks for work
 * where it mostly finds some, waiting for a while or not at all; and if it finds
 * none, it goes to sleep somewhere else: a queue of threads that have nothing
 * to do, a condition until the thread that listens for all has too much.  So a
 * wait that a thread comes to from an empty poll is a wait for work as well.
 * One for a lock, or for a reply, comes after a wait that brought something.
 */
#ifndef _USER_TRAIN_LOOPS_EMPTY_POLL_H
#define _USER_TRAIN_LOOPS_EMPTY_POLL_H

#include <stdbool.h>
#include <stdint.h>

enum {
	EMPTY_POLL_NONE = UINT32_MAX,
};

/* The last empty poll of a thread before a wait. */
struct empty_poll {
	uint32_t place; /* EMPTY_POLL_NONE: there is none, or something came since then */
	uint32_t between; /* where it waited since then, or EMPTY_POLL_NONE */
	uint64_t slept_ns; /* in the poll */
	uint64_t since_ns; /* from its end, without that other wait */
};

/* A thread whose waits are followed. */
struct empty_poll_thread {
	uint32_t tid;
	uint64_t end_ns; /* of its last wait */
	struct empty_poll poll;
};

struct boundary_wait;

/* True if a wait call (x86-64) that returned @result brought nothing. */
bool empty_poll_is(uint32_t syscall, int64_t result);

void empty_poll_begin(struct empty_poll_thread *thread, uint32_t tid);

/* The thread's next wait: it gets its empty poll, and may be one. */
void empty_poll_follow(struct empty_poll_thread *thread, struct boundary_wait *wait);

/* Places get the numbers in @to, EMPTY_POLL_NONE for those that go: no empty poll then. */
void empty_poll_renumber(struct empty_poll *poll, const uint32_t *to);

#endif /* _USER_TRAIN_LOOPS_EMPTY_POLL_H */
