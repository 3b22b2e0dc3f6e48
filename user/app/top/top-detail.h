/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What there is to read of one row: of a type its level, its latest alert and its call tree, of
 * requests their times and the slowest.
 *
 * Alerts are read only while somebody looks: each reader of the module has them all.
 */
#ifndef _USER_APP_TOP_TOP_DETAIL_H
#define _USER_APP_TOP_TOP_DETAIL_H

#include <stdbool.h>
#include <stdint.h>

#include "app/common/identity.h"
#include "app/top/top-reading.h"
#include "data/alert-record.h"
#include "out/top/top-table.h"

struct unwinder;

/* Of a unit that lasts, the first record and the last ones are kept. */
enum { TOP_DETAIL_MAX_RECORDS = 32 };

struct top_detail {
	struct top_reader *reader;
	struct top_row row; /* which one */
	struct unwinder *unwinder;
	struct identities identities;
	uint64_t next; /* alert to be read */
	struct record records[TOP_DETAIL_MAX_RECORDS]; /* of the unit that was late last */
	uint32_t nr_records;
	bool has_new; /* records */
	char *alert, *tree; /* texts; NULL: there is none yet */
	char *text; /* all, its lines being parted by zeros */
	const char **lines;
	uint32_t nr_lines;
};

/* @row: of a type, or requests.  Returns 0 or -ENOMEM; deinit it in both cases. */
int top_detail_init(struct top_detail *detail, struct top_reader *reader, const struct top_row *row);
void top_detail_deinit(struct top_detail *detail);

/*
 * Make the lines of what the reader read last and of the alerts that came since.  Returns 0,
 * -EAGAIN (the module could not answer; the lines are made of what there is) or another error.
 */
int top_detail_update(struct top_detail *detail);

#endif /* _USER_APP_TOP_TOP_DETAIL_H */
