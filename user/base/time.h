/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Points in time: CLOCK_MONOTONIC for measuring, CLOCK_REALTIME for display.
 */
#ifndef _USER_BASE_TIME_H
#define _USER_BASE_TIME_H

#include <stdint.h>

/* Room for any text of time_format(). */
#define TIME_TEXT_MAX 40

/* Nanoseconds of CLOCK_MONOTONIC. */
uint64_t time_now_ns(void);

/* Nanoseconds of CLOCK_REALTIME since 1970. */
uint64_t time_wall_ns(void);

/* Sleep until CLOCK_MONOTONIC shows so many ns, whatever comes in between. */
void time_sleep_until(uint64_t until_ns);

/* RFC 3339 in UTC with all nanoseconds: 2024-01-31T23:59:59.000000001Z. */
char *time_format(uint64_t wall_ns, char text[TIME_TEXT_MAX]);

/*
 * The reverse: a moment in UTC, of which what is smaller than a day may be left out, then what is
 * smaller than a minute, or than a second: 2024-01-31, 2024-01-31T23:59Z.  Returns 0 or -EINVAL.
 */
int time_parse(const char *text, uint64_t *ret_wall_ns);

/* Time of day in the local zone, for people: 23:59:59.001. */
char *time_format_local(uint64_t wall_ns, char text[TIME_TEXT_MAX]);

#endif /* _USER_BASE_TIME_H */
