/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The table of 'top': of each armed program a row, and below it one for its requests, for each
 * of its loops and each of their types, made from readings of the module's counters.
 *
 * Rates and parts of the time are what the last reading has more than the one before.  Times
 * are of all units of a longer span: the module counts those of a part of the units.
 *
 * Pure: no I/O; what is lent must outlive the table.
 */
#ifndef _USER_OUT_TOP_TOP_TABLE_H
#define _USER_OUT_TOP_TOP_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/container-id.h"
#include "data/armed.h"
#include "data/requests.h"
#include "out/top/top-sums.h"

/* What is known of a type besides its counters. */
struct top_type_note {
	const char *name; /* NULL: none */
	uint32_t loop; /* as 'show' counts them; 0: not known */
	bool is_slow; /* as a whole: a regression */
};

/* An armed program at a moment. */
enum { TOP_MAX_CONTAINERS = 32 };

struct top_container {
	char id[CONTAINER_ID_MAX];
	uint32_t processes;
	uint64_t units; /* of the threads that they have */
	double rate; /* units that they did a second, since the last reading */
};

struct top_program {
	struct armed_profile *armed;
	struct armed_type *types;
	struct armed_times *times;
	struct requests *requests; /* NULL: they are not followed */
	uint64_t late_requests;
	uint64_t starved_requests;
	uint64_t suppressed; /* late units, and requests, that were not reported by the rate limit */
	uint64_t suppressed_requests;
	uint64_t untracked;
	uint64_t hits; /* of its guards; 0 where these were not asked for */
	uint32_t nr_types;
	uint32_t nr_times;
	uint32_t target_id;
	uint32_t processes;
	struct top_container containers[TOP_MAX_CONTAINERS]; /* that its processes are in */
	uint32_t nr_containers;
	char *exe;
	char *cgroup; /* whose processes it guards alone; NULL: any */
	bool has_uid; /* likewise those of this user */
	uint32_t uid;
	bool is_stale; /* the file of the program was replaced */
	bool is_starved; /* many of its units wait for a CPU, now */
	struct top_type_note *notes; /* by index of @types; NULL: none */
};

struct top_reading {
	uint64_t at_ns; /* CLOCK_MONOTONIC */
	struct top_program *programs;
	uint32_t nr_programs;
	uint32_t nr_others; /* targets that are watched without a profile */
};

enum top_kind {
	TOP_PROGRAM,
	TOP_REQUESTS,
	TOP_LOOP,
	TOP_TYPE,
};

/* A time by the module's histograms: at most an eighth too large. */
struct top_time {
	uint64_t ns; /* 0: not known */
	bool is_below; /* less than that, */
	bool is_above; /* or more, is not distinguished */
};

enum { TOP_NAME_MAX = 200 };

struct top_row {
	enum top_kind kind;
	uint32_t program; /* index in the reading */
	uint32_t profile_id;
	uint32_t loop_id;
	uint32_t type_id;
	uint32_t type; /* index in the program's types */
	uint32_t up; /* row of the one it belongs to, before they are sorted; itself: none */
	bool has_rates; /* there was a reading before; else the next few are 0 */
	bool is_slow;
	bool is_starved;
	double rate; /* units that ended a second */
	double busy; /* time that they took, by that in which they ended */
	uint64_t mean_ns; /* of them; 0: there were none */
	double late_rate;
	double starved_rate;
	double share[TOP_NR_PARTS]; /* of their time; all 0: not known */
	uint64_t late; /* since it was armed */
	uint64_t units; /* the same */
	struct top_time p50, p99, max;
	char name[TOP_NAME_MAX]; /* safe to print */
};

struct top_table {
	struct top_row *rows;
	uint32_t nr;
};

enum top_column {
	TOP_BY_RATE,
	TOP_BY_BUSY,
	TOP_BY_MEAN,
	TOP_BY_P50,
	TOP_BY_P99,
	TOP_BY_MAX,
	TOP_BY_CPU,
	TOP_BY_RUNQUEUE,
	TOP_BY_BLOCKED,
	TOP_BY_LATE,
	TOP_BY_LATE_RATE,
	TOP_BY_NAME,
	TOP_NR_COLUMNS,
};

/*
 * @before: of one interval ago; NULL: there are no rates yet.  @base: where the span begins
 * whose times are shown; NULL: when it was armed.  The rows are in the order of the reading.
 * Returns 0 or -ENOMEM, when the table is empty.
 */
int top_table_init(struct top_table *table, const struct top_reading *now,
		   const struct top_reading *before, const struct top_reading *base);
void top_table_deinit(struct top_table *table);

/* Programs, their loops and the types of these, each by @column, the largest first. */
void top_table_sort(struct top_table *table, enum top_column column);

/* Keep the first @max_types types of each loop; 0: all. */
void top_table_limit(struct top_table *table, uint32_t max_types);

/* The row of the same program, loop and type; UINT32_MAX if there is none any more. */
uint32_t top_table_find(const struct top_table *table, const struct top_row *row);

#endif /* _USER_OUT_TOP_TOP_TABLE_H */
