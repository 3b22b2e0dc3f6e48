/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A place in a spool up to which its alerts were passed on by one who does, a forwarder: it is
 * kept in the spool itself, by name, and outlives forwarders.
 *
 * A cursor has its own connection to the database, and writes a row of a few words once for a
 * batch: the spool's writer waits for no forwarder.  What the writer drops before it was passed on
 * is counted as lost for that forwarder, in the transaction that drops it (spool.c).
 */
#ifndef _USER_STORE_SPOOL_CURSOR_H
#define _USER_STORE_SPOOL_CURSOR_H

#include <stdint.h>

#include "store/spool.h"

enum {
	SPOOL_BATCH_ALERTS = 256,
	SPOOL_BATCH_BYTES = 1 << 20, /* no further alert is added beyond */
};

struct spool_cursor;

/* Alerts behind the cursor, the oldest first, without their messages. */
struct spool_batch {
	struct spool_alert alerts[SPOOL_BATCH_ALERTS];
	char *texts[SPOOL_BATCH_ALERTS]; /* private: what the alerts point to */
	uint32_t nr;
};

/*
 * The cursor @name of the spool at @path; one that is new is before the oldest alert.  Nobody else
 * has it meanwhile: -EALREADY.  Returns 0 or a negative errno with the reason in @why.
 */
int spool_cursor_open(const char *path, const char *name, struct spool_cursor **ret,
		      char why[SPOOL_WHY_MAX]);
void spool_cursor_close(struct spool_cursor *cursor);

/*
 * Read what is next; nothing, if there is no more.  spool_batch_clear() in any case.  Returns 0 or a
 * negative errno; -EBUSY: again later.
 */
int spool_cursor_read(struct spool_cursor *cursor, struct spool_batch *batch,
		      char why[SPOOL_WHY_MAX]);
void spool_batch_clear(struct spool_batch *batch);

/*
 * The first @nr of the batch are dealt with: so many of them were refused, and so many left out,
 * as they are not for this forwarder; the others were passed on.  Returns as above.
 */
int spool_cursor_advance(struct spool_cursor *cursor, const struct spool_batch *batch, uint32_t nr,
			 uint32_t nr_refused, uint32_t nr_left_out, char why[SPOOL_WHY_MAX]);

/* What the forwarder does now, for those who ask; and that it had to try again, if it had. */
int spool_cursor_say(struct spool_cursor *cursor, const char *state, bool is_retry);

#endif /* _USER_STORE_SPOOL_CURSOR_H */
