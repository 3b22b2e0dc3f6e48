/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A page for a colleague: what watch and audit have reported, as one HTML file
 * that needs no network and no scripts.  Lines of JSON come in, one at a time;
 * they may be anybody's.  What is alike is one entry with a count, of which the
 * slowest is shown in full, and the page does not grow beyond PAGE_MAX_BYTES.
 */
#ifndef _USER_OUT_PAGE_PAGE_H
#define _USER_OUT_PAGE_PAGE_H

#include <stddef.h>
#include <stdint.h>

struct live_programs;
struct page;
struct profile_view;

enum { PAGE_MAX_BYTES = 500 * 1024 };

/* NULL without memory. */
struct page *page_new(void);
void page_free(struct page *page);

/*
 * Take a line, without its newline.  What is no JSON object with a kind is
 * counted as broken, and the page says how many there were.  Returns 0 or -ENOMEM.
 */
int page_add_line(struct page *page, const char *line, size_t len);

/* How many lines there were, and of these how many were broken. */
uint64_t page_nr_lines(const struct page *page);
uint64_t page_nr_broken(const struct page *page);

/* Its types and their distributions are shown as well.  It is lent until page_free(). */
void page_set_profile(struct page *page, const struct profile_view *view);

/* What is armed is shown as it is now.  It is lent likewise. */
void page_set_live(struct page *page, const struct live_programs *programs);

/* Alerts that a spool dropped to make room, or could not save: the page says so. */
void page_set_missing(struct page *page, uint64_t nr_dropped, uint64_t nr_unsaved);

/* The page, of *@ret_len bytes, to be freed.  Returns 0 or -ENOMEM. */
int page_render(const struct page *page, char **ret, size_t *ret_len);

#endif /* _USER_OUT_PAGE_PAGE_H */
