/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Alerts as they come, until the operator, the time or their number ends it.
 */
#ifndef _USER_APP_WATCH_ALERT_STREAM_H
#define _USER_APP_WATCH_ALERT_STREAM_H

#include <stdbool.h>
#include <stdint.h>

#include "app/watch/watching.h"

enum {
	/* Records that are read before they are printed: each may have 640 KiB. */
	ALERT_STREAM_MAX_QUEUED = 64,
};

struct alert_stream;

/* Who runs the stream as a part of more. */
struct alert_stream_owner {
	/*
	 * The link is open, and what is wanted of the stream can still be set: it would begin with
	 * the next alert.  Returns 0 or an exit code, reported.
	 */
	int (*begin)(struct alert_stream *stream, void *arg);
	/* A signal came.  Returns true if it ends the stream. */
	bool (*signal)(int signal, void *arg);
	/* Between reading alerts.  Returns within how many ns to be called again. */
	uint64_t (*turn)(struct alert_stream *stream, void *arg);
	/* All alerts were printed, and the link is still open. */
	void (*end)(struct alert_stream *stream, void *arg);
	void *arg;
};

struct alert_stream {
	/* Set by the operator. */
	bool is_json;
	bool is_brief; /* see watching.is_brief */
	bool has_since; /* begin with alert @next, not with the next that comes */
	uint64_t duration_ns; /* 0: without end */
	uint64_t window_ns; /* see watching_init() */
	uint64_t next; /* sequence number */
	uint32_t nr_wanted; /* 0: any number */
	const struct alert_stream_owner *owner; /* NULL: none but the operator */
	bool is_waited_for; /* somebody waits for its end: it keeps its priority */
	int owner_fd; /* whose turn it is when this is readable; -1: none */

	int signals; /* signals_open() */
	bool is_interrupted; /* by a signal: the operator wants no more */
	bool is_put_off; /* the module could not answer just now */
	bool has_more; /* there are more records than could be queued */
	struct link *link;
	struct watching watching;
	struct record queue[ALERT_STREAM_MAX_QUEUED];
	uint32_t nr_queued;
};

/* Returns an enum cmd_exit; what is wrong was reported. */
int alert_stream_run(struct alert_stream *stream);

#endif /* _USER_APP_WATCH_ALERT_STREAM_H */
