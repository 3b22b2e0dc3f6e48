/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The sections of a page.  Each writes HTML, and nothing where it has nothing to say.
 */
#ifndef _USER_OUT_PAGE_SECTIONS_H
#define _USER_OUT_PAGE_SECTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "out/page/page-model.h"
#include "out/read/shown.h"

enum { PAGE_MAX_ROWS = 200 }; /* of the table of groups; each has the id g1, g2, ... */

/* The rules of how it looks, in a <style>. */
void style_put(FILE *file);

/* A time line of incidents, of types that were slow, and of starvation.  Returns 0 or -ENOMEM. */
int timeline_put(FILE *file, const struct page *page, const struct page_groups *groups);

/* What changed as a whole: types, starvation, replaced files. */
void changes_put(FILE *file, const struct page *page);

/* What an audit measured: its event loops and requests. */
void measured_put(FILE *file, const struct page *page);

/* The types of the profile, with their distributions. */
void types_put(FILE *file, const struct profile_view *view);

/* The incident that stands for a group, in full.  Returns 0 or -ENOMEM. */
int detail_put(FILE *file, const struct shown *shown, const struct page_group *group,
	       uint32_t rank);

/* "12:59:59.001", and with the day before it if @has_day; UTC. */
#define PAGE_TIME_MAX 40
char *page_time_format(uint64_t wall_ns, bool has_day, char ret[PAGE_TIME_MAX]);

/* " (13:59:59 CET)": the same where the page is made; "" where the clock shows UTC there. */
char *page_time_there(uint64_t wall_ns, char ret[PAGE_TIME_MAX]);

#endif /* _USER_OUT_PAGE_SECTIONS_H */
