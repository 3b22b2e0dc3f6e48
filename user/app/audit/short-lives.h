/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Programs that start a thread for each request.
 *
 * In an audit a unit goes from one wait of an event loop to the next.  A thread that is
 * started for a request waits for it once, or not at all, and ends: there is
 * no next wait, and what it does is in no unit.  Such a program is known by
 * the number of threads that end.  There is at most one unit for each of them,
 * where the request is accepted; where a thread waits for its client once more
 * before it ends, there are more.  Training takes the life of such a thread for a
 * unit (train/trace/life.h).
 */
#ifndef _USER_APP_AUDIT_SHORT_LIVES_H
#define _USER_APP_AUDIT_SHORT_LIVES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct session;

/*
 * True if of @ended threads, of which @there were there before, so many began
 * meanwhile that their work is not likely to be in the @units that ended.
 */
bool short_lives_are_most(uint64_t ended, uint64_t there, uint64_t units);

/* Whether that is so in a session, whose sums were taken; @text says it. */
bool short_lives_text(const struct session *session, char *text, size_t size);

/* Warn if it is. */
void short_lives_warn(const struct session *session);

#endif /* _USER_APP_AUDIT_SHORT_LIVES_H */
