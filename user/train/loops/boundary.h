/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which of a thread's waits is its event loop's own.
 *
 * Input are the waits of the threads of one image, in the order in which each
 * thread made them, with the unwound stack of each place.  A thread that waits
 * in several places has a frame, the branch frame, from which they part: the
 * outermost frame that was left by different calls.  The loop's own wait is
 * reached by one of these calls; what is reached by the others (a lock, a read
 * in the middle of a request) is in mid-unit.
 *
 * Pure: no I/O, no library.
 */
#ifndef _USER_TRAIN_LOOPS_BOUNDARY_H
#define _USER_TRAIN_LOOPS_BOUNDARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "train/loops/empty-poll.h"

/* A frame as far as it matters here. */
struct boundary_frame {
	uint64_t pc; /* return address (frame 0: the system call's) */
	uint64_t slot; /* stack address that holds pc; 0 in frame 0 */
	uint64_t function; /* first address of the function, 0 if unknown */
};

/* A place a thread waits in; frames innermost first, owned by the caller. */
struct boundary_place {
	uint32_t tid;
	uint32_t pid;
	uint32_t syscall;
	uint64_t sp; /* at the system call */
	uint64_t lock; /* address of the futex that was waited for first; 0: none */
	uint32_t nr_frames;
	/*
	 * It belongs to a loop already, so the module no longer reports waits
	 * in it: there may be many more than are reported.
	 */
	bool is_own;
	const struct boundary_frame *frames;
};

/* One wait: an index into the places, in the thread's order of time. */
struct boundary_wait {
	uint32_t place;
	uint64_t blocked_ns; /* 0 if the call did not sleep */
	uint64_t enter_ns; /* CLOCK_MONOTONIC */
	bool is_empty; /* it brought nothing */
	struct empty_poll poll; /* what came before it, in the places' numbers */
};

/* A wait context as loop-set takes it. */
struct boundary_context {
	uint32_t loop_id; /* from 1; equal for threads of the same loop */
	uint32_t syscall;
	uint32_t distance; /* bytes from sp at the call to the return slot */
	uint64_t return_address;
	uint32_t place; /* an example */
	uint32_t frame; /* index of the return address' frame in that place */
};

/*
 * Decide.  @ret gets a malloc'ed array (the caller frees it) of *@ret_nr
 * contexts without duplicates.  Returns 0 or -ENOMEM.
 */
int boundary_find(const struct boundary_place *places, uint32_t nr_places,
		  const struct boundary_wait *waits, size_t nr_waits,
		  struct boundary_context **ret, uint32_t *ret_nr);

#endif /* _USER_TRAIN_LOOPS_BOUNDARY_H */
