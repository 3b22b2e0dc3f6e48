/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Who takes the alerts in place of stdout: each as JSON and as text.  An alert that is
 * folded into others has no text.
 */
#ifndef _USER_APP_WATCH_ALERT_SINK_H
#define _USER_APP_WATCH_ALERT_SINK_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct record;

/* What an alert is about. */
struct sunk_alert {
	const char *kind; /* as its JSON has it */
	const char *exe; /* of the program; NULL: not known, or none */
	const char *build_id; /* likewise */
	uint32_t pid; /* 0: of no process */
	uint32_t type; /* of the unit; 0: none */
	bool is_over; /* what was reported before has ended */
	const struct record *record; /* NULL: it is of none */
};

struct alert_sink {
	FILE *text; /* NULL: it is not wanted, like the next one */
	FILE *json;
	/* An alert was written to both.  Returns 0 or a negative errno, which ends the watching. */
	int (*take)(struct alert_sink *sink, const struct sunk_alert *alert);
};

#endif /* _USER_APP_WATCH_ALERT_SINK_H */
