// SPDX-License-Identifier: GPL-2.0

#include "train/trace/empty-poll.h"

#include <errno.h>
#include <sys/syscall.h>

#include "train/loops/boundary.h"
#include "train/loops/wait-shape.h"

bool look_is_vain(uint32_t syscall, int64_t result)
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

void look_begin(struct look_thread *thread, uint32_t tid)
{
	*thread = (struct look_thread){
		.tid = tid,
		.look = { .place = LOOK_NONE, .between = LOOK_NONE },
	};
}

/*
 * The mutex of a condition is taken again after its wait: so one wait in
 * another place may lie between.  Which, is for those to judge who know what
 * belongs together.
 */
void look_follow(struct look_thread *thread, struct boundary_wait *wait)
{
	struct look *look = &thread->look;

	if (wait->enter_ns > thread->end_ns)
		look->since_ns += wait->enter_ns - thread->end_ns;
	thread->end_ns = wait->enter_ns + wait->blocked_ns;
	wait->look = *look;
	if (wait->is_vain)
		*look = (struct look){
			.place = wait->place,
			.between = LOOK_NONE,
			.slept_ns = wait->blocked_ns,
		};
	else if (wait->place == look->place || look->between != LOOK_NONE)
		look->place = LOOK_NONE;
	else
		look->between = wait->place;
}

void look_renumber(struct look *look, const uint32_t *to)
{
	uint32_t between = look->between;

	if (look->place != LOOK_NONE)
		look->place = to[look->place];
	if (between == LOOK_NONE)
		return;
	look->between = to[between];
	if (look->between == LOOK_NONE)
		look->place = LOOK_NONE;
}
