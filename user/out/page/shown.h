/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The incident that stands for a group, with all that its lines say.
 */
#ifndef _USER_OUT_PAGE_SHOWN_H
#define _USER_OUT_PAGE_SHOWN_H

#include <stdint.h>

#include <jansson.h>

#include "out/page/page-model.h"
#include "out/page/read-path.h"

enum {
	SHOWN_MAX_LINES = 64, /* the last ones */
	SHOWN_MAX_PLACE = 256,
};

struct shown {
	const struct incident *incident;
	json_t *lines[SHOWN_MAX_LINES]; /* the last one first */
	uint32_t nr_lines;
	const json_t *object; /* the one that says most of it at its end; NULL: no line was kept */
	struct read_stacks stacks; /* of all lines */
	struct hotpath hotpath;
	char place[SHOWN_MAX_PLACE]; /* where most of its time went; "-" if nothing shows that */
};

/* Returns 0 or -ENOMEM; shown_deinit() in any case. */
int shown_init(struct shown *shown, const struct page *page, const struct page_group *group);
void shown_deinit(struct shown *shown);

#endif /* _USER_OUT_PAGE_SHOWN_H */
