/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Readings of all armed programs: one at an interval, of which the last few are kept.
 */
#ifndef _USER_APP_TOP_TOP_READING_H
#define _USER_APP_TOP_TOP_READING_H

#include <stdbool.h>
#include <stdint.h>

#include "app/watch/profile-cache.h"
#include "link/link.h"
#include "out/top/top-table.h"

struct top_reader {
	struct link *link;
	struct profile_cache cache; /* names, and which types are slow as a whole */
	struct top_reading now, before;
	/*
	 * Where the span begins whose times are shown, and where the next one does.  Without
	 * the former it began when the profiles were armed.
	 */
	struct top_reading base, next_base;
	uint64_t put_off_ns; /* the module could not answer last; 0: never */
};

void top_reader_init(struct top_reader *reader, struct link *link);
void top_reader_deinit(struct top_reader *reader);

/*
 * Read the counters.  Returns 0; -EAGAIN if the module could not answer just now, when the
 * last reading stays; or another error, which link_error() explains unless it is -ENOMEM.
 */
int top_reader_read(struct top_reader *reader);

/* The same, but ask again for half a minute where it cannot answer just now. */
int top_reader_read_patiently(struct top_reader *reader);

/* The table of the last reading.  Returns 0 or -ENOMEM. */
int top_reader_table(const struct top_reader *reader, struct top_table *ret);

/* The times shown are of so many ns; 0: of all since the programs were armed. */
uint64_t top_reader_span_ns(const struct top_reader *reader);

#endif /* _USER_APP_TOP_TOP_READING_H */
