/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the lines of a page say: incidents, groups of those that are alike, and
 * notes, which are all other lines.
 */
#ifndef _USER_OUT_PAGE_PAGE_MODEL_H
#define _USER_OUT_PAGE_PAGE_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "out/page/page.h"
#include "out/read/incident.h"

enum note_kind {
	NOTE_LEVEL, /* a type that has become slower, or is back */
	NOTE_STARVED,
	NOTE_REPLACED,
	NOTE_REPEATED,
	NOTE_LOOP, /* of an audit */
	NOTE_REQUESTS, /* of an audit */
	NOTE_READY,
	NOTE_NR_KINDS,
};

struct page_note {
	enum note_kind kind;
	uint64_t time_ns; /* CLOCK_REALTIME; 0: not known */
	char *text;
	size_t len;
};

struct page {
	struct incidents incidents;
	struct page_note *notes;
	size_t max_notes;
	uint32_t nr_notes;
	size_t note_bytes;
	uint64_t nr_lines;
	uint64_t nr_broken;
	uint64_t nr_left_out; /* notes that were too many */
	uint64_t nr_lost; /* alerts that watch or audit did not get */
	uint64_t nr_dropped; /* that a spool dropped, */
	uint64_t nr_unsaved; /* or could not save */
	uint64_t begin_ns; /* of all that has a time; 0: nothing has */
	uint64_t end_ns;
	const struct profile_view *view; /* or NULL */
	const struct live_programs *live; /* or NULL */
};

/* Incidents that are alike. */
struct page_group {
	enum incident_kind kind;
	uint32_t first; /* into groups.order: the slowest */
	uint32_t nr;
	uint32_t shown; /* the incident that stands for it: the slowest whose lines are kept */
	uint64_t nr_folded; /* more of them, which were reported by their number only */
	uint64_t sum_ns; /* of all that were reported; those folded as what they took on average */
	uint64_t max_ns;
	uint64_t min_ns;
	uint64_t begin_ns; /* of the first, and of the last; 0: not known */
	uint64_t last_ns;
};

/* Incidents that were folded within a window of time. */
struct page_window {
	uint64_t time_ns; /* its end, CLOCK_REALTIME */
	uint64_t max_ns; /* the longest of them */
	uint32_t nr;
	uint32_t incident; /* one like them */
	uint32_t group;
};

/* Groups of a page, that with most time in all first. */
struct page_groups {
	struct page_group *of;
	uint32_t nr;
	uint32_t *order; /* incidents, by group */
	uint32_t *rank_of; /* by incident: index of its group */
	struct page_window *windows;
	uint32_t nr_windows;
	uint64_t nr_folded; /* of alerts that are not among the lines */
};

/* Returns 0 or -ENOMEM; page_groups_deinit() in any case. */
int page_groups_init(struct page_groups *groups, const struct page *page);
void page_groups_deinit(struct page_groups *groups);

/* Incidents of a kind, those folded too. */
uint64_t page_groups_count(const struct page_groups *groups, enum incident_kind kind);

#endif /* _USER_OUT_PAGE_PAGE_MODEL_H */
