/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The verb 'top': the armed programs on the screen, or printed once.
 */
#ifndef _USER_APP_TOP_LIVE_VIEW_H
#define _USER_APP_TOP_LIVE_VIEW_H

#include <stdbool.h>
#include <stdint.h>

#include "out/top/top-table.h"

struct top_options {
	uint64_t interval_ns; /* between two readings */
	bool is_once; /* print a table, and end */
	enum top_column sort;
	uint32_t max_types; /* to show of each loop; 0: all */
};

/* Returns an enum cmd_exit; what is wrong was reported. */
int top_run(const struct top_options *options);

/* The table as text; the terminal need not be one (top-once.c). */
int top_once(const struct top_options *options);

#endif /* _USER_APP_TOP_LIVE_VIEW_H */
