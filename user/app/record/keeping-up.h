/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Whether the threads of a program keep up with their load while they are slowed down.
 *
 * A thread falls behind if it had time to spare, has none for several seconds on end, and makes
 * fewer wait calls meanwhile than before: what comes then waits for it.  What it waits for a CPU
 * is not to spare.  That is measured by the kernel's counters and the wait calls in the training
 * stream; how long the queues of the load are is not known.  Of a thread that had nothing to
 * spare before, as with clients that ask as fast as they are answered, it cannot be known.
 */
#ifndef _USER_APP_RECORD_KEEPING_UP_H
#define _USER_APP_RECORD_KEEPING_UP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct perfguard_event;

struct keeping_thread {
	uint32_t tid;
	uint64_t calls; /* that it made in the span at hand */
	uint64_t busy_ns; /* by the kernel's counters, when that began; UINT64_MAX: not known */
	uint64_t usual_calls; /* in the spans before it was slowed down, like the next two */
	uint64_t usual_busy_ns;
	uint64_t usual_ns;
	uint32_t nr_behind; /* spans in a row */
	double rate; /* in these, calls a second */
	uint64_t behind_ns; /* how long they were */
};

struct keeping_up {
	struct keeping_thread *threads; /* by rising id */
	uint32_t nr;
	size_t max;
	uint64_t begin_ns; /* of the span, CLOCK_MONOTONIC; 0: there is none */
	uint32_t nr_spans; /* that have ended since keeping_up_begin() */
	bool is_slowed;
};

/* A stage begins, in which the program is slowed down or is not. */
void keeping_up_begin(struct keeping_up *keeping, bool is_slowed);

/* Events were read.  Returns 0 or -ENOMEM. */
int keeping_up_count(struct keeping_up *keeping, const struct perfguard_event *events, uint32_t nr);

/*
 * Look at the clock, and return a thread that has fallen behind, or NULL.
 * @busy returns the time for which a thread ran or wanted to, ns, or UINT64_MAX.
 */
const struct keeping_thread *keeping_up_look(struct keeping_up *keeping, uint64_t now_ns,
					     uint64_t (*busy)(uint32_t tid));

/* By the kernel's counters. */
uint64_t keeping_up_busy_ns(uint32_t tid);

/* Of a thread that has fallen behind: calls a second before, and its time to spare, as a share. */
double keeping_up_usual_rate(const struct keeping_thread *thread);
double keeping_up_usual_idle(const struct keeping_thread *thread);

void keeping_up_deinit(struct keeping_up *keeping);

#endif /* _USER_APP_RECORD_KEEPING_UP_H */
