/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Puts records together.  A record with stacks does not fit into one netlink
 * message; the spec's attribute set "stack" says in which order its parts
 * come.  A record is complete when a message of another record, or the end of
 * the dump, follows.
 *
 * The messages are not trusted: what makes no sense is left out and counted,
 * sizes are bounded, and the record is given with what did make sense.
 */
#ifndef _USER_LINK_ASSEMBLER_H
#define _USER_LINK_ASSEMBLER_H

#include <stdbool.h>
#include <stdint.h>

#include "data/alert-record.h"

struct nlattr;

struct assembler {
	struct record record;
	bool has_record; /* a record was begun */
	uint32_t filled; /* bytes of the last stack that came */
	uint32_t skipped; /* parts that made no sense */
	int (*fn)(struct record *record, void *arg);
	void *arg;
};

/*
 * Take one message's attributes.  Calls fn with the record before if this
 * message begins another one, and clears it then.  Returns 0, -ENOMEM or what
 * fn returned.
 */
int assembler_feed(struct assembler *assembler, struct nlattr *attrs, int len);

/* The dump is over: give the last record. */
int assembler_finish(struct assembler *assembler);

/* Forget a record that was begun. */
void assembler_reset(struct assembler *assembler);

#endif /* _USER_LINK_ASSEMBLER_H */
