/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What 'top' has on the screen.
 */
#ifndef _USER_APP_TOP_TOP_VIEW_H
#define _USER_APP_TOP_TOP_VIEW_H

#include <stdbool.h>
#include <stdint.h>

#include "app/top/top-detail.h"
#include "app/top/top-reading.h"
#include "out/top/top-table.h"

struct top_view {
	struct top_reader reader;
	struct top_table table;
	enum top_column sort;
	uint32_t max_types; /* of each loop; 0: all */
	bool is_paused;
	enum top_page { TOP_PAGE_TABLE, TOP_PAGE_DETAIL, TOP_PAGE_HELP } page;
	struct top_detail detail; /* of that page */
	uint32_t selected; /* row of the table */
	uint32_t first; /* line that is the topmost, of the table or the text */
};

/* How many lines of the table or the text there is room for. */
int top_view_room(void);

/* How many lines the page has. */
uint32_t top_view_lines(const struct top_view *view);

/* Draw the page; a selected row is on the screen then. */
void top_view_draw(struct top_view *view);

#endif /* _USER_APP_TOP_TOP_VIEW_H */
