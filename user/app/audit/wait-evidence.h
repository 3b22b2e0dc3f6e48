/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What is known of where the threads of one image wait: the places, each with
 * its unwound stack, and the waits in them.  Memory is bounded; what is oldest
 * goes first.
 */
#ifndef _USER_APP_AUDIT_WAIT_EVIDENCE_H
#define _USER_APP_AUDIT_WAIT_EVIDENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "data/frame.h"
#include "data/loop.h"
#include "data/stack-copy.h"
#include "train/loops/boundary.h"

/* More of a place than the decision needs, for names and counts. */
struct evidence_place {
	uint32_t pid;
	uint32_t nr_waits; /* kept */
	uint32_t loop_id; /* that it belongs to, by the last decision; or 0 */
	bool has_slept; /* in one of the waits */
	bool is_complete; /* unwound to the thread's start */
	bool is_example; /* of a context in use: kept for its names */
	char comm[16];
	struct frame *frames; /* as many as the boundary_place has */
};

struct evidence {
	struct boundary_place *places;
	struct evidence_place *details; /* parallel to places */
	struct boundary_wait *waits;
	struct empty_poll_thread *threads; /* that were heard of lately */
	size_t max_places, max_details, max_waits;
	uint32_t nr_places;
	uint32_t nr_waits;
	uint32_t nr_threads;
};

/* A wait to be added. */
struct evidence_wait {
	uint32_t pid;
	uint32_t tid;
	uint32_t syscall;
	uint64_t ip;
	uint64_t sp;
	uint64_t lock; /* of a futex, if known; else 0 */
	uint64_t blocked_ns; /* 0 if it did not sleep */
	uint64_t enter_ns; /* CLOCK_MONOTONIC */
	bool is_empty; /* it brought nothing */
	const char *comm;
};

/*
 * The known place of a wait, -1 if there is none: that with the same stack,
 * recognized without unwinding it, or, where @slice is NULL, the latest that was
 * entered with the same ip and sp.
 */
int64_t evidence_find(const struct evidence *evidence,
		      const struct evidence_wait *wait,
		      const struct slice *slice);

/* Make a place; returns its index or -ENOMEM.  The frames are copied. */
int64_t evidence_add_place(struct evidence *evidence,
			   const struct evidence_wait *wait,
			   const struct frame *frames, uint32_t nr_frames,
			   bool is_complete);

/*
 * Note a wait in a place.  Returns 1 if that is news, 0 if enough waits of the
 * place are known, or -ENOMEM.
 */
int evidence_add_wait(struct evidence *evidence, uint32_t place,
		      const struct evidence_wait *wait);

/* Returns true if a thread that waits in @syscall with this stack waits in @context. */
bool evidence_is_in(uint32_t syscall, const struct frame *frames, uint32_t nr_frames,
		    const struct context *context);

void evidence_deinit(struct evidence *evidence);

#endif /* _USER_APP_AUDIT_WAIT_EVIDENCE_H */
