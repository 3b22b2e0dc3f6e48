/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Finds the event loops of a target while it runs: gathers where its threads
 * wait, decides which of these waits are the loops' own, sends them to the module, and
 * does so again when there is more to go by.
 */
#ifndef _USER_APP_AUDIT_DISCOVERY_H
#define _USER_APP_AUDIT_DISCOVERY_H

#include <stdbool.h>
#include <stdint.h>

#include "app/audit/named-wait.h"
#include "app/audit/wait-evidence.h"
#include "app/common/identity.h"
#include "data/loop.h"
#include "link/link.h"
#include "out/alert/alert.h"

struct unwinder;

/* An event loop that was found, with the names of the place it waits in. */
struct known_loop {
	uint32_t id; /* in its image; stays the same while more is learnt */
	uint32_t number; /* over all images, for reports */
	uint32_t successor; /* id of the loop it became part of, or 0 */
	uint32_t syscall;
	uint32_t threads; /* seen waiting in it */
	uint32_t nr_pids;
	uint32_t *pids; /* rising; processes with such a thread */
	uint64_t since_ns; /* CLOCK_MONOTONIC when it was sent to the module */
	bool is_used; /* among the contexts of the last decision */
	bool is_generated; /* the stack at its wait leads through code that is in no file */
	bool is_waiting; /* a thread waited in it at the last check */
	char comm[16];
	struct frame wait; /* the context's frame, at the call that leads to the wait */
	struct frame shown; /* the same or, if that is in a library, its caller in
			     * the program itself */
	uint32_t example; /* a place; only valid right after a decision */
};

struct image {
	uint32_t id;
	uint32_t pid; /* the first process seen */
	bool is_ignored;
	bool is_gone; /* no process runs it any more: only its loops are kept */
	bool is_dirty; /* there is something new to decide on */
	bool is_owed; /* the module had no memory for what was decided */
	struct evidence evidence;
	struct context *contexts; /* sent to the module, sorted */
	uint32_t nr_contexts;
	struct known_loop *loops;
	uint32_t nr_loops;
};

struct discovery {
	struct link *link;
	struct unwinder *unwinder;
	const struct named_waits *named; /* not NULL; of none: loops are found */
	uint32_t target_id;
	uint64_t next_wait; /* sequence number */
	uint64_t waits; /* heard of */
	uint64_t lost; /* waits that left the ring unread */
	uint32_t nr_there; /* threads of the processes when these were met */
	bool has_warned;
	struct image *images;
	uint32_t nr_images;
	uint32_t nr_numbers; /* loops of different images count as one if they */
	struct identities identities; /* wait in the same code of the same file */
};

/* Look at the threads of a process that wait already, until @end_ns. */
int discovery_add_process(struct discovery *discovery,
			  const struct process *process, uint64_t end_ns);

/*
 * Keep of the images that none of these processes, which are all there are,
 * runs no more than the report needs.
 */
void discovery_forget(struct discovery *discovery,
		      const struct process *processes, uint32_t nr);

/* Take no notice of an image, such as ours before exec. */
int discovery_ignore(struct discovery *discovery, uint32_t image_id);

/* Hear of the waits since the last time. */
int discovery_hear(struct discovery *discovery);

/*
 * Decide again where something new was heard, and send it to the module.  Sets
 * *@ret_is_changed if anything was sent.  Returns 0, -ENOMEM or the link's
 * error.
 */
int discovery_decide(struct discovery *discovery, bool *ret_is_changed);

/* Look which loops have a thread that waits in them now. */
void discovery_look(struct discovery *discovery);

/* Loops in use, and the threads that were seen to wait in them. */
void discovery_count(const struct discovery *discovery, uint32_t *ret_loops,
		     uint32_t *ret_threads);

/* The number of a loop of an image; 0 if it is not known. */
uint32_t discovery_number(const struct discovery *discovery, uint32_t image_id,
			  uint32_t loop_id);

/*
 * Return: true if the stack is that of a loop's own wait, as far as is known by now: that of
 * no unit.  A thread may sleep there for the first time long before that is known.
 */
bool discovery_is_loop_wait(const struct discovery *discovery, uint32_t image_id,
			    const struct alert_stack *stack);

/* Returns true after a report if waits were named, and no thread of @path waited in one. */
bool discovery_lacks_named(const struct discovery *discovery, const char *path, const char *what);

void discovery_deinit(struct discovery *discovery);

/*
 * Decide which waits of @image are its loops' own (loop-decision.c), those of @named if there
 * are any; fills in its contexts and loops.  Returns 1 if the contexts changed, 0 if not, or -ENOMEM.
 */
int decision_make(struct image *image, const struct named_waits *named);

#endif /* _USER_APP_AUDIT_DISCOVERY_H */
