// SPDX-License-Identifier: GPL-2.0

#include "train/loops/wait-shape.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/array.h"
#include "base/hash-index.h"
#include "train/loops/shared-lock.h"

#ifndef SYS_epoll_pwait2
#define SYS_epoll_pwait2 441
#endif

enum shape_kind shape_kind_of(uint32_t syscall)
{
	switch (syscall) {
	case SYS_epoll_wait:
	case SYS_epoll_pwait:
	case SYS_epoll_pwait2:
	case SYS_poll:
	case SYS_ppoll:
	case SYS_select:
	case SYS_pselect6:
	case SYS_io_uring_enter:
	case SYS_io_getevents:
	case SYS_io_pgetevents:
		return SHAPE_MANY;
	case SYS_accept:
	case SYS_accept4:
		return SHAPE_ACCEPT;
	case SYS_read:
	case SYS_readv:
	case SYS_pread64:
	case SYS_recvfrom:
	case SYS_recvmsg:
	case SYS_recvmmsg:
		return SHAPE_READ;
	case SYS_nanosleep:
	case SYS_clock_nanosleep:
		return SHAPE_SLEEP;
	default:
		return SHAPE_WAKEUP;
	}
}

/*
 * The innermost frame's own address is left out: a wrapper can hold the
 * instruction twice, for programs with one and with several threads.
 */
static bool is_same(const struct boundary_place *a, const struct boundary_place *b)
{
	if (a->syscall != b->syscall || a->nr_frames != b->nr_frames)
		return false;
	for (uint32_t i = 1; i < a->nr_frames; i++)
		if (a->frames[i].pc != b->frames[i].pc)
			return false;
	/* the same calls with other frame sizes need a context of their own */
	return a->frames[a->nr_frames - 1].slot - a->sp == b->frames[b->nr_frames - 1].slot - b->sp;
}

/* Equal places have equal hashes. */
static uint64_t hash_place(const struct boundary_place *place)
{
	uint64_t hash = place->syscall;

	for (uint32_t i = 1; i < place->nr_frames; i++)
		hash = hash_mix(hash, place->frames[i].pc);
	return hash;
}

/* The shape of @places[@at], a new one if no place before has it. */
static int find_shape(struct shapes *shapes, struct hash_index *index,
		      const struct boundary_place *places, uint32_t at, uint32_t *ret)
{
	uint64_t hash = hash_place(&places[at]);
	uint32_t cursor = 0;

	while ((*ret = hash_index_next(index, hash, &cursor)) != HASH_INDEX_NONE)
		if (is_same(shapes->entries[*ret].place, &places[at]))
			return 0;
	*ret = shapes->nr;
	shapes->entries[shapes->nr++] = (struct shape){
		.place = &places[at],
		.place_index = at,
		.kind = shape_kind_of(places[at].syscall),
	};
	return hash_index_add(index, hash);
}

int shapes_init(struct shapes *shapes, const struct boundary_place *places, uint32_t nr_places)
{
	struct hash_index index = { 0 };
	bool *is_lock = NULL;
	int error = 0;

	memset(shapes, 0, sizeof(*shapes));
	if (!nr_places)
		return 0;
	if (array_new(shapes->entries, nr_places) || array_new(shapes->of_place, nr_places) ||
	    array_new(is_lock, nr_places) || shared_lock_find(places, nr_places, is_lock))
		error = -ENOMEM;
	for (uint32_t i = 0; i < nr_places && !error; i++) {
		uint32_t *shape = &shapes->of_place[i];

		*shape = SHAPE_NONE;
		if (places[i].nr_frames < 2 || is_lock[i])
			continue;
		error = find_shape(shapes, &index, places, i, shape);
		shapes->entries[*shape].is_own |= places[i].is_own;
	}
	hash_index_deinit(&index);
	free(is_lock);
	if (error)
		shapes_deinit(shapes);
	return error;
}

void shapes_deinit(struct shapes *shapes)
{
	free(shapes->entries);
	free(shapes->of_place);
	memset(shapes, 0, sizeof(*shapes));
}

uint32_t shape_common(const struct shape *a, const struct shape *b)
{
	uint32_t level = 0;

	while (level < a->place->nr_frames - 1 && level < b->place->nr_frames - 1 &&
	       shape_call(a, level) == shape_call(b, level))
		level++;
	return level;
}

uint64_t shape_call(const struct shape *shape, uint32_t level)
{
	uint32_t frame = shape_frame(shape, level);

	/* system call numbers are far below any address of code */
	return frame ? shape->place->frames[frame].pc : shape->place->syscall;
}

static uint64_t shape_stack(const struct shape *shape)
{
	return shape->place->frames[shape->place->nr_frames - 1].slot;
}

bool shape_same_function(const struct shape *a, const struct shape *b, uint32_t level)
{
	uint64_t function;

	/* on one stack are the main threads of a process and of its children */
	if (shape_stack(a) == shape_stack(b))
		return false;
	if (level >= a->place->nr_frames || level >= b->place->nr_frames)
		return false;
	function = a->place->frames[shape_frame(a, level)].function;
	return function && function == b->place->frames[shape_frame(b, level)].function;
}
