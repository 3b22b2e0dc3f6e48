/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A late unit as an operator sees it: the record with its stacks unwound and
 * the program named.  An alert only points to what its maker owns.
 */
#ifndef _PGUARD_ALERT_H
#define _PGUARD_ALERT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/frame.h"
#include "base/record.h"
#include "json.h"

struct alert_stack {
	uint64_t at_ns; /* CLOCK_MONOTONIC */
	uint64_t into_ns; /* since the unit's start; 0 if unknown */
	uint32_t state; /* enum perfguard_stack_state */
	uint32_t nr_frames;
	struct frame *frames; /* innermost first */
	const char *end; /* why it ends there: "complete", ... */
};

struct alert {
	const struct record *record;
	const char *exe; /* NULL if not known, like the next two */
	const char *build_id;
	const char *cgroup;
	uint32_t loop; /* as the report counts them, of its own number in its
			* image for watch; 0 if not known */
	uint64_t running_ns; /* of a unit that still runs: its time by now */
	bool is_cut; /* its thread ended, or ran another program, inside of it */
	uint32_t nr_stacks;
	struct alert_stack *stacks;
};

/*
 * One line with the fields of an alert.  @kind is "late", "ended", "lost" or
 * "slow".  Returns what json_end_line() does.
 */
int alert_json(struct json *json, FILE *file, const struct alert *alert,
	       const char *kind);

/* A few lines, as 'watch' prints them. */
void alert_text(FILE *file, const struct alert *alert);

/*
 * The same of @alerts[@index], one of the slowest, where those before it were
 * printed already: what their stacks have in common is not repeated.
 */
void alert_slow_text(FILE *file, const struct alert *alerts, uint32_t index);

/* "late", "ended", "lost"; "?" for what a newer module tells. */
const char *alert_kind_name(uint32_t kind);

#endif /* _PGUARD_ALERT_H */
