/* SPDX-License-Identifier: GPL-2.0 */
/*
 * From a copy of a thread's stack to its frames, by the unwind rules
 * (.eh_frame) of the files it runs.  Neither symbols nor frame pointers are
 * needed; the thread is not touched.
 *
 * Other people's files are read by helpers (binary/helper/).  An unwinder keeps those
 * processes, what they said about the files, and everything its frames point to,
 * until it is destroyed or forgets.  It belongs to one thread.
 */
#ifndef _USER_BINARY_STACK_UNWIND_H
#define _USER_BINARY_STACK_UNWIND_H

#include <stdbool.h>
#include <stdint.h>

#include "data/frame.h"
#include "data/stack-copy.h"

enum {
	UNWIND_MAX_FRAMES = 256,
};

/* Why a list of frames ends. */
enum unwind_end {
	UNWIND_COMPLETE, /* at the thread's start */
	UNWIND_TRUNCATED, /* at the end of a stack copy that was cut, or at a page it lacks */
	UNWIND_TOO_DEEP, /* there are more frames than room */
	UNWIND_NO_FILE, /* at code whose file cannot be read in time, or is another one now */
	UNWIND_NO_RULE, /* at code without unwind rules, or without a file */
	UNWIND_BROKEN, /* at a rule that leads nowhere, or outside of the copy */
};

struct unwinder;

/* NULL if there is no memory. */
struct unwinder *unwinder_create(void);
void unwinder_destroy(struct unwinder *unwinder);

/*
 * Its names are kept for as long as frames may point to them.  Whoever unwinds
 * without an end drops all of its frames when they are very many, and then calls
 * unwinder_forget(), which frees them.
 */
bool unwinder_is_full(const struct unwinder *unwinder);
void unwinder_forget(struct unwinder *unwinder);

/*
 * Read what the first stacks of process @pid would need of the files that it runs, until @end_ns
 * (CLOCK_MONOTONIC) at the latest.  It is no error if that is not all, or nothing.
 */
void unwinder_prepare(struct unwinder *unwinder, uint32_t pid, uint64_t end_ns);

/* The processes that read files for it get the priority of background work, see base/background.h. */
void unwinder_enter_background(struct unwinder *unwinder);

/*
 * Unwind @slice, of a thread of process @pid (the process may be gone), into
 * at most @max frames, innermost first.  There is always a frame 0.  Files
 * are looked up in the process's mount namespace.
 *
 * Where a frame's caller cannot be computed it is searched for on the stack;
 * such frames are marked (frame.guessed) and are kept only if the stack is
 * complete with them, or cannot be and several frames follow.
 *
 * Returns the number of frames and sets *@ret_end, or -ENOMEM.
 */
int unwind_slice(struct unwinder *unwinder, uint32_t pid, const struct slice *slice,
		 struct frame *frames, uint32_t max, enum unwind_end *ret_end);

/* "complete", "truncated", ... */
const char *unwind_end_name(enum unwind_end end);

/*
 * Names for @addr, a run-time address of process @pid inside @mapping, as a
 * frame with a pc alone (frame.sp is 0).  @is_return: name the call before
 * @addr.  Returns 0 or -ENOMEM.
 */
int unwind_describe(struct unwinder *unwinder, uint32_t pid, const struct mapping *mapping,
		    uint64_t addr, bool is_return, struct frame *ret);

#endif /* _USER_BINARY_STACK_UNWIND_H */
