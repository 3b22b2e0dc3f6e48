/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Where the time of an incident went, read from its lines: its stacks, and its
 * hot path, which is found here where a line has stacks only.
 */
#ifndef _USER_OUT_READ_READ_PATH_H
#define _USER_OUT_READ_READ_PATH_H

#include <stdint.h>

#include <jansson.h>

#include "out/alert/hotpath.h"

/* A stack as its line has it. */
struct read_stack {
	uint64_t at_ns; /* CLOCK_MONOTONIC */
	uint64_t into_ns; /* since the begin of the unit; 0: not known */
	struct frame *frames; /* innermost first */
	uint32_t nr_frames;
	uint32_t tid; /* of another thread, which holds the lock; 0: its own */
	bool is_blocked;
	const char *syscall; /* or NULL */
};

/* Their texts are those of the objects they were read from. */
struct read_stacks {
	struct read_stack *of;
	uint32_t nr;
	uint32_t nr_frames; /* of all */
};

/*
 * Add those of @object that are not there yet, in the order of time.  Returns 0 or -ENOMEM;
 * read_stacks_deinit() afterwards in any case.
 */
int read_stacks_add(struct read_stacks *stacks, const json_t *object);
void read_stacks_deinit(struct read_stacks *stacks);

/* Merge those of its own thread; @elapsed_ns is how long it took. */
int read_stacks_merge(const struct read_stacks *stacks, uint64_t elapsed_ns,
		      struct hotpath *ret);

/* The time that a stack stands for, as hotpath_weight(); 0 for one of another thread. */
uint64_t read_stacks_weight(const struct read_stacks *stacks, uint32_t index,
			    uint64_t elapsed_ns);

/*
 * The hot path of a line: as it is there, or by its stacks.  Shares are of
 * ret->ns.  Returns 0 or -ENOMEM; hotpath_deinit() frees it.
 */
int read_path(const json_t *object, struct hotpath *ret);

/* As hotpath_hash(); 0 of a line without stacks. */
int read_path_hash(const json_t *object, uint64_t *ret);

#endif /* _USER_OUT_READ_READ_PATH_H */
