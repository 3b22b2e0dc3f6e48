/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Pictures in a page, as SVG inside of HTML.  They are as wide as the page is, with
 * places in per cent and texts of one size: nothing is scaled, on a phone either.
 */
#ifndef _USER_OUT_PAGE_DRAWING_H
#define _USER_OUT_PAGE_DRAWING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "out/read/read-path.h"

/* At most 100. */
static inline double drawing_percent(uint64_t part, uint64_t whole)
{
	return whole ? 100 * (double)(part < whole ? part : whole) / (double)whole : 0;
}

/* A part of a bar; parts of no time are left out. */
struct bar_part {
	const char *name;
	const char *style; /* class: "cpu", "queue", "blocked", "io", "stopped", "other" */
	uint64_t ns;
};

/* A bar of parts, as long as its time is of @whole_ns, with their names and times below it. */
void drawing_bar(FILE *file, const char *title, const struct bar_part *parts, size_t nr,
		 uint64_t whole_ns);

/* An incident on the time line, or several that are close. */
struct time_point {
	uint64_t begin_ns; /* CLOCK_REALTIME */
	uint64_t elapsed_ns;
	uint32_t kind; /* enum incident_kind */
	uint32_t nr;
	uint32_t rank; /* of its group, from 1 */
};

/* A time in which something was so. */
struct time_span {
	uint64_t begin_ns, end_ns;
	const char *style; /* class: "slow", "starved" */
	char text[128];
};

struct time_line {
	uint64_t begin_ns, end_ns;
	struct time_point *points;
	uint32_t nr_points;
	const struct time_span *spans;
	uint32_t nr_spans;
};

/* Points that would lie over each other become one. */
void drawing_time_line(FILE *file, struct time_line *line);

/* The distance of marks on an axis so long: at most @max marks, at round times. */
uint64_t drawing_time_step(uint64_t span_ns, uint32_t max);

/*
 * (flame.c) Stacks of an incident that took @elapsed_ns, the outermost functions on top, as
 * wide as the time is that they stand for.  @exe is the program's own file.
 * Returns 0 or -ENOMEM.
 */
int drawing_flame(FILE *file, const struct read_stacks *stacks, uint64_t elapsed_ns,
		  const char *exe);

/* Times of a type on an axis from @least_ns to @most_ns (logarithmic), and its limit; 0: none. */
void drawing_histogram(FILE *file, const uint64_t *hist, uint64_t limit_ns, uint64_t least_ns,
		       uint64_t most_ns);

#endif /* _USER_OUT_PAGE_DRAWING_H */
