// SPDX-License-Identifier: GPL-2.0

#include "train/loops/empty-poll.h"

#include <errno.h>
#include <sys/syscall.h>

#include "train/loops/boundary.h"
#include "train/loops/wait-shape.h"

bool empty_poll_is(uint32_t syscall, int64_t result)
{
	switch (shape_kind_of(syscall)) {
	case SHAPE_MANY:
		return !result || result == -ETIME;
	case SHAPE_ACCEPT:
	case SHAPE_READ:
		return result == -EAGAIN;
	case SHAPE_WAKEUP:
		/* A futex says EAGAIN when it was faster than the thread. */
		return result == -ETIMEDOUT ||
		       (result == -EAGAIN && syscall == SYS_rt_sigtimedwait);
	default:
		return false; /* time is all it waits for */
	}
}

void empty_poll_begin(struct empty_poll_thread *thread, uint32_t tid)
{
	*thread = (struct empty_poll_thread){
		.tid = tid,
		.poll = { .place = EMPTY_POLL_NONE, .between = EMPTY_POLL_NONE },
	};
}

/*
 * The mutex of a condition is taken again after its wait: so one wait in
 * another place may lie between.  Which, is for those to judge who know what
 * belongs together.
 */
void empty_poll_follow(struct empty_poll_thread *thread, struct boundary_wait *wait)
{
	struct empty_poll *poll = &thread->poll;

	if (wait->enter_ns > thread->end_ns)
		poll->since_ns += wait->enter_ns - thread->end_ns;
	thread->end_ns = wait->enter_ns + wait->blocked_ns;
	wait->poll = *poll;
	if (wait->is_empty)
		*poll = (struct empty_poll){
			.place = wait->place,
			.between = EMPTY_POLL_NONE,
			.slept_ns = wait->blocked_ns,
		};
	else if (wait->place == poll->place || poll->between != EMPTY_POLL_NONE)
		poll->place = EMPTY_POLL_NONE;
	else
		poll->between = wait->place;
}

void empty_poll_renumber(struct empty_poll *poll, const uint32_t *to)
{
	uint32_t between = poll->between;

	if (poll->place != EMPTY_POLL_NONE)
		poll->place = to[poll->place];
	if (between == EMPTY_POLL_NONE)
		return;
	poll->between = to[between];
	if (poll->between == EMPTY_POLL_NONE)
		poll->place = EMPTY_POLL_NONE;
}
