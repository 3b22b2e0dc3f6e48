/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One reading of the module's counters, of all armed programs.
 */
#ifndef _USER_APP_TOP_PROGRAM_READING_H
#define _USER_APP_TOP_PROGRAM_READING_H

#include "out/top/top-table.h"

struct cached_profile;
struct link;
struct profile_cache;

/*
 * Take it.  @cache, if not NULL, learns what is armed.  Returns 0; -EAGAIN if the module could not
 * answer just now; or another error, which link_error() explains unless it is -ENOMEM.
 * program_reading_clear() in any case.
 */
int program_reading_take(struct link *link, struct profile_cache *cache, struct top_reading *ret);
void program_reading_clear(struct top_reading *reading);

/* Add the hits of the guards, of which each is asked for.  Returns the same. */
int program_reading_hits(struct link *link, struct top_reading *reading);

/* What is known of the program's types besides its counters; lent by @cached.  0 or -ENOMEM. */
int program_reading_note(struct top_program *program, const struct cached_profile *cached);

#endif /* _USER_APP_TOP_PROGRAM_READING_H */
