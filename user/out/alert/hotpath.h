/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Where the time of one unit went: its stacks, merged into one weighted
 * calling-context tree.
 *
 * A stack stands for the time from when it was taken to when the next one was;
 * the last one for the time up to when the unit was last heard of.  What was
 * before the first stack belongs to none: nobody looked then, and to give it to
 * the first would make much of the place where the unit became late by chance.
 *
 * Functions, not addresses, are distinguished: by build id (or path, where there
 * is none) and first byte; code made at run time, which has none of these, by
 * the memory it is in.  A recursion is kept once: of a sequence of up to
 * eight functions that follows itself, only the first remains.
 *
 * Plain data.  It points into the frames it was made of.
 */
#ifndef _USER_OUT_ALERT_HOTPATH_H
#define _USER_OUT_ALERT_HOTPATH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "data/frame.h"

/* One stack of the unit. */
struct hotpath_stack {
	uint64_t at_ns; /* CLOCK_MONOTONIC */
	const struct frame *frames; /* innermost first */
	uint32_t nr_frames;
	bool is_blocked; /* in the kernel when it was taken */
};

/*
 * A function, or a bare place in a file where the function is not known, or
 * memory without a file.
 */
struct hotpath_place {
	const char *module; /* or NULL: offset is an address of the process */
	const char *build_id; /* or NULL */
	uint64_t offset; /* in the file, of the function's first byte */
	const char *function; /* or NULL */
};

/* A step of the hot path. */
struct hotpath_step {
	struct hotpath_place place;
	uint64_t ns; /* in it or further in, whoever called it */
	uint32_t nr_calls; /* in a row, most in a stack; more than 1 is a recursion */
	bool by_several; /* by the step before it, if at all, for a part of the time only */
};

/*
 * A function of the unit.  What the C library and its like do is also charged
 * to the program's function that called them: to sleep in nanosleep() is the
 * doing of who called it.
 */
struct hotpath_function {
	struct hotpath_place place;
	uint64_t own_ns; /* in it, or in a system library that it called */
	uint64_t self_ns; /* in it alone */
	uint64_t blocked_ns; /* part of own: in the kernel */
	uint64_t total_ns; /* on the stack at all */
};

struct hotpath {
	uint64_t ns; /* what the stacks stand for; shares are of it; 0: no stack */
	uint32_t nr_stacks;
	uint32_t nr_steps;
	struct hotpath_step *steps; /* outermost first */
	uint32_t nr_functions;
	struct hotpath_function *functions; /* by own, then self, then total time, falling */
};

/*
 * Merge @nr stacks, in the order of time.  @end_ns is when the unit was last
 * heard of; @stacks after it stand for no time, unless there is no other.
 * Returns 0 or -ENOMEM; hotpath_deinit() frees it.
 *
 * The hot path leads from the outermost function that has most time, of equal
 * ones the first, along the callees with most time to the end; steps are those
 * that have more than three fifths of all, however they were reached.  Others that
 * have so much follow, by their time.
 */
int hotpath_init(struct hotpath *hotpath, const struct hotpath_stack *stacks, uint32_t nr,
		 uint64_t end_ns);
void hotpath_deinit(struct hotpath *hotpath);

/* The time that stack @index of these stands for. */
uint64_t hotpath_weight(const struct hotpath_stack *stacks, uint32_t nr, uint32_t index,
			uint64_t end_ns);

/* The part of @ns in the whole, 0 to 1. */
double hotpath_share(const struct hotpath *hotpath, uint64_t ns);

/*
 * A hash of the functions on the hot path, without those of system libraries at
 * its end: where a copy or a lock was when somebody looked is chance.
 */
uint64_t hotpath_hash(const struct hotpath *hotpath);

/* The last step that is no system library's; the last one if all are. */
uint32_t hotpath_own_step(const struct hotpath *hotpath);

/*
 * Where no function has most of the time of its own: the innermost step below
 * which nearly all of it goes.  NULL if one has, or there is no such step but
 * where each program begins.
 */
const struct hotpath_step *hotpath_focus(const struct hotpath *hotpath);

/* The function where the time goes, "name" or "module+0x12"; "" if there is none. */
char *hotpath_name(const struct hotpath *hotpath, char *ret, size_t size);

/* Where any program begins: main() and what calls it. */
bool hotpath_is_outer(const struct hotpath_place *place);

struct hotpath_place hotpath_place(const struct frame *frame);

/* The C library, allocators, the dynamic linker and the kernel's own page. */
bool hotpath_is_system(const char *module);

#endif /* _USER_OUT_ALERT_HOTPATH_H */
