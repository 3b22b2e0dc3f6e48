/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Assembles records.  A record with stacks does not fit into one netlink
 * message; the spec's attribute set "stack" defines the order of its parts.  A
 * record is complete when a message of another record, or the end of the dump,
 * follows.
 *
 * The messages are not trusted: invalid parts are skipped and counted, sizes
 * are bounded, and the record is passed on with its valid parts.
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
	uint32_t filled; /* bytes of the last stack so far */
	uint32_t skipped; /* invalid parts */
	bool keeps_messages; /* in the records */
	int (*fn)(struct record *record, void *arg);
	void *arg;
};

/*
 * Add the attributes of a message.  If it begins another record, call fn with
 * the previous one and clear that.  Returns 0, -ENOMEM or the value of fn.
 */
int assembler_feed(struct assembler *assembler, struct nlattr *attrs, int len);

/* The dump is over: pass on the last record. */
int assembler_finish(struct assembler *assembler);

/* Discard a record that was begun. */
void assembler_reset(struct assembler *assembler);

#endif /* _USER_LINK_ASSEMBLER_H */
