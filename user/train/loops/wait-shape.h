/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Places of waits, compared.  Places with the same calls from the thread's
 * start to the system call are one shape, in whatever thread: the threads of
 * an image have the same addresses.  Levels count from the outermost frame, 0.
 */
#ifndef _USER_TRAIN_LOOPS_WAIT_SHAPE_H
#define _USER_TRAIN_LOOPS_WAIT_SHAPE_H

#include <stdbool.h>
#include <stdint.h>

#include "train/loops/boundary.h"

struct shape {
	const struct boundary_place *place; /* the first of this shape */
	uint32_t place_index;
	uint32_t kind; /* enum shape_kind */
	bool is_own; /* one of its places is */
};

/* What a call waits for; smaller is more likely an event loop's own wait. */
enum shape_kind {
	SHAPE_MANY, /* for any of several things: epoll, poll, select, io_uring */
	SHAPE_ACCEPT,
	SHAPE_WAKEUP, /* for another thread, a signal, a child */
	SHAPE_READ, /* for bytes */
	SHAPE_SLEEP,
};

/* What a wait call (x86-64) waits for. */
enum shape_kind shape_kind_of(uint32_t syscall);

struct shapes {
	struct shape *entries;
	uint32_t nr;
	/* The shape of each place; SHAPE_NONE if it has no caller, or is at a shared lock. */
	uint32_t *of_place;
};

enum {
	SHAPE_NONE = UINT32_MAX,
};

/* Returns 0 or -ENOMEM. */
int shapes_init(struct shapes *shapes, const struct boundary_place *places, uint32_t nr_places);
void shapes_deinit(struct shapes *shapes);

/* Index of @shape's frame at @level, which it must have. */
static inline uint32_t shape_frame(const struct shape *shape, uint32_t level)
{
	return shape->place->nr_frames - 1 - level;
}

/* How many of the outermost frames of both are at the same return address. */
uint32_t shape_common(const struct shape *a, const struct shape *b);

/*
 * The identity of the call, at @level, by which the frame was left: its return address,
 * or the system call in the innermost frame.
 */
uint64_t shape_call(const struct shape *shape, uint32_t level);

/*
 * True if threads of one process leave the same function at @level by different
 * calls; false where that is not known.
 */
bool shape_same_function(const struct shape *a, const struct shape *b, uint32_t level);

#endif /* _USER_TRAIN_LOOPS_WAIT_SHAPE_H */
