/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The sections of a page.  Each writes HTML, and nothing where it has nothing to say.
 */
#ifndef _USER_OUT_PAGE_SECTIONS_H
#define _USER_OUT_PAGE_SECTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "out/page/json-value.h"
#include "out/page/page-model.h"

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

/* The incident that stands for a group.  Returns 0 or -ENOMEM. */
int detail_put(FILE *file, const struct page *page, const struct page_groups *groups,
	       uint32_t rank);

/* Where the most time went, for a row of a table: "in function"; of a request its cause. */
char *detail_place(const json_t *object, enum incident_kind kind, char *ret, size_t size);

/* "12:59:59.001", and with the day before it if @has_day; UTC. */
#define PAGE_TIME_MAX 40
char *page_time_format(uint64_t wall_ns, bool has_day, char ret[PAGE_TIME_MAX]);

/* Of an incident the last line that is kept; NULL if none is, or without memory. */
json_t *page_last_line(const struct page *page, uint32_t incident);

#endif /* _USER_OUT_PAGE_SECTIONS_H */
