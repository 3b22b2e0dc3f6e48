/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The training stream: what the targets' threads do, as fast as they do it.
 *
 * Each CPU has a ring of events, which is there while the device is open.  It
 * has one writer, the thread that runs on the CPU with preemption off, and one
 * reader.  No event is written in an interrupt, so nothing nests.  What finds
 * no room is counted, and reported before the next event that does.
 */
#ifndef _KMOD_TRAINSTREAM_STREAM_H
#define _KMOD_TRAINSTREAM_STREAM_H

#include "target/image.h"

#include <linux/types.h>

#include <linux/perfguard.h>

struct pguard_hit_run;
struct pguard_thread;

enum {
	PGUARD_LOOP_BITS = 16,		/* of a loop's id in an event */
	PGUARD_SYSCALL_BITS = 12,
};

/* Counts the openings; 0 while the stream is closed. */
extern u32 pguard_stream_opening;

static inline bool pguard_stream_is_open(void)
{
	return READ_ONCE(pguard_stream_opening);
}

/* Returns true if the hooked calls of a target are recorded. */
static inline bool pguard_stream_wants_waits(const struct pguard_target *target)
{
	return READ_ONCE(target->flags) & PERFGUARD_TARGET_FLAGS_RECORD &&
	       pguard_stream_is_open();
}

/* Returns true if the units that its profile cuts are, and the hits of their guards. */
static inline bool pguard_stream_wants_units(const struct pguard_target *target)
{
	return READ_ONCE(target->flags) &
	       (PERFGUARD_TARGET_FLAGS_RECORD | PERFGUARD_TARGET_FLAGS_UNITS) &&
	       pguard_stream_is_open();
}

bool pguard_stream_knows(const struct pguard_thread *thread);
bool pguard_stream_put(struct pguard_thread *thread, u32 kind, u32 number, u64 sp, u64 value);
void pguard_stream_put_noted(struct pguard_thread *thread, const struct pguard_hit_run *run);
void pguard_stream_lose(void);
void pguard_stream_end(struct pguard_thread *thread);
u64 pguard_stream_lost(void);

int pguard_stream_init(void);
void pguard_stream_deinit(void);

#endif /* _KMOD_TRAINSTREAM_STREAM_H */
