/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What was recorded of a target: the events of its threads, and what the
 * numbers and addresses in them mean.
 *
 * Addresses of code are kept as (object, offset in the file), so that a trace
 * can be learnt from on another machine.  Plain data; trace_deinit() frees it.
 */
#ifndef _USER_DATA_TRACE_H
#define _USER_DATA_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <linux/perfguard.h>

#include "data/samples.h"

enum {
	TRACE_NONE = UINT32_MAX,
	TRACE_SYSCALL_MASK = 0xfff,
	TRACE_LOOP_SHIFT = 12,
	TRACE_NUMBER_MASK = 0xfffffff,
	TRACE_KIND_SHIFT = 28,
	/* exit(2): a thread that lives for one unit waits there before and after it (life.h). */
	TRACE_LIFE_SYSCALL = 60,
};

enum trace_stage {
	TRACE_STAGE_STRUCTURE, /* a site in each function that runs */
	TRACE_STAGE_TIMING, /* a profile guards it: units, and hits of guards */
};

/* A piece of a file's code, mapped in the processes of an image. */
struct trace_mapping {
	uint32_t image;
	uint32_t object;
	uint64_t start; /* run-time addresses */
	uint64_t end;
	uint64_t offset; /* in the file, of start */
};

/* A wait context of an event loop; see struct samples_boundary. */
struct trace_context {
	uint32_t image;
	uint32_t loop; /* the module's id, from 1 */
	uint32_t syscall;
	uint32_t object;
	uint64_t return_offset;
	uint32_t distance;
	char comm[16];
};

/* What a return address returns from; sorted by object and offset. */
struct trace_call {
	uint32_t object;
	uint64_t offset; /* of the return address, in the file */
	uint32_t caller; /* function, TRACE_NONE if it carries no site */
	uint32_t callee; /* the same; TRACE_NONE too if the call is indirect */
	bool is_indirect;
	bool is_in_loop; /* the call lies in a natural loop of the caller, or may */
};

struct trace {
	enum trace_stage stage;
	struct samples_object *objects; /* the program first */
	/* The index is the site's id; in a timing run, that of the guard. */
	struct samples_function *functions;
	/* Of a structure run only: */
	struct trace_mapping *mappings; /* by image and start */
	struct trace_context *contexts;
	struct trace_call *calls;
	/* Of a timing run only: the hashes of the samples' loops, by id less 1. */
	uint64_t *loops;
	struct perfguard_event *events; /* by thread and time, once sorted */
	uint32_t nr_objects;
	uint32_t nr_functions;
	uint32_t nr_mappings;
	uint32_t nr_contexts;
	uint32_t nr_calls;
	uint32_t nr_loops;
	size_t nr_events;
	size_t max_events; /* for which there is room */
	uint64_t lost; /* events the module had no room for */
	/*
	 * Some hits were recorded by jumps.  The time of a hit is when it was read then, later
	 * than it was: hits are in order among all events of their thread, and have no time.
	 */
	bool is_inline;
};

static inline enum perfguard_event_kind trace_kind(const struct perfguard_event *event)
{
	return (enum perfguard_event_kind)(event->what >> TRACE_KIND_SHIFT);
}

static inline uint32_t trace_number(const struct perfguard_event *event)
{
	return event->what & TRACE_NUMBER_MASK;
}

static inline uint32_t trace_syscall(const struct perfguard_event *event)
{
	return trace_number(event) & TRACE_SYSCALL_MASK;
}

/* Add events as they were read.  Returns 0 or -ENOMEM. */
int trace_add(struct trace *trace, const struct perfguard_event *events, size_t nr);

/*
 * Put the events in order: by thread, and by time in each.  Events of a thread
 * with equal times stay in the order in which they were added.
 */
int trace_sort(struct trace *trace);

/*
 * Where a run-time address of an image lies in its files.  False if no mapping
 * with a file covers it.
 */
bool trace_locate(const struct trace *trace, uint32_t image, uint64_t address,
		  uint32_t *ret_object, uint64_t *ret_offset);

/* The call that returns to this place; NULL if nothing is known of it. */
const struct trace_call *trace_call_at(const struct trace *trace, uint32_t object,
				       uint64_t offset);

void trace_deinit(struct trace *trace);

#endif /* _USER_DATA_TRACE_H */
