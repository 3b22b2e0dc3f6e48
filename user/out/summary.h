/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One event loop over all processes that run it, as the audit reports it.
 * A summary only points to what its maker owns.
 */
#ifndef _USER_OUT_SUMMARY_H
#define _USER_OUT_SUMMARY_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "data/frame.h"
#include "data/loop.h"
#include "out/json.h"

struct summary {
	uint32_t number; /* from 1, as the report counts */
	uint32_t syscall;
	const char *exe;
	const char *build_id;
	const char *comm;
	const uint32_t *pids; /* rising; at least one */
	uint32_t nr_pids;
	uint64_t duration_ns;
	bool has_account;
	bool is_current; /* not found to be no event loop after all */
	struct frame wait; /* where the wait call returns to in the loop */
	struct loop sums;
};

int summary_json(struct json *json, FILE *file, const struct summary *summary);

/* A few lines; there is at least one unit. */
void summary_text(FILE *file, const struct summary *summary);

/* One or two lines of a loop without units. */
void summary_idle_text(FILE *file, const struct summary *summary);

#endif /* _USER_OUT_SUMMARY_H */
